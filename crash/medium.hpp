// What a medium may hold after a cut at some point of a trace, by a model.
#pragma once

#include <crash/model.hpp>
#include <crash/trace.hpp>

#include <cstdint>
#include <map>
#include <vector>

namespace holdfast::crash {

/// Words of one line that arrive together: one of `versions` is there, whichever. All units of an
/// image are independent of each other.
struct unit {
    std::uint64_t line = 0;
    std::uint8_t mask = 0xFF;  ///< which words of the line
    std::vector<std::uint64_t> versions;  ///< oldest first, each of the mask's words in order; no two equal

    unsigned words() const noexcept { return static_cast<unsigned>(__builtin_popcount(mask)); }
    std::size_t count() const noexcept { return versions.size() / words(); }
};

/// Follows a trace; says at any point what a cut there may leave.
class medium {
public:
    medium(const model& how, const std::vector<std::uint64_t>& durable);

    void apply(const event& next);
    /// The words that are certain; those of a unit hold its oldest version.
    const std::vector<std::uint64_t>& durable() const noexcept { return durable_; }
    /// The words that are not.
    std::vector<unit> uncertain() const;
    /// Differs, in all likelihood, for different durable words.
    std::uint64_t durable_hash() const noexcept { return hash_; }

private:
    struct cached_store {
        std::uint64_t word;
        std::uint64_t value;
    };
    struct line_history {
        std::vector<cached_store> stores;  ///< since the last write-back that a fence completed
        std::size_t written_back = 0;      ///< of these, covered by a write-back that waits for its fence
    };

    void make_durable(std::uint64_t word, std::uint64_t value);
    void complete_fence();
    void add_line(std::vector<unit>& units, std::uint64_t line, const line_history& history) const;
    void add_torn_line(std::vector<unit>& units, std::uint64_t line, const line_history* history) const;
    bool has_streams(std::uint64_t line) const;

    model how_;
    std::vector<std::uint64_t> durable_;
    std::uint64_t hash_ = 0;
    std::map<std::uint64_t, line_history> lines_;
    std::map<std::uint64_t, std::vector<std::uint64_t>> streams_;  ///< by word: values that wait for a fence
};

/// A hash of a word at a place, to be added up over places.
constexpr std::uint64_t hash_of_word(std::uint64_t place, std::uint64_t value) noexcept {
    std::uint64_t z = value * 0x9E3779B97F4A7C15ull + place * 0xD1B54A32D192ED03ull;
    z = (z ^ (z >> 32)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 29)) * 0x94D049BB133111EBull;
    return z ^ (z >> 32);
}

}  // namespace holdfast::crash
