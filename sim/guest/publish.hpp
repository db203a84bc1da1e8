// Words that one thread stores and others look at.
#pragma once

#include <cstdint>

namespace holdfast::guest {

/// A store that others see behind the earlier ones, and its counterpart. Of atomic stores and loads the compiler makes
/// exchanges and full fences, which wait until the persist fence before them is done.
inline void publish(std::uint64_t& where, std::uint64_t value) noexcept {
    asm volatile("fence rw,w\n\tsd %1, %0" : "=m"(where) : "r"(value) : "memory");
}
inline std::uint64_t seen(const std::uint64_t& where) noexcept {
    std::uint64_t value = 0;
    asm volatile("ld %0, %1\n\tfence r,rw" : "=r"(value) : "m"(where) : "memory");
    return value;
}

}  // namespace holdfast::guest
