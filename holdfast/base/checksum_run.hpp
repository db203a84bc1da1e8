// The loops of CRC32C, over a step that absorbs a byte or a word. Instantiated once with a table
// and once, in a file compiled for it, with the processor's instruction. A step's `state` is as wide as the register
// that the instruction works on, so that nothing is cut off between two words; its upper half is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace holdfast::detail {

template <class Step>
std::uint32_t run_crc32c(const void* data, std::size_t size, std::uint32_t crc) noexcept {
    const auto* at = static_cast<const std::uint8_t*>(data);
    for (; size >= 8; at += 8, size -= 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        crc = static_cast<std::uint32_t>(Step::word(crc, word));
    }
    for (; size > 0; ++at, --size) crc = Step::byte(crc, *at);
    return crc;
}

template <class Step>
std::uint32_t run_interleaved(const std::uint64_t* words, std::size_t count, std::uint32_t seed) noexcept {
    typename Step::state a = seed, b = seed, c = seed, d = seed;
    const std::uint64_t* const rest = words + (count & ~std::size_t{3});
    for (; words != rest; words += 4) {
        a = Step::word(a, words[0]);
        b = Step::word(b, words[1]);
        c = Step::word(c, words[2]);
        d = Step::word(d, words[3]);
    }
    if ((count & 2) != 0) {
        a = Step::word(a, words[0]);
        b = Step::word(b, words[1]);
        if ((count & 1) != 0) c = Step::word(c, words[2]);
    } else if ((count & 1) != 0) {
        a = Step::word(a, words[0]);
    }
    // Multiplied first: a CRC of the registers alone is linear, and gives a word of one stream the
    // weight of the word two places on in another; a tear that loses two equal words would pass.
    constexpr std::uint64_t first_factor = 0x9E3779B97F4A7C15u;
    constexpr std::uint64_t second_factor = 0xD6E8FEB86659FD93u;
    const auto pair = [](std::uint64_t low, std::uint64_t high) { return low | high << 32; };
    const auto folded = Step::word(0, pair(a, b) * first_factor);
    return static_cast<std::uint32_t>(Step::word(folded, pair(c, d) * second_factor));
}

bool crc_instruction_available() noexcept;
std::uint32_t crc32c_hardware(const void* data, std::size_t size, std::uint32_t seed) noexcept;
std::uint32_t interleaved_crc32c_hardware(const std::uint64_t* words, std::size_t count,
                                          std::uint32_t seed) noexcept;

}  // namespace holdfast::detail
