// The word code: for every 64-bit word W a 64-bit code E, by which flipped bits are found and, up to seven of them,
// corrected (repair.hpp).
//
//   1. W = A || B     two halves of 32 bits, A the upper one
//   2. D = CRC32C(W)  of the word's eight bytes in memory order, begun with 0 and not inverted
//   3. C = A ^ B ^ D  (equation 1)
//   4. E = C || D     C the upper half
//
// The code is linear, and a word and code of zeros are valid: so is memory that was never written.
// Source: DNV Memory, section 3.2.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace holdfast::ecc {

/// A word and its code, side by side in memory as they are kept. Plain data.
struct coded_word {
    std::uint64_t word = 0;
    std::uint64_t code = 0;

    friend constexpr bool operator==(const coded_word&, const coded_word&) = default;
};
static_assert(sizeof(coded_word) == 16, "a range of n words takes 16 n bytes with its codes");

namespace detail {
/// Whether the processor has the CRC instruction. False until it has been found out, before main.
extern const bool has_word_instruction;
/// CRC32C of a word, begun with 0: by the processor's instruction, if it has one, or by tables.
std::uint32_t word_checksum(std::uint64_t word) noexcept;
/// Always by tables.
std::uint32_t word_checksum_portable(std::uint64_t word) noexcept;
/// By the instruction. Requires: has_word_instruction.
std::uint32_t word_checksum_hardware(std::uint64_t word) noexcept;

constexpr std::uint64_t code_from(std::uint64_t word, std::uint32_t checksum) noexcept {
    const auto folded = static_cast<std::uint32_t>(word >> 32) ^ static_cast<std::uint32_t>(word) ^ checksum;
    return std::uint64_t{folded} << 32 | checksum;
}
}  // namespace detail

/// The code E of a word.
/// Pure; thread-safe. By the processor's CRC instruction: inline where the build may use it (-msse4.2,
/// -march=armv8-a+crc), on x86-64 also elsewhere, after a test for the instruction; on aarch64 then by a call.
// Always inline: sources of one program may be built with different instructions, and the linker keeps one body.
[[gnu::always_inline]] inline std::uint64_t encode(std::uint64_t word) noexcept {
#if defined(__SSE4_2__) && defined(__x86_64__)
    return detail::code_from(word, static_cast<std::uint32_t>(__builtin_ia32_crc32di(0, word)));
#elif defined(__ARM_FEATURE_CRC32)
    return detail::code_from(word, __crc32cd(0, word));
#elif defined(__x86_64__)
    if (!detail::has_word_instruction) [[unlikely]]
        return detail::code_from(word, detail::word_checksum_portable(word));
    // The compiler has no name for the instruction in a build that may not use it.
    std::uint64_t checksum = 0;
    __asm__("crc32q %1, %0" : "+r"(checksum) : "r"(word));
    return detail::code_from(word, static_cast<std::uint32_t>(checksum));
#else
    return detail::code_from(word, detail::word_checksum(word));
#endif
}

/// Whether the code is the word's. Up to 13 flipped bits of the 128 never pass.
/// Pure; thread-safe.
[[gnu::always_inline]] inline bool is_valid(coded_word found) noexcept { return encode(found.word) == found.code; }

/// The same where one instruction finds out; false may also mean that only is_valid knows.
[[gnu::always_inline]] inline bool is_valid_at_first_sight(coded_word found) noexcept {
#if defined(__x86_64__) && !defined(__SSE4_2__)
    std::uint64_t checksum = 0;
    if (!detail::has_word_instruction) [[unlikely]]
        return false;
    __asm__("crc32q %1, %0" : "+r"(checksum) : "r"(found.word));
    return detail::code_from(found.word, static_cast<std::uint32_t>(checksum)) == found.code;
#else
    return is_valid(found);
#endif
}

/// Encodes `count` words and stores each with its code: words[i] becomes coded[i].
/// Requires: the two ranges do not overlap. If the process dies inside, some pairs are stored and some are not, and
/// one may have its word without its code.
/// Thread-safe for different ranges.
void encode(const std::uint64_t* words, coded_word* coded, std::size_t count) noexcept;

/// The index of the first of `count` words whose code is not its own; `count` if there is none.
/// Thread-safe as long as no thread stores to the range.
std::size_t first_invalid(const coded_word* coded, std::size_t count) noexcept;

namespace detail {
void encode_portable(const std::uint64_t* words, coded_word* coded, std::size_t count) noexcept;
void encode_hardware(const std::uint64_t* words, coded_word* coded, std::size_t count) noexcept;
std::size_t first_invalid_portable(const coded_word* coded, std::size_t count) noexcept;
std::size_t first_invalid_hardware(const coded_word* coded, std::size_t count) noexcept;
}  // namespace detail

}  // namespace holdfast::ecc
