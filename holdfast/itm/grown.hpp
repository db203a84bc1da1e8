// The runtime's own lists. They do not throw: a barrier cannot.
#pragma once

#include <holdfast/stm/grown_array.hpp>
#include <holdfast/stm/stop.hpp>

namespace holdfast::itm {

using stm::stop;

struct stop_without_memory {
    [[noreturn]] static void no_memory() noexcept {
        stop("out of memory", "a transaction's list of what to undo cannot grow, and a barrier cannot throw");
    }
};

/// Elements are bytes to it. One thread's.
template <class T>
using grown = stm::grown_array<T, stop_without_memory>;

}  // namespace holdfast::itm
