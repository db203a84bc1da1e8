// The decoder of the word code.
//
// Protocol (DNV Memory, section 3.2, "Error Detection and Correction"; W = A || B, E = C || D)
//   1. Recompute E' from W and compare it with E (`syndrome` S = E' ^ E). Equal: nothing to correct.
//   2. The error vector F = A ^ B ^ C ^ D (equation 2), which is C ^ D of S: the bit positions at which an odd number
//      of the four half words is flipped.
//   3. Repair candidates: each distributes errors over the four half words, so that they account for F (equation 3,
//      with the masking vectors Ma to Md). Positions at which flips cancel out in F are candidates too.
//      The paper forms all 4^f masks of the f positions; here candidates come by weight, the lightest first, and only
//      one side of each is enumerated: the other follows from S.
//   4. Validate each candidate: recompute E'_i from W_i and compare it with E_i. Here: what S leaves for the other side
//      must have exactly the flips that are left (`judge`).
//   5. Stop at the first hit of at most 6 flips, which is the only one. At n = 7 (the paper's limit) search to the end,
//      and refuse if a second candidate is valid. Beyond 7: refuse.
// The paper estimates n from the population of E ^ E'; here its parity leaves out every second weight.
//
// *The code.* E is a linear function of W over GF(2), E = G W, so the pairs (W, E) form a linear [128, 64] code. Its
// minimum distance is 14, and 335 of its code words have that weight (minimum_distance_test.cpp enumerates them). So at
// most 13 flips never turn one valid pair into another.
//
// *The syndrome.* If the bits w of the word and e of the code were flipped, S = G W' ^ E' = G w ^ e, whatever W was.
// The decoder looks for the lightest (w, e) with this syndrome. Two that share it differ by a code word:
//   - If their weights add up to less than 14, they are the same. So a hit of weight 6 or less is final: any other has
//     weight 8 or more. In particular popcount(S) <= 6 means that only the code was hit.
//   - Two of weight 7 are the halves of a word of weight 14. There are 335 C(14, 7) = 1,149,720 such halves among the
//     C(128, 7) patterns of 7 flips: 1.2163 in 100,000. Those are refused, so weight 7 is searched to its end.
//   - From 8 on, the right pattern may share its syndrome with a lighter one, and the two cannot be distinguished.
//
// *What G looks like.* CRC32C's polynomial is (x + 1) q with q of degree 31. Dividing by x + 1 keeps the parity, so D
// has the parity of W, and C = A ^ B ^ D an even number of bits: one parity check on what G gives. G W = 0 means
// A = B and that (x^32 + 1) A = (x + 1)^32 A is a multiple of the polynomial, so A of q: there are 0 and one other,
// the *kernel word*. The rank is 63, and a code of even parity in C has two words, that differ by the kernel word.
// And since D has W's parity and C none, popcount(S) has the parity of the number of flips: half of all weights need
// no search.
//
// *The search.* For each weight t of that parity, in rising order: t flips are at most t / 2 in W or fewer than t / 2
// in E. Few flips w in W are tried one by one, and e = S ^ G w must have the rest. Few flips e in E are tried if
// S ^ e has an even number of bits in C; then w is its inverse or that plus the kernel word. (The others could not be
// hits: what the inverse gives for them belongs to a code with one bit more or less, whose weight has another parity.)
//
// *Where to flip.* F = C ^ D of the syndrome is the sum of the four flipped halves, one bit for each place 0 to 31 that
// was flipped in an odd number of them (the paper's error vector). The flips not yet tried must account for what is
// left of F, with a flip for each place. So where F has as many places as there are flips left, the next flip is in one
// of them; where it has fewer, two flips may be in one place and cancel out in F (an even covering), and the next one
// may be anywhere. That keeps nearly all searches short: most patterns of seven flips have seven places.
#pragma once

#include <holdfast/ecc/linear.hpp>
#include <holdfast/ecc/repair.hpp>

