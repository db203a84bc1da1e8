// For the programs that execute every instruction: operands that find mistakes, and lines of results. What is right is
// for others to say: the same program is run elsewhere and the lines are compared.
#pragma once

#include <sim/guest/text.hpp>

namespace holdfast::guest {

/// Around every limit that an integer instruction can have.
inline constexpr std::uint64_t interesting_integers[] = {
    0,           1,          2,           31,          63,
    0x7fff'ffff, 0x80000000, 0xffff'ffff, 0x0123'4567'89ab'cdef,
    0x7fff'ffff'ffff'ffff,   0x8000'0000'0000'0000,    0xffff'ffff'ffff'ffff,
};

/// A line for each operand: what the instruction gives with it and every other.
template <class F>
void report_pairs(const char* name, F instruction) {
    for (const std::uint64_t a : interesting_integers) {
        line results;
        results.add(name).add(" ").add_hexadecimal(a).add(":");
        for (const std::uint64_t b : interesting_integers) results.add(" ").add_hexadecimal(instruction(a, b));
        results.write();
    }
}

/// One line: what it gives with each operand.
template <class F>
void report_each(const char* name, F instruction) {
    line results;
    results.add(name).add(":");
    for (const std::uint64_t a : interesting_integers) results.add(" ").add_hexadecimal(instruction(a));
    results.write();
}

}  // namespace holdfast::guest
