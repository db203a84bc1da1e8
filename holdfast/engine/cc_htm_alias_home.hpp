// The home of stm/ for cc_htm whose aliases are not in private pages.
#pragma once

#include <holdfast/engine/cc_htm.hpp>
#include <holdfast/log/alias_sets.hpp>
#include <holdfast/log/alias_tables.hpp>

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace holdfast {

/// A home as cc_htm_home is, but of memory that the medium has, too: what is not home yet is in `Aliases`, which is
/// alias_tables or alias_sets.
template <class Aliases>
struct cc_htm_alias_home : cc_htm_home {
    static constexpr bool has_sets = std::is_same_v<Aliases, alias_sets>;
    static constexpr aliases_in aliases = has_sets ? aliases_in::sets : aliases_in::table;

    static void begin(open_pool& pool, bool alone) noexcept(persist::noexcept_seam) {
        if constexpr (has_sets) {
            aliases_of_thread_ = pool.sets();
            cc_htm_commit::of_this_thread_->aliases_.begin(pool, alone);
        } else {
            aliases_of_thread_ = pool.alias_values();
        }
    }
    static void prefetch(const void*) noexcept {}
    static found look(const stm::word* home) noexcept {
        const Aliases* const all = aliases_of_thread_;
        if (all == nullptr) [[unlikely]]
            return cc_htm_home::look(home);
        return {all->load(home)};
    }
    static found peek(const stm::word* home) noexcept { return look(home); }
    static bool look_at_many(const stm::word* first, std::size_t count, void* to) noexcept {
        auto* out = static_cast<unsigned char*>(to);
        for (; count != 0; --count, ++first, out += sizeof(stm::word)) {
            const stm::word one = look(first).value;
            std::memcpy(out, &one, sizeof one);
        }
        return true;
    }
    static void store(stm::word* home, stm::word value, std::uint8_t mask) noexcept {
        cc_htm_commit::of_this_thread_->aliases_.publish(home, value, mask);
    }

private:
    /// Of the pool in which this thread has begun a transaction last; nullptr on a file.
    static inline constinit thread_local const Aliases* aliases_of_thread_ = nullptr;
};

}  // namespace holdfast
