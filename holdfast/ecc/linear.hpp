// The word code as a linear map over GF(2), W -> E, at compile time: the image of each bit, what is mapped to zero,
// and an inverse. Why it looks like this is told in repair_run.hpp.
#pragma once

#include <holdfast/ecc/word_code.hpp>

#include <array>
#include <bit>

namespace holdfast::ecc::detail {

/// CRC32C of a word as it is defined, bit by bit.
constexpr std::uint32_t checksum_by_definition(std::uint64_t word) noexcept {
    constexpr std::uint32_t reflected_polynomial = 0x82F63B78u;
    std::uint32_t crc = 0;
    for (int bit = 0; bit < 64; ++bit, word >>= 1) {
        const bool out = ((crc ^ word) & 1u) != 0;
        crc = (crc >> 1) ^ (out ? reflected_polynomial : 0u);
    }
    return crc;
}

constexpr std::uint64_t encode_by_definition(std::uint64_t word) noexcept {
    return code_from(word, checksum_by_definition(word));
}

/// The map and what is needed to go back.
struct linear_map {
    std::array<std::uint64_t, 64> image{};     ///< of each bit of W
    /// For each bit of E a word. The sum of those of a code's bits is a word with that code, if there is one.
    std::array<std::uint64_t, 64> preimage{};
    std::uint64_t kernel = 0;                  ///< the one word but 0 whose code is 0
    unsigned rank = 0;
};

/// The lowest bit of C. Codes have an even number of bits in C; a single bit there stands for itself and this one.
inline constexpr unsigned lowest_of_c = 32;

constexpr linear_map make_linear_map() {
    linear_map made;
    // Gaussian elimination; basis[b] has b as its highest bit and is the code of source[b].
    std::array<std::uint64_t, 64> basis{}, source{};
    for (unsigned bit = 0; bit < 64; ++bit) {
        made.image[bit] = encode_by_definition(std::uint64_t{1} << bit);
        std::uint64_t code = made.image[bit], word = std::uint64_t{1} << bit;
        while (code != 0) {
            const auto highest = static_cast<unsigned>(63 - std::countl_zero(code));
            if (basis[highest] == 0) {
                basis[highest] = code;
                source[highest] = word;
                ++made.rank;
                break;
            }
            code ^= basis[highest];
            word ^= source[highest];
        }
        if (code == 0) made.kernel = word;
    }
    for (unsigned bit = 0; bit < 64; ++bit) {
        std::uint64_t code = std::uint64_t{1} << bit;
        if (bit >= lowest_of_c) code ^= std::uint64_t{1} << lowest_of_c;
        while (code != 0) {
            const auto highest = static_cast<unsigned>(63 - std::countl_zero(code));
            // A code that the basis does not give would be reduced for ever: the compiler then refuses.
            code ^= basis[highest];
            made.preimage[bit] ^= source[highest];
        }
    }
    return made;
}

inline constexpr linear_map word_map_to_code = make_linear_map();
static_assert(word_map_to_code.rank == 63);
static_assert(encode_by_definition(word_map_to_code.kernel) == 0);

}  // namespace holdfast::ecc::detail
