// The Access (workload/access.hpp) of workloads whose shared data are in the open dnv pool.
//
// Addresses of a pool are accessible in blocks alone, and workloads look at shared data outside of transactions too,
// while nobody changes them. So a load outside has a block of its own. Nothing of the compiler may look into that
// function (noipa): g++ 12 would move its load out of the block, to the caller. In a block transaction_wrap has g++
// take another function instead, which is inlined there as a plain load: the compiler makes one barrier of it, of
// several that follow each other too, or none where it knows the word already. Without optimization nothing is inlined,
// and it is the barrier; with -Og g++ 12 refuses to compile it.
#pragma once

#include <holdfast/dnv/dnv.hpp>
#include <holdfast/itm/access.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace holdfast::dnv {
namespace detail {

using any_word = std::uint64_t __attribute__((may_alias));
using any_half = std::uint32_t __attribute__((may_alias));

[[gnu::noipa]] inline std::uint64_t load_in_own_block(const any_word* home) {
    std::uint64_t value = 0;
    __transaction_atomic { value = *home; }
    return value;
}
[[gnu::noipa]] inline std::uint32_t load_half_in_own_block(const any_half* home) {
    std::uint32_t value = 0;
    __transaction_atomic { value = *home; }
    return value;
}

#ifdef __OPTIMIZE__
[[gnu::always_inline, gnu::used, gnu::transaction_wrap(load_in_own_block)]] static inline std::uint64_t
load_in_block(const any_word* home) {
    return *home;
}
[[gnu::always_inline, gnu::used, gnu::transaction_wrap(load_half_in_own_block)]] static inline std::uint32_t
load_half_in_block(const any_half* home) {
    return *home;
}
#else
[[gnu::transaction_pure, gnu::transaction_wrap(load_in_own_block)]] std::uint64_t
load_in_block(const any_word* home) __asm__("_ITM_RU8");
[[gnu::transaction_pure, gnu::transaction_wrap(load_half_in_own_block)]] std::uint32_t
load_half_in_block(const any_half* home) __asm__("_ITM_RU4");
#endif

}  // namespace detail

/// Models workload::access. Copyable; no state. Threads are isolated from each other by their blocks.
/// Requires: a pool is open.
class dnv_access {
public:
    /// What transactions store is there in the next process (workload/stamp/notes.hpp).
    static constexpr bool outlives_process = true;

    template <class T>
    T load(const T* home) const {
        static_assert(sizeof(T) == 8 || sizeof(T) == 4);
        if constexpr (sizeof(T) == 8)
            return std::bit_cast<T>(detail::load_in_own_block(reinterpret_cast<const detail::any_word*>(home)));
        else
            return std::bit_cast<T>(detail::load_half_in_own_block(reinterpret_cast<const detail::any_half*>(home)));
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        *home = value;
    }
    template <class T>
    void will_write(T*) const noexcept {}

    /// Does not return when the pool is full: the innermost atomically does, with false.
    void* allocate(std::size_t bytes) const {
        void* const made = dnv_malloc(bytes);
        if (made == nullptr) itm::detail::give_up();
        return made;
    }
    void free(void* address) const { dnv_free(address); }

    /// False: it was taken back, for want of room in the pool or its log.
    template <class F>
    bool atomically(F&& f) const {
        return dnv_atomically(f).has_value();
    }
};

}  // namespace holdfast::dnv
