// Memory of one process: what a program needs on its way, and no other program and no pool.
#pragma once

#include <workload/pure.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace holdfast::workload {

/// Where private data are: in the process's own memory, as usual. Whoever puts them elsewhere, to see what that costs,
/// has another class like this.
struct own_memory {
    /// calloc aligns to what usual types need, and not to lines.
    template <class T>
    static T* allocate(std::uint64_t count) {
        if constexpr (alignof(T) <= alignof(std::max_align_t)) {
            return static_cast<T*>(std::calloc(count, sizeof(T)));
        } else {
            void* const made = std::aligned_alloc(alignof(T), count * sizeof(T));
            return static_cast<T*>(made == nullptr ? nullptr : std::memset(made, 0, count * sizeof(T)));
        }
    }
    static void free(void* places) { std::free(places); }
    /// f(), where private data can be reached.
    template <class Access, class F>
    static void inside(const Access&, F&& f) {
        f();
    }
    /// f(given...), in a block without barriers. It gets words, and captures nothing: a structure would be put together
    /// in the block's own memory, with barriers.
    /// Requires: f touches private data alone, and what it stores to, blocks touch in this way only.
    template <class F, class... Given>
    HOLDFAST_WORKLOAD_PURE static auto directly(F f, Given... given) {
        static_assert(std::is_empty_v<F> && ((sizeof(Given) <= sizeof(std::uint64_t)) && ...));
        return f(given...);
    }
    template <class T>
    static T load(const T* home) {
        return directly([](const T* at) { return *at; }, home);
    }
    template <class T>
    static void store(T* home, std::type_identity_t<T> value) {
        directly([](T* at, T what) { *at = what; }, home, value);
    }
};

}  // namespace holdfast::workload
