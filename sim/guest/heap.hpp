// Memory that is gone with the power.
#pragma once

#include <sim/guest/lock.hpp>

namespace holdfast::guest {

/// Bytes, all zero, on lines of their own, from sim::heap_begin upwards: where is told rather than asked for, so that
/// programs find the same addresses on every machine. They are never given back: programs take what they need at the
/// beginning.
void* allocate_volatile(std::size_t bytes) noexcept;

}  // namespace holdfast::guest
