#include <holdfast/persist/file.hpp>

#include <holdfast/persist/counters.hpp>
#include <holdfast/persist/lock_table.hpp>
#include <holdfast/persist/missing_device.hpp>
#include <holdfast/persist/system_error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>

#ifdef HOLDFAST_OBSERVED
#include <holdfast/persist/observer.hpp>
#endif

namespace holdfast::persist {
namespace {

using detail::held_here;
using detail::retried;
using detail::system_error;
using detail::system_error_at;

error not_regular(const std::string& path, mode_t mode) {
    return error{.code = errc::not_a_pool,
                 .what = "not a regular file",
                 .path = path,
                 .expected = "a regular file, or a device of persistent memory",
                 .found = S_ISDIR(mode)    ? "a directory"
                          : S_ISFIFO(mode) ? "a pipe"
                          : S_ISSOCK(mode) ? "a socket"
                                           : "another device"};
}

bool is_missing(int number) noexcept { return number == ENOENT || number == ENOTDIR; }

error no_such_pool(const std::string& path) {
    struct stat status {};
    const std::string directory = directory_of(path);
    const bool has_directory = ::stat(directory.c_str(), &status) == 0;
    return error{.code = errc::not_found,
                 .what = "there is no such pool",
                 .path = path,
                 .expected = "a pool's file",
                 .found = has_directory ? "nothing of that name" : "no directory " + directory,
                 .remedy = "make one with create or open_or_create (holdfast pool create), or name another path"};
}

error held_elsewhere(const std::string& path, pid_t holder) {
    error reason = held_here(path);
    if (holder == detail::unknown_holder) {
        reason.found = "another process";
        return reason;
    }
    if (holder == 0) {
        reason.found = "a process in another process-id namespace";
        return reason;
    }
    reason.found = "process " + std::to_string(holder);
    std::string command;
    if (std::getline(std::ifstream("/proc/" + std::to_string(holder) + "/comm"), command) && !command.empty())
        reason.found += " (" + command + ")";
    return reason;
}

result<void> lock_result(const detail::lock_answer& answer, const std::string& path) {
    switch (answer.outcome) {
        case detail::lock_outcome::taken: return {};
        case detail::lock_outcome::held_here: return held_here(path);
        case detail::lock_outcome::held_elsewhere: return held_elsewhere(path, answer.holder);
        case detail::lock_outcome::failed: break;
    }
    return system_error("fcntl(F_OFD_SETLK)", path, answer.number);
}

struct new_file {
    int descriptor;
    std::string name;  ///< empty: unnamed
};

/// Undoes what is not kept, for want of memory.
class unkept_file {
public:
    explicit unkept_file(const new_file& made) noexcept : made_(&made) {}
    ~unkept_file() {
        if (made_ == nullptr) return;
        if (!made_->name.empty()) ::unlink(made_->name.c_str());
        ::close(made_->descriptor);
    }
    unkept_file(const unkept_file&) = delete;
    unkept_file& operator=(const unkept_file&) = delete;
    void keep() noexcept { made_ = nullptr; }

private:
    const new_file* made_;
};

/// A file in `directory`, unnamed where the file system can.
result<new_file> make_file(const std::string& directory, bool unnamed) {
    if (unnamed) {
        const int descriptor = detail::remember_opened(
            [&] { return retried([&] { return ::open(directory.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600); }); });
        if (descriptor >= 0) return new_file{descriptor, {}};
        if (is_missing(errno)) return no_directory_for(directory + "/");
        if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOSYS) return system_error("open", directory, errno);
    }
    std::string name;
    const int descriptor = detail::remember_opened([&] {
        return retried([&] {
            name = directory + "/.holdfast-XXXXXX";
            return ::mkostemp(name.data(), O_CLOEXEC);
        });
    });
    if (descriptor < 0) {
        error reason = system_error("mkostemp", directory, errno);
        // The directory is there, and holds what its file system makes by itself.
        if (reason.code == errc::not_found) reason.what = "no file can be created in this directory";
        if (reason.code == errc::not_found) reason.remedy = "name a path on another file system";
        return reason;
    }
    return new_file{descriptor, name};
}

}  // namespace

