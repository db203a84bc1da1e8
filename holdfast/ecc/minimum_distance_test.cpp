// Enumerates the code's lightest words, and tries the decoder on the patterns that share their syndrome with another.
//
// How that is bounded: a word of weight 14 or less has at most 7 bits in W, or at most 6 in E. All W of at most 7 bits
// are 704 million, each looked at by one exclusive or and one count of bits; of the E of at most 6 bits, 83 million,
// half are some word's code, which are two words then. The inverse is tested in repair_test.cpp.
#include <holdfast/ecc/linear.hpp>
#include <holdfast/ecc/repair.hpp>
#include <holdfast/ecc/test_patterns.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <vector>

namespace holdfast::ecc {
namespace {

constexpr unsigned distance = 14;

using columns = std::array<std::uint64_t, 64>;

/// Calls `with(bits, sum)` for all sets of `Left` more bits and the sum of their columns.
template <unsigned Left, class F>
void for_each_sum(const columns& all, F&& with, std::uint64_t bits = 0, std::uint64_t sum = 0, unsigned next = 0) {
    for (unsigned bit = next; bit + Left <= 64; ++bit) {
        const std::uint64_t longer = bits | std::uint64_t{1} << bit;
        if constexpr (Left == 1) {
            with(longer, sum ^ all[bit]);
        } else {
            for_each_sum<Left - 1>(all, with, longer, sum ^ all[bit], bit + 1);
        }
    }
}

struct weights {
    std::map<unsigned, std::uint64_t> number;  ///< of words of each weight
    std::vector<coded_word> lightest;

    void add(std::uint64_t word, std::uint64_t code) {
        ASSERT_EQ(encode(word), code);
        const coded_word one{word, code};
        ++number[weight_of(one)];
        if (weight_of(one) == distance) lightest.push_back(one);
    }
};

template <unsigned Bits>
void add_with_bits_in_word(weights& to) {
    for_each_sum<Bits>(detail::word_map_to_code.image, [&](std::uint64_t word, std::uint64_t code) {
        if (static_cast<unsigned>(std::popcount(code)) + Bits <= distance) to.add(word, code);
    });
}

template <unsigned Bits>
void add_with_bits_in_code(weights& to) {
    for_each_sum<Bits>(detail::word_map_to_code.preimage, [&](std::uint64_t code, std::uint64_t word) {
        if (std::popcount(code >> 32) % 2 != 0) return;
        for (const std::uint64_t each : {word, word ^ detail::word_map_to_code.kernel}) {
            const auto bits = static_cast<unsigned>(std::popcount(each));
            if (bits > 7 && bits + Bits <= distance) to.add(each, code);
        }
    });
}

const weights& light_words() {
    static const weights made = [] {
        weights all;
        add_with_bits_in_word<1>(all);
        add_with_bits_in_word<2>(all);
        add_with_bits_in_word<3>(all);
        add_with_bits_in_word<4>(all);
        add_with_bits_in_word<5>(all);
        add_with_bits_in_word<6>(all);
        add_with_bits_in_word<7>(all);
        add_with_bits_in_code<1>(all);
        add_with_bits_in_code<2>(all);
        add_with_bits_in_code<3>(all);
        add_with_bits_in_code<4>(all);
        add_with_bits_in_code<5>(all);
        add_with_bits_in_code<6>(all);
        return all;
    }();
    return made;
}

/// The halves of a word of weight 14 that have its lowest bit; the other 1,716 are what they leave.
std::vector<coded_word> halves_of(coded_word lightest) {
    std::vector<coded_word> bits;
    for (unsigned bit = 0; bit < 128; ++bit) {
        const coded_word one = pattern_of_bit(bit);
        if ((lightest.word & one.word) != 0 || (lightest.code & one.code) != 0) bits.push_back(one);
    }
    std::vector<coded_word> halves;
    for (unsigned chosen = 1; chosen < 1u << distance; chosen += 2) {
        if (std::popcount(chosen) != distance / 2) continue;
        coded_word half;
        for (unsigned i = 0; i < distance; ++i)
            if ((chosen >> i & 1u) != 0) half = flipped_by(half, bits[i]);
        halves.push_back(half);
    }
    return halves;
}

bool before(const coded_word& a, const coded_word& b) { return a.word != b.word ? a.word < b.word : a.code < b.code; }

/// The halves of all words of weight 14, in order.
const std::vector<coded_word>& all_halves() {
    static const std::vector<coded_word> made = [] {
        std::vector<coded_word> all;
        for (const coded_word& lightest : light_words().lightest) {
            for (const coded_word& half : halves_of(lightest)) {
                all.push_back(half);
                all.push_back(flipped_by(half, lightest));
            }
        }
        std::sort(all.begin(), all.end(), before);
        return all;
    }();
    return made;
}

TEST(MinimumDistance, Is14And335WordsHaveThatWeight) {
    // The word without any bit in its code is the kernel's; with none in W there is only zero.
    EXPECT_GT(std::popcount(detail::word_map_to_code.kernel), static_cast<int>(distance));
    EXPECT_EQ(light_words().number, (std::map<unsigned, std::uint64_t>{{distance, 335}}));
}

TEST(MinimumDistance, NoTwoWordsOfThatWeightHaveAHalfInCommon) {
    const auto& halves = all_halves();
    EXPECT_EQ(halves.size(), 335u * 3432u);
    EXPECT_EQ(std::adjacent_find(halves.begin(), halves.end()), halves.end());
}

TEST(MinimumDistance, EveryHalfIsRefused) {
    std::uint64_t refused = 0;
    for (const coded_word& lightest : light_words().lightest) {
        for (const coded_word& half : halves_of(lightest)) {
            const repair_result made = repair(half);
            refused += made.outcome == repair_outcome::ambiguous && made.flips() == 0;
            // So the other half is refused as well.
            ASSERT_EQ(encode(half.word) ^ half.code,
                      encode(half.word ^ lightest.word) ^ half.code ^ lightest.code);
        }
    }
    EXPECT_EQ(2 * refused, 335u * 3432u);
}

TEST(MinimumDistance, AHalfWithABitLessOrInAnotherPlaceIsPutRight) {
    constexpr std::uint64_t seed = 13;
    workload::random numbers(seed);
    const bool all = std::getenv("HOLDFAST_SOAK") != nullptr;
    std::uint64_t halves_again = 0;
    for (const coded_word& lightest : light_words().lightest) {
        for (const coded_word& half : halves_of(lightest)) {
            if (!all && numbers.below(16) != 0) continue;
            coded_word gone, come;
            do gone = pattern_of_bit(static_cast<unsigned>(numbers.below(128)));
            while ((half.word & gone.word) == 0 && (half.code & gone.code) == 0);
            do come = pattern_of_bit(static_cast<unsigned>(numbers.below(128)));
            while ((lightest.word & come.word) != 0 || (lightest.code & come.code) != 0);
            const coded_word six = flipped_by(half, gone), moved = flipped_by(six, come);
            ASSERT_EQ(repair(six).flipped, six) << "seed " << seed;
            const bool of_another = std::binary_search(all_halves().begin(), all_halves().end(), moved, before);
            halves_again += of_another;
            ASSERT_EQ(repair(moved).flipped, of_another ? coded_word{} : moved) << "seed " << seed;
        }
    }
    EXPECT_LT(halves_again, 335u);
}

}  // namespace
}  // namespace holdfast::ecc
