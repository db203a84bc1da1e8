// Blocks that the open transaction allocated and may store to without logging.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast {

/// Address ranges, each with the part of it that was stored to. One thread.
class fresh_blocks {
public:
    struct block {
        std::uintptr_t begin;
        std::uintptr_t end;
        std::uintptr_t stored_begin;
        std::uintptr_t stored_end;
    };

    bool empty() const noexcept { return blocks_.empty(); }

    void add(const void* address, std::size_t bytes) {
        const auto begin = reinterpret_cast<std::uintptr_t>(address);
        blocks_.insert(above(begin), {begin, begin + bytes, begin + bytes, begin});
    }

    /// Notes a store of one word; false when no block holds it.
    bool note_store(const void* word) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(word);
        const auto after = above(at);
        if (after == blocks_.begin()) return false;
        block& each = *(after - 1);
        if (at >= each.end) return false;
        if (at < each.stored_begin) each.stored_begin = at;
        if (at + 8 > each.stored_end) each.stored_end = at + 8;
        return true;
    }

    /// Forgets the block at `address`: it was freed in the transaction that allocated it. Returns its size; 0 where
    /// there is none.
    std::size_t remove(const void* address) noexcept {
        const auto begin = reinterpret_cast<std::uintptr_t>(address);
        const auto after = above(begin);
        if (after == blocks_.begin() || (after - 1)->begin != begin) return 0;
        const std::size_t bytes = (after - 1)->end - begin;
        blocks_.erase(after - 1);
        return bytes;
    }

    /// Calls f(address, bytes) for each block.
    template <class F>
    void for_each(F&& f) const {
        for (const block& each : blocks_) f(reinterpret_cast<std::byte*>(each.begin), each.end - each.begin);
    }

    /// Calls f(address, bytes) for the stored part of each block.
    template <class F>
    void for_each_stored(F&& f) const {
        for (const block& each : blocks_)
            if (each.stored_begin < each.stored_end)
                f(reinterpret_cast<std::byte*>(each.stored_begin), each.stored_end - each.stored_begin);
    }

    void clear() noexcept { blocks_.clear(); }

private:
    /// The first block that begins above `address`.
    std::vector<block>::iterator above(std::uintptr_t address) noexcept {
        return std::upper_bound(blocks_.begin(), blocks_.end(), address,
                                [](std::uintptr_t at, const block& each) { return at < each.begin; });
    }

    std::vector<block> blocks_;  ///< by address
};

}  // namespace holdfast
