// The decoder's laws, on few random patterns; bits flipped by the million are tools/ecc_injection_test.cpp's, the
// words of weight 14 minimum_distance_test.cpp's.
#include <holdfast/ecc/repair.hpp>

#include <holdfast/ecc/repair_run.hpp>
#include <holdfast/ecc/test_patterns.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::ecc {
namespace {

using repair_function = repair_result (*)(coded_word) noexcept;

#ifdef HOLDFAST_FEW_PLACES
constexpr int patterns_of_a_size = 200;
#else
constexpr int patterns_of_a_size = 2000;
#endif

/// Words of weight 14 with 4 bits in W.
std::vector<coded_word> find_some_lightest() {
    std::vector<coded_word> found;
    const auto& image = detail::word_map_to_code.image;
    for (unsigned i = 0; i < 64; ++i) {
        for (unsigned j = i + 1; j < 64; ++j) {
            for (unsigned k = j + 1; k < 64; ++k) {
                for (unsigned l = k + 1; l < 64; ++l) {
                    const std::uint64_t code = image[i] ^ image[j] ^ image[k] ^ image[l];
                    if (std::popcount(code) != 10) continue;
                    found.push_back({std::uint64_t{1} << i | std::uint64_t{1} << j | std::uint64_t{1} << k |
                                         std::uint64_t{1} << l, code});
                }
            }
        }
    }
    return found;
}

const std::vector<coded_word>& some_lightest() {
    static const std::vector<coded_word> found = find_some_lightest();
    return found;
}

/// The first seven bits of a word of weight 14.
coded_word half_of(coded_word lightest) {
    coded_word half;
    for (unsigned bit = 0; weight_of(half) < 7; ++bit) {
        const coded_word one = pattern_of_bit(bit);
        if ((lightest.word & one.word) != 0 || (lightest.code & one.code) != 0) half = flipped_by(half, one);
    }
    return half;
}

/// What comes of a pattern of at most 7 flips: "right", "refused", "wrong", "undetected".
std::string outcome_of(repair_function repairs, coded_word valid, coded_word pattern) {
    const repair_result made = repairs(flipped_by(valid, pattern));
    if (made.outcome == repair_outcome::intact) return "undetected";
    if (!made) return made.flipped == coded_word{} && made.right == flipped_by(valid, pattern) ? "refused" : "wrong";
    return made.right == valid && made.flipped == pattern && made.flips() == weight_of(pattern) ? "right" : "wrong";
}

/// The name of the first law that a decoder breaks; empty if it keeps all.
std::string broken_law(repair_function repairs) {
    std::string broken;
    const auto demand = [&](bool holds, const std::string& law) {
        if (!holds && broken.empty()) broken = law;
    };
    for (unsigned bits = 1; bits <= 2; ++bits)
        for_each_pattern(bits, [&](coded_word pattern) {
            if (broken.empty()) demand(outcome_of(repairs, {}, pattern) == "right", "all of 1 and 2 flips");
        });
    workload::random numbers(6);
    for (unsigned bits = 3; bits <= 7; ++bits) {
        int refused = 0;
        for (int i = 0; i < patterns_of_a_size && broken.empty(); ++i) {
            const std::string outcome = outcome_of(repairs, random_valid(numbers), random_pattern(bits, numbers));
            if (bits == 7 && outcome == "refused") ++refused;
            else demand(outcome == "right", std::to_string(bits) + " flips");
        }
        demand(refused < 5, "7 flips are hardly ever refused");
    }
    if (!broken.empty()) return broken;
    for (const coded_word& lightest : some_lightest()) {
        const coded_word half = half_of(lightest);
        demand(outcome_of(repairs, {}, half) == "refused", "halves of a word of weight 14");
        demand(outcome_of(repairs, {}, flipped_by(half, lightest)) == "refused", "halves of a word of weight 14");
    }
    return broken;
}

template <detail::repair_rules Rules>
repair_result repair_by(coded_word found) noexcept {
    return detail::run_repair<Rules>(found, encode(found.word) ^ found.code);
}

TEST(Repair, KeepsItsLaws) {
    EXPECT_FALSE(some_lightest().empty());
    EXPECT_EQ(broken_law(repair), "");
    EXPECT_EQ(broken_law(repair_by<detail::repair_rules{}>), "") << "where the processor cannot count bits";
}

TEST(Repair, ADecoderWithAPlantedFaultBreaksALaw) {
    using rules = detail::repair_rules;
    EXPECT_NE(broken_law(repair_by<rules{.even_coverings = false}>), "");
    EXPECT_NE(broken_law(repair_by<rules{.kernel_word = false}>), "");
    EXPECT_NE(broken_law(repair_by<rules{.unique_at_seven = false}>), "");
    EXPECT_NE(broken_law(repair_by<rules{.few_in_word = false}>), "");
    EXPECT_NE(broken_law(repair_by<rules{.few_in_code = false}>), "");
    EXPECT_NE(broken_law(repair_by<rules{.most_few = 2}>), "");
}

repair_result with_code_shifted(coded_word found) noexcept {
    return detail::run_repair<detail::repair_rules{}>(found, (encode(found.word) ^ found.code) << 1);
}
repair_result with_halves_swapped(coded_word found) noexcept {
    return detail::run_repair<detail::repair_rules{}>(found, std::rotl(encode(found.word) ^ found.code, 32));
}
repair_result only_in_the_code(coded_word found) noexcept {
    return {repair_outcome::repaired, {found.word, encode(found.word)}, {0, encode(found.word) ^ found.code}, 0};
}

TEST(Repair, ADecoderOfAnotherSyndromeBreaksALaw) {
    EXPECT_NE(broken_law(with_code_shifted), "");
    EXPECT_NE(broken_law(with_halves_swapped), "");
    EXPECT_NE(broken_law(only_in_the_code), "");
}

TEST(Repair, WhatIsIntactStaysAsItIs) {
    workload::random numbers(7);
    for (int i = 0; i < 1000; ++i) {
        const coded_word valid = random_valid(numbers);
        const repair_result made = repair(valid);
        ASSERT_EQ(made.outcome, repair_outcome::intact);
        ASSERT_TRUE(made);
        ASSERT_EQ(made.right, valid);
        ASSERT_EQ(made.flips(), 0u);
    }
}

// The code is linear: the syndrome, which is all that the decoder looks at, is that of the flips alone. So whatever
// holds for every pattern on one word holds on all words.
TEST(Repair, TheSyndromeIsThatOfTheFlipsWhateverTheWordIs) {
    workload::random numbers(8);
    for (int i = 0; i < 10000; ++i) {
        const coded_word pattern = random_pattern(1 + static_cast<unsigned>(numbers.below(20)), numbers);
        const repair_result on_zero = repair(pattern);
        const repair_result on_word = repair(flipped_by(random_valid(numbers), pattern));
        ASSERT_EQ(on_zero.syndrome, encode(pattern.word) ^ pattern.code);
        ASSERT_EQ(on_word.syndrome, on_zero.syndrome);
        ASSERT_EQ(on_word.outcome, on_zero.outcome);
        ASSERT_EQ(on_word.flipped, on_zero.flipped);
        ASSERT_LE(on_word.flips(), most_repaired_flips);
    }
}

TEST(Repair, EveryPatternOf1And2FlipsIsPutRightOnSeveralWordsAndOf3OnOne) {
    workload::random numbers(9);
    for (const std::uint64_t word : {std::uint64_t{0}, ~std::uint64_t{0}, numbers.next(), numbers.next()}) {
        const coded_word valid{word, encode(word)};
        for (unsigned bits = 1; bits <= (word == 0 ? 3u : 2u); ++bits) {
            std::uint64_t patterns = 0, right = 0;
            for_each_pattern(bits, [&](coded_word pattern) {
                const repair_result made = repair(flipped_by(valid, pattern));
                right += made.outcome == repair_outcome::repaired && made.right == valid && made.flipped == pattern;
                ++patterns;
            });
            EXPECT_EQ(patterns, bits == 1 ? 128u : bits == 2 ? 8128u : 341376u);
            EXPECT_EQ(right, patterns) << bits << " flips of " << word;
        }
    }
}

TEST(Repair, FromEightToThirteenFlipsNothingLooksIntact) {
    workload::random numbers(10);
    for (unsigned bits = 8; bits <= always_detected_flips; ++bits)
        for (int i = 0; i < patterns_of_a_size; ++i)
            ASSERT_NE(repair(flipped_by(random_valid(numbers), random_pattern(bits, numbers))).outcome,
                      repair_outcome::intact);
}

TEST(Repair, ARefusalNamesItsReasonAndLeavesWhatWasFound) {
    const coded_word half = half_of(some_lightest().front());
    const repair_result made = repair(half);
    EXPECT_EQ(made.outcome, repair_outcome::ambiguous);
    EXPECT_FALSE(made);
    EXPECT_EQ(made.right, half);
    EXPECT_EQ(made.flips(), 0u);
    workload::random numbers(11);
    const coded_word far = random_pattern(20, numbers);
    EXPECT_EQ(repair(far).outcome, repair_outcome::beyond_repair);
    EXPECT_EQ(repair(far).right, far);
    EXPECT_EQ(name_of(repair_outcome::intact), "intact");
    EXPECT_EQ(name_of(repair_outcome::repaired), "repaired");
    EXPECT_EQ(name_of(repair_outcome::ambiguous), "ambiguous");
    EXPECT_EQ(name_of(repair_outcome::beyond_repair), "beyond_repair");
}

TEST(Repair, EightFlipsMayBeTakenForSix) {
    const coded_word lightest = some_lightest().front();
    coded_word six;
    for (unsigned bit = 0; weight_of(six) < 6; ++bit) {
        const coded_word one = pattern_of_bit(bit);
        if ((lightest.word & one.word) != 0 || (lightest.code & one.code) != 0) six = flipped_by(six, one);
    }
    const repair_result made = repair(flipped_by(lightest, six));
    EXPECT_EQ(made.outcome, repair_outcome::repaired);
    EXPECT_EQ(made.right, lightest) << "and not zeros, which were there";
}

TEST(Repair, LooksAtABoundedNumberOfPatterns) {
    workload::random numbers(12);
    std::uint64_t most = 0;
    const auto look_at = [&](std::uint64_t syndrome) {
        detail::repair_search<detail::repair_rules{.counts = true}> search(syndrome);
        search.run();
        most = std::max(most, search.candidates());
        ASSERT_LE(search.candidates(), detail::most_candidates) << syndrome;
    };
    for (int i = 0; i < patterns_of_a_size / 40; ++i) {
        look_at(numbers.next() | 1);
        // Few places to begin with leave most to try.
        const std::uint64_t same = numbers.next() & 0xFFFFFFFF;
        for (const std::uint64_t places : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{7}})
            look_at(same << 32 | (same ^ places << numbers.below(29)));
    }
    EXPECT_GT(most, detail::most_candidates * 9 / 10) << "the bound is not far away";
    EXPECT_EQ(detail::most_candidates, 43745u + 21889u + 2081u + 1057u + 65u + 33u + 2u);
}

TEST(Repair, TheInverseLeadsFromACodeToItsTwoWords) {
    const auto& map = detail::word_map_to_code;
    EXPECT_EQ(map.rank, 63u);
    EXPECT_NE(map.kernel, 0u);
    EXPECT_EQ(encode(map.kernel), 0u);
    EXPECT_EQ(map.kernel >> 32, map.kernel & 0xFFFFFFFF) << "A = B";
    for (unsigned bit = 0; bit < 64; ++bit) {
        EXPECT_EQ(map.image[bit], encode(std::uint64_t{1} << bit));
        EXPECT_EQ(std::popcount(map.image[bit] >> 32) % 2, 0) << "C has an even number of bits";
        const std::uint64_t odd_one = bit >= 32 ? std::uint64_t{1} << detail::lowest_of_c : 0;
        EXPECT_EQ(encode(map.preimage[bit]), std::uint64_t{1} << bit ^ odd_one);
    }
}

}  // namespace
}  // namespace holdfast::ecc
