#include <holdfast/persist/system_error.hpp>

#include <pthread.h>

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

std::atomic<std::uint64_t> generation{0};

void count_fork() noexcept { generation.fetch_add(1, std::memory_order_relaxed); }

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, count_fork);

}  // namespace

error system_error(const char* call, const std::string& path, int number) {
    return error{.code = code_of(number),
                 .what = std::string(call) + " failed: " + std::generic_category().message(number),
                 .path = path};
}

error system_error_at(const char* call, const std::string& path, std::uint64_t offset, int number) {
    error reason = system_error(call, path, number);
    reason.offset = offset;
    return reason;
}

std::uint64_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

}  // namespace holdfast::persist::detail
