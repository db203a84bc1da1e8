// Bytes of a memory by address, pages only where something was written. As an object of its own it is what remains
// after a crash.
#pragma once

#include <sim/base/line.hpp>

#include <memory>
#include <span>
#include <unordered_map>

namespace holdfast::sim {

class memory_image {
public:
    /// Whatever was never written reads as zero.
    void read(address line, line_data& into) const;
    void write(const line_write& what);

    /// Any range, for loading a program and for looking at what a crash left.
    void read_bytes(address from, std::span<std::byte> into) const;
    void write_bytes(address to, std::span<const std::byte> bytes);

    std::uint64_t bytes_in_use() const noexcept { return pages_.size() * page_bytes; }
    /// Calls `visit(address of the page, its bytes)` in no particular order.
    template <class Visit>
    void for_each_page(Visit&& visit) const {
        for (const auto& [number, bytes] : pages_) {
            visit(address{number * page_bytes}, std::span<const std::byte>(*bytes));
        }
    }

    static constexpr std::uint64_t page_bytes = 65536;

private:
    using page = std::array<std::byte, page_bytes>;

    const page* find(address at) const noexcept;
    page& find_or_make(address at);

    std::unordered_map<std::uint64_t, std::unique_ptr<page>> pages_;
};

}  // namespace holdfast::sim
