// Bytes of a memory by address, pages only where something was written. As an object of its own it is what remains
// after a crash.
#pragma once

#include <sim/base/line.hpp>

#include <memory>
#include <span>
#include <vector>

namespace holdfast::sim {

class memory_image {
public:
    /// Whatever was never written reads as zero.
    void read(address line, line_data& into) const;
    void write(const line_write& what);

    /// Any range, for loading a program and for looking at what a crash left.
    void read_bytes(address from, std::span<std::byte> into) const;
    void write_bytes(address to, std::span<const std::byte> bytes);

    std::uint64_t bytes_in_use() const noexcept { return pages_ * page_bytes; }
    /// Calls `visit(address of the page, its bytes)` for each page that was written to.
    template <class Visit>
    void for_each_page(Visit&& visit) const {
        for (const region& each : regions_) {
            for (std::size_t number = 0; number < each.pages.size(); ++number) {
                if (!each.pages[number]) continue;
                visit(address{each.begin + number * page_bytes}, std::span<const std::byte>(*each.pages[number]));
            }
        }
    }
    /// Tells the host that this line will be read soon.
    void prefetch(address line) const noexcept {
        if (const page* const found = find(line)) __builtin_prefetch(found->data() + line.value % page_bytes);
    }

    static constexpr std::uint64_t page_bytes = 65536;

private:
    using page = std::array<std::byte, page_bytes>;

    /// A stretch of addresses with a table of its pages. A program touches few of them (code and heap, stacks, the
    /// arena), so they are searched one by one, and a page is found without a chain of pointers.
    struct region {
        std::uint64_t begin = 0;
        std::vector<std::unique_ptr<page>> pages{};
    };
    static constexpr std::uint64_t region_bytes = std::uint64_t{1} << 34;

    const page* find(address at) const noexcept {
        for (const region& each : regions_) {
            const std::uint64_t offset = at.value - each.begin;
            if (offset < region_bytes) return each.pages[offset / page_bytes].get();
        }
        return nullptr;
    }
    page& find_or_make(address at);

    std::vector<region> regions_;
    std::uint64_t pages_ = 0;
};

}  // namespace holdfast::sim