std::string directory_of(const std::string& path) {
    const auto slash = path.find_last_of('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

error no_directory_for(const std::string& path) {
    return error{.code = errc::not_found,
                 .what = "there is no directory for the new file",
                 .path = path,
                 .expected = "a directory " + directory_of(path),
                 .found = "none",
                 .remedy = "create the directory first, or name another path"};
}

file::file(std::string path, int descriptor, access how) noexcept
    : path_(std::move(path)), descriptor_(descriptor), access_(how) {}

file::file(file&& other) noexcept
    : path_(std::move(other.path_)),
      prepared_name_(std::exchange(other.prepared_name_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      access_(other.access_),
      device_(std::exchange(other.device_, std::nullopt)),
      mode_of_chunk_(other.mode_of_chunk_),
      has_unpublished_chunk_(std::exchange(other.has_unpublished_chunk_, false)) {}

file& file::operator=(file&& other) noexcept {
    if (this != &other) {
        release();
        path_ = std::move(other.path_);
        prepared_name_ = std::exchange(other.prepared_name_, {});
        descriptor_ = std::exchange(other.descriptor_, -1);
        access_ = other.access_;
        device_ = std::exchange(other.device_, std::nullopt);
        mode_of_chunk_ = other.mode_of_chunk_;
        has_unpublished_chunk_ = std::exchange(other.has_unpublished_chunk_, false);
    }
    return *this;
}

file::~file() { release(); }

void file::drop_prepared_name() noexcept {
    if (prepared_name_.empty()) return;
    ::unlink(prepared_name_.c_str());
    prepared_name_.clear();
}

void file::release() noexcept {
    drop_prepared_name();
    const auto unpublished = has_unpublished_chunk_ ? device_->about().chunk : std::nullopt;
    device_.reset();
    if (descriptor_ >= 0) detail::close_descriptor(std::exchange(descriptor_, -1));
    try {
        if (unpublished) static_cast<void>(free_chunk(*unpublished));
    } catch (...) {
        // Without memory to say why it is not freed: an empty chunk is left.
    }
    has_unpublished_chunk_ = false;
}

result<file> file::prepare(const std::string& path, unsigned mode, bool unnamed) {
    struct stat status {};
    if (auto device = find_device(path)) return prepare_device(path, *std::move(device), mode);
    if (auto missing = missing_device(path)) return *std::move(missing);
    // Before the work, for the sake of who tries in vain; what counts is `publish`.
    if (::lstat(path.c_str(), &status) == 0) return system_error("open", path, EEXIST);
    auto made = make_file(directory_of(path), unnamed);
    if (!made) {
        error reason = made.error();
        reason.path = path;
        return reason;
    }
    unkept_file unkept(*made);
    std::string its_path = path;
    unkept.keep();
    file prepared(std::move(its_path), made->descriptor, access::read_write);
    prepared.prepared_name_ = std::move(made->name);
    if (retried([&] { return ::fchmod(prepared.descriptor_, static_cast<mode_t>(mode)); }) != 0)
        return system_error("fchmod", path, errno);
    return prepared;
}

result<void> file::publish(std::uint64_t newest) {
    if (device_) {
        device_->publish(newest);
        has_unpublished_chunk_ = false;
        return {};
    }
    // What takes memory comes before the file has its name, or is undone.
    const std::string directory = directory_of(path_);
    if (auto linked = link_to_path(); !linked) return linked;
    drop_prepared_name();
#ifdef HOLDFAST_OBSERVED
    observe_file_publish();
#endif
    try {
        auto synced = sync_directory(directory);
        if (!synced) ::unlink(path_.c_str());
        return synced;
    } catch (...) {
        ::unlink(path_.c_str());
        throw;
    }
}

result<void> file::link_to_path() {
    if (prepared_name_.empty()) {
        const std::string self = "/proc/self/fd/" + std::to_string(descriptor_);
        if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
        // Without /proc only the privileged may.
        if (errno == ENOENT && ::linkat(descriptor_, "", AT_FDCWD, path_.c_str(), AT_EMPTY_PATH) == 0) return {};
        return system_error("linkat", path_, errno);
    }
    if (::renameat2(AT_FDCWD, prepared_name_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) {
        prepared_name_.clear();
        return {};
    }
    // EINVAL: this file system cannot refuse to replace; a hard link never replaces.
    if (errno != EINVAL && errno != ENOSYS) return system_error("renameat2", path_, errno);
    if (::link(prepared_name_.c_str(), path_.c_str()) != 0) return system_error("link", path_, errno);
    return {};
}

result<file> file::create_unnamed(const std::string& directory) {
    auto made = make_file(directory, true);
    if (!made) {
        error reason = made.error();
        reason.path = directory;
        return reason;
    }
    unkept_file unkept(*made);
    std::string its_path = directory;
    unkept.keep();
    if (!made->name.empty()) ::unlink(made->name.c_str());
    return file(std::move(its_path), made->descriptor, access::read_write);
}

result<file> file::open_regular(const std::string& path, access how) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        return is_missing(errno) ? no_such_pool(path) : system_error("stat", path, errno);
    if (!S_ISREG(status.st_mode)) return not_regular(path, status.st_mode);
    // Refused at once: what the file holds is not what its holder's memory does.
    if (detail::held_by_this_process(status)) return held_here(path);

    // O_NONBLOCK, in case the name means a pipe by now; regular files ignore it.
    const int flags = (how == access::read_write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    std::string its_path = path;
    const int descriptor =
        detail::remember_opened([&] { return retried([&] { return ::open(path.c_str(), flags); }); });
    if (descriptor < 0) return system_error("open", path, errno);
    file opened(std::move(its_path), descriptor, how);
    if (::fstat(descriptor, &status) != 0) return system_error("fstat", path, errno);
    if (!S_ISREG(status.st_mode)) return not_regular(path, status.st_mode);
    return opened;
}

result<std::uint64_t> file::size() const {
    if (device_) return device_->used_bytes();
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) return system_error("fstat", path_, errno);
    return static_cast<std::uint64_t>(status.st_size);
}

result<file> file::open_locked(const std::string& path, access how) {
    // Each try that fails means that somebody has replaced the file since the last one.
    constexpr int tries = 1000;
    for (int attempt = 1;; ++attempt) {
        auto opened = open(path, how);
        if (!opened) return opened;
        if (auto locked = opened->lock(); !locked) return locked.error();
        const auto current = opened->is_at_path();
        if (!current) return current.error();
        if (*current) return opened;
        if (attempt < tries) continue;
        return error{.code = errc::busy,
                     .what = "the file is replaced repeatedly while it is being opened",
                     .path = path,
                     .expected = "a file that keeps its name",
                     .found = std::to_string(tries) + " files of this name"};
    }
}

result<bool> file::is_at_path() const {
    struct stat here {}, there {};
    const std::string& path = device_ ? device_->about().node : path_;
    if (::fstat(descriptor_, &here) != 0) return system_error("fstat", path_, errno);
    if (::stat(path.c_str(), &there) != 0) {
        if (errno == ENOENT) return false;
        return system_error("stat", path_, errno);
    }
    return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

result<void> file::lock() {
    auto locked = lock_result(detail::take_lock(descriptor_, access_ == access::read_write), path_);
    if (!locked || access_ == access::read_write || !has_other_sharers()) return locked;
    // They store while they share a lock with who only reads. While this has one nobody begins to share the file.
    const pid_t holder = detail::holder_of(descriptor_);
    unlock();
    return held_elsewhere(path_, holder);
}

result<void> file::lock_shared() { return lock_result(detail::take_lock(descriptor_, false), path_); }

result<void> file::change_lock(bool exclusive) {
    return lock_result(detail::change_lock(descriptor_, exclusive), path_);
}

void file::unlock() noexcept { detail::drop_locks(descriptor_); }

result<void> file::take_turn(bool wait) {
    return lock_result(detail::take_range(descriptor_, detail::lock_range::turn, true, wait), path_);
}

void file::end_turn() noexcept { detail::drop_range(descriptor_, detail::lock_range::turn); }

result<void> file::join_sharers() {
    return lock_result(detail::take_range(descriptor_, detail::lock_range::sharers, false, false), path_);
}

bool file::has_other_sharers() const noexcept {
    return detail::range_is_held(descriptor_, detail::lock_range::sharers);
}

result<void> sync_directory(const std::string& directory) {
    const int descriptor = retried([&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (descriptor < 0) return system_error("open", directory, errno);
    const int answer = retried([&] { return ::fsync(descriptor); });
    const int number = errno;
    ::close(descriptor);
    ++detail::this_thread.syncs;
    // EINVAL: this file system has no way to sync a directory, and needs none.
    if (answer != 0 && number != EINVAL) return system_error("fsync", directory, number);
#ifdef HOLDFAST_OBSERVED
    observe_directory_sync();
#endif
    return {};
}

}  // namespace holdfast::persist
