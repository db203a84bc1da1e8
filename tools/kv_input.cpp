#include "kv_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace holdfast::tools {
namespace {

error about(const std::string& path) {
    return error{.code = errno == ENOENT   ? errc::not_found
                         : errno == EACCES ? errc::permission_denied
                                           : errc::io,
                 .what = "the input cannot be read",
                 .path = path,
                 .found = std::strerror(errno),
                 .remedy = "name a readable file, or - for standard input"};
}

/// Closes what was opened here, never standard input.
class descriptor {
public:
    explicit descriptor(const std::string& path)
        : number_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~descriptor() {
        if (number_ > STDIN_FILENO) ::close(number_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    int number() const noexcept { return number_; }

private:
    int number_;
};

}  // namespace

result<input> input::read(const std::string& path) {
    const descriptor from(path);
    struct stat status;
    if (from.number() < 0 || ::fstat(from.number(), &status) != 0) return about(path);
    input made;
    if (S_ISREG(status.st_mode)) {
        made.text_.reserve(static_cast<std::size_t>(status.st_size));
        const auto changed_ns = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                                static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
        made.id_ = {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size), changed_ns};
    }
    std::array<char, 1 << 16> buffer;
    for (;;) {
        const ssize_t count = ::read(from.number(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return about(path);
        if (count == 0) return made;
        made.text_.append(buffer.data(), static_cast<std::size_t>(count));
    }
}

input_part input::walk(input_place begin, std::uint64_t lines_max,
                       const std::function<void(std::string_view key, std::string_view value)>& visit) const {
    const std::string_view text(text_);
    input_part part{begin, begin};
    for (std::uint64_t count = 0; count < lines_max && part.end.offset < text.size(); ++count) {
        const std::size_t stop = std::min(text.find('\n', part.end.offset), text.size());
        const std::string_view line = text.substr(part.end.offset, stop - part.end.offset);
        part.end = {std::min(stop + 1, text.size()), part.end.line + 1};
        const std::size_t tab = line.find('\t');
        if (line.empty()) continue;
        if (tab == std::string_view::npos) {
            visit(line, std::to_string(part.end.line));
        } else {
            visit(line.substr(0, tab), line.substr(tab + 1));
        }
    }
    return part;
}

}  // namespace holdfast::tools
