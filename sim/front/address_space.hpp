// The guest's address space as the host holds it: bytes at a fixed distance, and what each page may be used for.
#pragma once

#include <sim/base/address_map.hpp>
#include <sim/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace holdfast::sim {

/// What a page may be used for; values may be combined.
enum permission : std::uint8_t { no_access = 0, readable = 1, writable = 2, executable = 4 };

class address_space {
public:
    static constexpr unsigned page_bits = 16;
    static constexpr std::uint64_t page_bytes = std::uint64_t{1} << page_bits;
    static constexpr std::uint64_t limit = address_end.value;

    /// An address space without a page. The host gives memory to what is touched, not before.
    static result<address_space> create();

    /// Makes [address, address + bytes), rounded out to pages, usable; pages that were are so also for what is new.
    /// Bytes never stored to are 0. The problem says what is wrong with the range, or that the host has no room.
    result<bool> map(std::uint64_t address, std::uint64_t bytes, permission allowed);

    /// Whether none of the pages of the range is mapped, and all exist.
    bool is_free(std::uint64_t address, std::uint64_t bytes) const noexcept;

    /// Where the host has these bytes, or nullptr unless every one of them has the permission.
    template <unsigned Bytes>
    std::byte* find(std::uint64_t address, permission wanted) const noexcept {
        const std::uint64_t page = address >> page_bits;
        if (page >= limit >> page_bits || (pages_[page] & wanted) == 0) [[unlikely]] return nullptr;
        if constexpr (Bytes > 1) {
            // The table has one page more than there are, which nobody may use.
            const bool crosses = (address & (page_bytes - 1)) > page_bytes - Bytes;
            if (crosses && (pages_[page + 1] & wanted) == 0) [[unlikely]] return nullptr;
        }
        return base_.get() + address;
    }

    /// The bytes of a range, or an empty span unless every one of them has the permission.
    std::span<std::byte> find_range(std::uint64_t address, std::uint64_t bytes, permission wanted) const noexcept;

    /// What the pages of an address may be used for, as a word for errors.
    std::string describe(std::uint64_t address) const;

private:
    struct unmap {
        void operator()(std::byte* base) const noexcept;
    };
    explicit address_space(std::byte* base);

    std::unique_ptr<std::byte[], unmap> base_;
    std::vector<std::uint8_t> pages_;
};

}  // namespace holdfast::sim
