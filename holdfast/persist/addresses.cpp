#include <holdfast/persist/addresses.hpp>

#include <holdfast/persist/system_error.hpp>

#include <cerrno>
#include <utility>

#include <sys/mman.h>

namespace holdfast::persist {

using detail::system_error;

result<address_range> address_range::reserve(const std::string& path, std::uintptr_t base, std::uint64_t bytes) {
    auto reserved = detail::reserve_addresses(path, base, bytes);
    if (!reserved) return std::move(reserved).give_error();
    return address_range(*reserved, bytes);
}

result<address_range> address_range::zeros(std::uint64_t bytes) {
    void* const got =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return system_error("mmap", "memory", errno);
    return address_range(static_cast<std::byte*>(got), bytes);
}

address_range::address_range(address_range&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

address_range& address_range::operator=(address_range&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

address_range::~address_range() {
    if (base_ != nullptr) ::munmap(base_, bytes_);
}

result<void> allow_access(void* at, std::uint64_t bytes, bool allowed) {
    if (::mprotect(at, bytes, allowed ? PROT_READ | PROT_WRITE : PROT_NONE) == 0) return {};
    return system_error("mprotect", "memory", errno);
}

}  // namespace holdfast::persist
