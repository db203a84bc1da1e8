// Patterns of flipped bits, for tests: all of a size, or random ones.
#pragma once

#include <holdfast/ecc/word_code.hpp>

#include <workload/random.hpp>

#include <bit>
#include <cstdint>

namespace holdfast::ecc {

inline coded_word flipped_by(coded_word what, coded_word pattern) {
    return {what.word ^ pattern.word, what.code ^ pattern.code};
}

inline unsigned weight_of(coded_word pattern) {
    return static_cast<unsigned>(std::popcount(pattern.word) + std::popcount(pattern.code));
}

/// Bit 0 to 63 of the word, 64 to 127 of its code.
inline coded_word pattern_of_bit(unsigned bit) {
    return bit < 64 ? coded_word{std::uint64_t{1} << bit, 0} : coded_word{0, std::uint64_t{1} << (bit - 64)};
}

/// Calls `with` for every pattern of `bits` flips.
template <class F>
void for_each_pattern(unsigned bits, F&& with, coded_word so_far = {}, unsigned next = 0) {
    if (bits == 0) return with(so_far);
    for (unsigned bit = next; bit + bits <= 128; ++bit)
        for_each_pattern(bits - 1, with, flipped_by(so_far, pattern_of_bit(bit)), bit + 1);
}

inline coded_word random_pattern(unsigned bits, workload::random& numbers) {
    coded_word made;
    while (weight_of(made) < bits) {
        const coded_word bit = pattern_of_bit(static_cast<unsigned>(numbers.below(128)));
        made = {made.word | bit.word, made.code | bit.code};
    }
    return made;
}

inline coded_word random_valid(workload::random& numbers) {
    const std::uint64_t word = numbers.next();
    return {word, encode(word)};
}

}  // namespace holdfast::ecc
