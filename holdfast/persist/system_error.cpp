#include <holdfast/persist/system_error.hpp>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace holdfast::persist::detail {
namespace {

errc code_of(int number) noexcept {
    switch (number) {
        case ENOENT:
        case ENOTDIR: return errc::not_found;
        case EEXIST: return errc::already_exists;
        case EACCES:
        case EPERM:
        case EROFS:
        case ETXTBSY: return errc::permission_denied;
        case ENOSPC:
        case EDQUOT: return errc::no_space;
        default: return errc::io;
    }
}

struct plain_words {
    const char* what;
    const char* remedy;
};

/// What the kernel's number means to somebody who has not called the kernel.
plain_words words_of(int number) noexcept {
    switch (number) {
        case ENOENT: return {"there is no file or directory of that name", "create it first, or name another path"};
        case ENOTDIR: return {"a part of the path is not a directory", "name another path"};
        case EEXIST: return {"a file of that name already exists", "open the existing file, or name another path"};
        case EACCES:
        case EPERM: return {"this user lacks the permission", "change the mode or owner of the file or its directory"};
        case EROFS: return {"the file system is read-only", "mount it for writing, or name a path on another one"};
        case ETXTBSY: return {"the file is a program that is running", "name another path"};
        case ENAMETOOLONG: return {"the path is too long", "name a shorter one"};
        case ELOOP: return {"the path loops through symbolic links", "name another path"};
        case ENOSPC: return {"the file system has no room for it", "make room, ask for less, or name another path"};
        case EDQUOT: return {"the quota has no room for it", "make room, ask for less, or raise the quota"};
        case EFBIG: return {"a file here may not be that large", "ask for less, or raise the limit (ulimit -f)"};
        case ENOMEM: return {"the kernel has no memory or addresses for it", "free some, or raise a limit (ulimit)"};
        case EMFILE:
        case ENFILE: return {"too many files are open", "close some, or raise the limit (ulimit -n)"};
        case EIO: return {"the device reported a failure", "see the kernel's messages about the device (dmesg)"};
        default: return {"the kernel refused the call", ""};
    }
}

std::atomic<std::uint64_t> generation{0};

void count_fork() noexcept { generation.fetch_add(1, std::memory_order_relaxed); }

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, count_fork);

}  // namespace

error system_error(const char* call, const std::string& path, int number) {
    const plain_words words = words_of(number);
    return error{.code = code_of(number),
                 .what = words.what,
                 .path = path,
                 .found = std::string(call) + ": " + std::generic_category().message(number),
                 .remedy = words.remedy};
}

error system_error_at(const char* call, const std::string& path, std::uint64_t offset, int number) {
    error reason = system_error(call, path, number);
    reason.offset = offset;
    return reason;
}

std::uint64_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

error held_here(const std::string& path) {
    return error{.code = errc::busy,
                 .what = "the file is in use",
                 .path = path,
                 .expected = "no other holder",
                 .found = "a holder in this process (" + std::to_string(::getpid()) + ")"};
}

}  // namespace holdfast::persist::detail
