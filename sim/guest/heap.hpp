// Memory that is gone with the power.
#pragma once

#include <sim/guest/lock.hpp>

namespace holdfast::guest {

/// Bytes, all zero, on lines of their own. They are never given back: programs take what they need at the beginning.
void* allocate_volatile(std::size_t bytes) noexcept;

}  // namespace holdfast::guest
