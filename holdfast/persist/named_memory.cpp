#include <holdfast/persist/named_memory.hpp>

#include <holdfast/persist/addresses.hpp>
#include <holdfast/persist/lock_table.hpp>
#include <holdfast/persist/system_error.hpp>

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace holdfast::persist {
namespace {

using detail::retried;
using detail::system_error;

std::string path_of(const std::string& name) { return "/dev/shm/" + name; }

class closed_afterwards {
public:
    explicit closed_afterwards(int descriptor) : descriptor_(descriptor) {}
    ~closed_afterwards() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    closed_afterwards(const closed_afterwards&) = delete;
    closed_afterwards& operator=(const closed_afterwards&) = delete;

private:
    int descriptor_;
};

/// What is on a disk or another machine would be a log like any other, only slower.
result<void> check_is_memory(const std::string& path, int descriptor) {
    struct statfs about{};
    if (::fstatfs(descriptor, &about) != 0) return system_error("fstatfs", path, errno);
    if (about.f_type == TMPFS_MAGIC) return {};
    return error{.code = errc::level_unavailable, .what = "the path is not on the kernel's tmpfs", .path = path,
                 .expected = "tmpfs"};
}

}  // namespace

result<named_memory> named_memory::create(const std::string& name, std::uintptr_t base, std::uint64_t bytes) {
    const std::string path = path_of(name);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("unlink", path, errno);
    const int descriptor =
        retried([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600); });
    if (descriptor < 0) return system_error("open", path, errno);
    const closed_afterwards afterwards(descriptor);
    auto made = [&]() -> result<named_memory> {
        if (auto checked = check_is_memory(path, descriptor); !checked) return std::move(checked).give_error();
        // Allocated now: a store to memory that the kernel does not have is a SIGBUS.
        const int answer = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
        if (answer != 0) return system_error("posix_fallocate", path, answer);
        return map(path, descriptor, base, bytes);
    }();
    if (!made) ::unlink(path.c_str());
    return made;
}

result<named_memory> named_memory::open(const std::string& name) {
    const std::string path = path_of(name);
    const int descriptor = retried([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW); });
    if (descriptor < 0) return system_error("open", path, errno);
    const closed_afterwards afterwards(descriptor);
    struct stat about{};
    if (::fstat(descriptor, &about) != 0) return system_error("fstat", path, errno);
    // Anybody may put something there.
    if (!S_ISREG(about.st_mode) || about.st_uid != ::geteuid())
        return error{.code = errc::permission_denied, .what = "the named memory belongs to another user", .path = path};
    if (about.st_size == 0) return error{.code = errc::not_found, .what = "the named memory is empty", .path = path};
    return map(path, descriptor, 0, static_cast<std::uint64_t>(about.st_size));
}

result<named_memory> named_memory::map(const std::string& path, int descriptor, std::uintptr_t base,
                                       std::uint64_t bytes) {
    const auto range = detail::reserve_addresses(path, base, bytes);
    if (!range) return range.error();
    named_memory made;
    made.base_ = *range;
    made.bytes_ = bytes;
    made.fork_generation_ = detail::fork_generation();
    // A child forked between the two calls would inherit the mapping.
    const detail::fork_gate no_child;
    void* const got = ::mmap(made.base_, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
                             descriptor, 0);
    if (got == MAP_FAILED) return system_error("mmap", path, errno);
    if (::madvise(made.base_, bytes, MADV_DONTFORK) != 0) return system_error("madvise(MADV_DONTFORK)", path, errno);
    return made;
}

void named_memory::remove(const std::string& name) noexcept { ::unlink(path_of(name).c_str()); }

named_memory::named_memory(named_memory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      fork_generation_(other.fork_generation_) {}

named_memory& named_memory::operator=(named_memory&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    std::swap(fork_generation_, other.fork_generation_);
    return *this;
}

named_memory::~named_memory() {
    if (base_ != nullptr && fork_generation_ == detail::fork_generation()) ::munmap(base_, bytes_);
}

}  // namespace holdfast::persist
