// The loops of CRC32C, over a step that absorbs a byte or a word. Instantiated once with a table
// and once, in a file compiled for it, with the processor's instruction.
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
        crc = Step::word(crc, word);
    }
    for (; size > 0; ++at, --size) crc = Step::byte(crc, *at);
    return crc;
}

template <class Step>
std::uint32_t run_interleaved(const std::uint64_t* words, std::size_t count, std::uint32_t seed) noexcept {
    std::uint32_t a = seed, b = seed, c = seed, d = seed;
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        a = Step::word(a, words[i]);
        b = Step::word(b, words[i + 1]);
        c = Step::word(c, words[i + 2]);
        d = Step::word(d, words[i + 3]);
    }
    if (i < count) a = Step::word(a, words[i]);
    if (i + 1 < count) b = Step::word(b, words[i + 1]);
    if (i + 2 < count) c = Step::word(c, words[i + 2]);
    // Multiplied first: a CRC of the registers alone is linear, and gives a word of one stream the
    // weight of the word two places on in another; a tear that loses two equal words would pass.
    constexpr std::uint64_t first_factor = 0x9E3779B97F4A7C15u;
    constexpr std::uint64_t second_factor = 0xD6E8FEB86659FD93u;
    const std::uint32_t folded = Step::word(0, (a | std::uint64_t{b} << 32) * first_factor);
    return Step::word(folded, (c | std::uint64_t{d} << 32) * second_factor);
}

bool crc_instruction_available() noexcept;
std::uint32_t crc32c_hardware(const void* data, std::size_t size, std::uint32_t seed) noexcept;
std::uint32_t interleaved_crc32c_hardware(const std::uint64_t* words, std::size_t count,
                                          std::uint32_t seed) noexcept;

}  // namespace holdfast::detail
