// An object that lies twice in as many lines as it needs, each copy with a sum. Freestanding C++17.
#pragma once

#include <holdfast/format/cache_line.hpp>

#include <stdint.h>

namespace holdfast {
namespace format {

/// In front of each copy. The copy with the higher sequence is valid if its sum is right, else the other.
struct copy_header {
    uint64_t sequence;  ///< 1 for a new object's first copy, 0 for its second, which holds nothing yet
    uint64_t sum;       ///< sum_of_copy: of the sequence and of every line but these two words
};
static_assert(sizeof(copy_header) == 16, "in the first line of its copy");

/// A word of whatever object lies there.
typedef uint64_t copy_word __attribute__((__may_alias__));

/// Words of a line, each pair added to two of these and multiplied to 128 bits, whose halves are folded.
inline constexpr uint64_t sum_keys[8] = {0x9E3779B97F4A7C15u, 0xBF58476D1CE4E5B9u, 0x94D049BB133111EBu,
                                         0xD6E8FEB86659FD93u, 0xA0761D6478BD642Fu, 0xE7037ED1A0B428DBu,
                                         0x8EBC6AF09C88C6E3u, 0x589965CC75374CC3u};

constexpr uint64_t folded_product(uint64_t a, uint64_t b) noexcept {
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

/// What a line adds to its copy's sum. `words` are its eight; `place` is its index in the copy. Not linear: a tear that
/// exchanges equal changes of two lines is seen.
constexpr uint64_t sum_of_line(const copy_word* words, uint64_t place) noexcept {
    const uint64_t keyed = place * sum_keys[0];
    uint64_t mixed = folded_product(words[0] + sum_keys[0] + keyed, words[1] + sum_keys[1]) +
                     folded_product(words[2] + sum_keys[2] + keyed, words[3] + sum_keys[3]) +
                     folded_product(words[4] + sum_keys[4] + keyed, words[5] + sum_keys[5]) +
                     folded_product(words[6] + sum_keys[6] + keyed, words[7] + sum_keys[7]);
    mixed ^= mixed >> 32;
    mixed *= sum_keys[2];
    return mixed ^ (mixed >> 29);
}

/// What the sequence adds.
constexpr uint64_t sum_of_sequence(uint64_t sequence) noexcept {
    return folded_product(sequence + sum_keys[3], sum_keys[5] ^ (sequence << 32));
}

/// The lines of one copy of an object of `bytes`.
constexpr size_t lines_of_copy(size_t bytes) noexcept {
    return (sizeof(copy_header) + bytes + cache_line_bytes - 1) / cache_line_bytes;
}

}  // namespace format
}  // namespace holdfast
