// Repair of a word and its code after bits were flipped in either.
#pragma once

#include <holdfast/ecc/word_code.hpp>

#include <cstdint>
#include <string_view>

namespace holdfast::ecc {

/// How many of the 128 bits of a word and its code may be flipped.
inline constexpr unsigned always_repaired_flips = 6;   ///< up to this number are always corrected
inline constexpr unsigned most_repaired_flips = 7;     ///< this number are corrected, or refused if two repairs fit
inline constexpr unsigned always_detected_flips = 13;  ///< up to this number never look valid

enum class repair_outcome : std::uint8_t {
    intact,         ///< the code is the word's: nothing to repair
    repaired,       ///< exactly one pattern of at most 7 flips explains what was found
    ambiguous,      ///< refused: several patterns of 7 flips do, and none of fewer
    beyond_repair,  ///< refused: no pattern of at most 7 flips does
};

/// "intact", "repaired", "ambiguous", "beyond_repair".
std::string_view name_of(repair_outcome outcome) noexcept;

/// The result of a repair. Plain data.
struct repair_result {
    repair_outcome outcome = repair_outcome::intact;
    coded_word right{};    ///< word and code as they should be; as they were found if refused
    coded_word flipped{};  ///< a bit for each that was flipped; none if intact or refused
    std::uint64_t syndrome = 0;  ///< the code that belongs to the word found ^ the code found

    /// Whether `right` may be used.
    explicit operator bool() const noexcept { return outcome <= repair_outcome::repaired; }
    /// How many bits were flipped.
    unsigned flips() const noexcept;
};

/// Finds the flipped bits of a word and its code.
///
/// If at most 6 bits were flipped, the result is the original word. If 7 were, it is the original or `ambiguous`, as
/// for 12.163 in a million such patterns. If 8 to 13 were, the outcome is not `intact`, but the repair may be wrong;
/// from 14 on anything is possible. Pure, without state; thread-safe. Takes tens of nanoseconds for one flip and some
/// microseconds for seven; examines at most detail::most_candidates patterns (repair_run.hpp). Stores nothing: the
/// caller does, and until then the found word remains if the process dies.
/// Source: DNV Memory, section 3.2, which searches differently.
repair_result repair(coded_word found) noexcept;

}  // namespace holdfast::ecc