#include <bit>
#include <cstdint>

namespace holdfast::ecc::detail {

/// The most patterns that one repair looks at. All of at most 3 flips in W; those of at most 3 in E of one parity in
/// C; and, for weights 1, 3 and 5 before, those of at most 0, 1 and 2 flips.
inline constexpr std::uint64_t most_candidates = (1 + 64 + 2016 + 41664) + (1 + 32 + 1024 + 20832) +  //
                                                 (1 + 64 + 2016) + (1 + 32 + 1024) + (1 + 64) + (1 + 32) + (1 + 1);

/// What the decoder heeds; tests leave out one of these at a time and must notice.
struct repair_rules {
    bool even_coverings = true;   ///< flips that cancel out in F
    bool kernel_word = true;      ///< both words of a code
    bool unique_at_seven = true;  ///< a second hit of weight 7 refuses the first
    bool few_in_word = true;      ///< the search with few flips in W
    bool few_in_code = true;      ///< the search with few flips in E
    unsigned most_few = 3;        ///< how many those are
    bool counts = false;          ///< counts candidates
    /// Another type for sources that may use the instruction, so that the linker does not take theirs for all.
    bool by_instruction = false;
};

template <repair_rules Rules>
class repair_search {
public:
    explicit constexpr repair_search(std::uint64_t syndrome) noexcept : syndrome_(syndrome) {}

    /// Requires: the syndrome is not 0.
    constexpr repair_outcome run() noexcept {
        for (std::uint64_t bits = syndrome_; bits != 0; bits &= bits - 1)
            inverse_ ^= word_map_to_code.preimage[static_cast<unsigned>(std::countr_zero(bits))];
        const auto places = static_cast<std::uint32_t>(syndrome_) ^ static_cast<std::uint32_t>(syndrome_ >> 32);
        const unsigned first = bits_in(syndrome_) % 2 != 0 ? 1 : 2;
        for (weight_ = first; weight_ <= most_repaired_flips && hits_ == 0; weight_ += 2)
            if (bits_in(places) <= weight_) search_weight(places);
        if (hits_ == 0) return repair_outcome::beyond_repair;
        return hits_ == 1 ? repair_outcome::repaired : repair_outcome::ambiguous;
    }

    /// The flips, if they were found.
    constexpr coded_word flipped() const noexcept { return flipped_; }
    constexpr std::uint64_t candidates() const noexcept { return candidates_; }

private:
    enum class side { word, code };

    /// Flips that have been chosen, and what follows from them.
    struct choice {
        std::uint64_t chosen;   ///< bits of the side where few are flipped
        std::uint64_t other;    ///< what that leaves for the other side
        std::uint32_t places;   ///< what is left of F
        unsigned next;          ///< bits are chosen in rising order: the next is at least this one
        bool odd_in_c;          ///< whether S ^ the chosen flips of E has an odd number of bits in C
    };

    constexpr void search_weight(std::uint32_t places) noexcept {
        const bool odd_in_c = bits_in(syndrome_ >> lowest_of_c) % 2 != 0;
        const choice in_word{0, syndrome_, places, 0, false};
        const choice in_code{0, inverse_, places, 0, odd_in_c};
        for (unsigned few = 0; 2 * few <= weight_ && few <= Rules.most_few; ++few) {
            if (Rules.few_in_word && flip_few<side::word>(few, in_word)) return;
            if (Rules.few_in_code && 2 * few < weight_ && flip_few<side::code>(few, in_code)) return;
        }
    }

    template <side Side>
    constexpr bool flip_few(unsigned few, const choice& from) noexcept {
        rest_ = weight_ - few;
        switch (few) {
        case 0: return flip<Side, 0>(from);
        case 1: return flip<Side, 1>(from);
        case 2: return flip<Side, 2>(from);
        default: return flip<Side, 3>(from);
        }
    }

