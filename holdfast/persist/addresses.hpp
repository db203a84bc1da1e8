// Address ranges beside the mapping of a pool: without access, or of zeros.
#pragma once

#include <holdfast/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast::persist {

/// A range of addresses of this process. Move-only; given back on destruction. Nothing of it outlives the process.
class address_range {
public:
    address_range() = default;
    /// [base, base + bytes) without access: every touch is a SIGSEGV. Errors name `path`. Requires: page-aligned.
    /// Errors: address_taken, invalid_argument, io.
    static result<address_range> reserve(const std::string& path, std::uintptr_t base, std::uint64_t bytes);
    /// Memory of zeros, which takes room only where it is touched. Errors: io.
    static result<address_range> zeros(std::uint64_t bytes);

    address_range(address_range&& other) noexcept;
    address_range& operator=(address_range&& other) noexcept;
    ~address_range();

    std::byte* data() const noexcept { return base_; }
    std::uint64_t size() const noexcept { return bytes_; }

private:
    address_range(std::byte* base, std::uint64_t bytes) noexcept : base_(base), bytes_(bytes) {}

    std::byte* base_ = nullptr;
    std::uint64_t bytes_ = 0;
};

namespace detail {
/// [base, base + bytes) without access, which the caller unmaps; base 0: anywhere. Errors: as address_range::reserve.
result<std::byte*> reserve_addresses(const std::string& path, std::uintptr_t base, std::uint64_t bytes);
/// The same at a multiple of `alignment`. Requires: a base other than 0 is one.
result<std::byte*> reserve_aligned(const std::string& path, std::uintptr_t base, std::uint64_t bytes,
                                   std::uint64_t alignment);
}  // namespace detail

/// Takes all access from whole pages, or gives it back. What is there stays. Errors: io.
result<void> allow_access(void* at, std::uint64_t bytes, bool allowed);

}  // namespace holdfast::persist
