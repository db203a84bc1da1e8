// Where the threads of the program context_switch have their words, for the program and for who looks at what is left.
#pragma once

#include <sim/base/address_map.hpp>
#include <sim/base/units.hpp>

namespace holdfast::sim {

inline constexpr std::uint32_t threads_of_a_hart = 2;
/// A thread's words, each on a line of its own. A transaction stores one value to all of them.
inline constexpr std::uint32_t words_of_a_thread = 8;

constexpr address word_of_thread(std::uint32_t thread, std::uint32_t word) noexcept {
    return arena_begin + (thread * words_of_a_thread + word) * line_bytes;
}

}  // namespace holdfast::sim