    /// Tries all ways to flip `Left` more bits of this side. True when the search is over.
    template <side Side, unsigned Left>
    constexpr bool flip(const choice& so_far) noexcept {
        if constexpr (Left == 0) {
            return judge<Side>(so_far);
        } else {
            for (std::uint64_t bits = worth_flipping<Side, Left>(so_far); bits != 0; bits &= bits - 1) {
                const auto bit = static_cast<unsigned>(std::countr_zero(bits));
                const auto& other = Side == side::word ? word_map_to_code.image : word_map_to_code.preimage;
                const choice longer{so_far.chosen | (bits & (~bits + 1)), so_far.other ^ other[bit],
                                    so_far.places ^ std::uint32_t{1} << bit % 32, bit + 1,
                                    so_far.odd_in_c != (bit >= lowest_of_c)};
                if (flip<Side, Left - 1>(longer)) return true;
            }
            return false;
        }
    }

    /// The bits of this side, from the next on, that may be the first of `Left` more flips.
    template <side Side, unsigned Left>
    constexpr std::uint64_t worth_flipping(const choice& so_far) const noexcept {
        const unsigned places_left = bits_in(so_far.places);
        const unsigned flips_left = Left + rest_;
        if (places_left > flips_left || so_far.next > 63) return 0;
        std::uint64_t bits = ~std::uint64_t{0};
        if (places_left == flips_left || !Rules.even_coverings)
            bits = so_far.places | std::uint64_t{so_far.places} << 32;
        if constexpr (Side == side::code && Left == 1)
            bits &= so_far.odd_in_c ? ~std::uint64_t{0} << lowest_of_c : ~(~std::uint64_t{0} << lowest_of_c);
        return bits & ~std::uint64_t{0} << so_far.next;
    }

    /// Whether the other side has just the flips that are left.
    template <side Side>
    constexpr bool judge(const choice& all) noexcept {
        if constexpr (Rules.counts) ++candidates_;
        const auto is_hit = [this](std::uint64_t other) { return bits_in(other) == rest_; };
        if constexpr (Side == side::word) {
            return is_hit(all.other) && hit({all.chosen, all.other});
        } else {
            if (is_hit(all.other) && hit({all.other, all.chosen})) return true;
            const std::uint64_t also = all.other ^ word_map_to_code.kernel;
            return Rules.kernel_word && is_hit(also) && hit({also, all.chosen});
        }
    }

    // Not std::popcount: compiled for other instructions elsewhere, and the linker may keep one body for all.
    static constexpr unsigned bits_in(std::uint64_t value) noexcept {
        return static_cast<unsigned>(__builtin_popcountll(value));
    }

    constexpr bool hit(coded_word flipped) noexcept {
        flipped_ = flipped;
        ++hits_;
        return weight_ <= always_repaired_flips || !Rules.unique_at_seven || hits_ > 1;
    }

    std::uint64_t syndrome_;
    std::uint64_t inverse_ = 0;  ///< of the syndrome, where it has one
    unsigned weight_ = 0;        ///< that is searched now
    unsigned rest_ = 0;          ///< the number of those flips on the other side
    unsigned hits_ = 0;
    coded_word flipped_{};
    std::uint64_t candidates_ = 0;
};

template <repair_rules Rules>
constexpr repair_result run_repair(coded_word found, std::uint64_t syndrome) noexcept {
    repair_result made{repair_outcome::intact, found, {}, syndrome};
    if (syndrome == 0) return made;
    repair_search<Rules> search(syndrome);
    made.outcome = search.run();
    if (made.outcome != repair_outcome::repaired) return made;
    made.flipped = search.flipped();
    made.right = {found.word ^ made.flipped.word, found.code ^ made.flipped.code};
    return made;
}

/// `repair` by the processor's instruction that counts bits, which is 2.4 times as fast.
/// Requires: popcount_available().
repair_result repair_hardware(coded_word found, std::uint64_t syndrome) noexcept;
bool popcount_available() noexcept;

}  // namespace holdfast::ecc::detail
