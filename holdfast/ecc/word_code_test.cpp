#include <holdfast/ecc/word_code.hpp>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/checksum_run.hpp>
#include <holdfast/ecc/linear.hpp>
#include <holdfast/ecc/test_patterns.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::ecc {
namespace {

using code_function = std::uint64_t (*)(std::uint64_t);

std::uint64_t encode_inline(std::uint64_t word) { return encode(word); }

std::uint32_t upper(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }
std::uint32_t lower(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// From the room below, which knows CRC32C by its published values.
std::uint32_t checksum_of_bytes(std::uint64_t word) { return holdfast::crc32c(&word, sizeof word, 0); }

/// The weight of the lightest word of the code with 1 to 3 bits in W.
unsigned lightest_with_few_bits(code_function code) {
    unsigned lightest = 128;
    for (unsigned i = 0; i < 64; ++i) {
        for (unsigned j = i; j < 64; ++j) {
            for (unsigned k = j; k < 64; ++k) {
                const std::uint64_t word = std::uint64_t{1} << i | std::uint64_t{1} << j | std::uint64_t{1} << k;
                lightest = std::min(lightest, weight_of({word, code(word) ^ code(0)}));
            }
        }
    }
    return lightest;
}

/// The name of the first law that does not hold for this code; empty if all do.
std::string broken_law(code_function code) {
    workload::random numbers(1);
    if (code(0) != 0) return "zeros are valid";
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t a = numbers.next(), b = numbers.next();
        if (code(a ^ b) != (code(a) ^ code(b))) return "linear";
        if (lower(code(a)) != checksum_of_bytes(a)) return "D is the checksum";
        if (upper(code(a)) != (upper(a) ^ lower(a) ^ lower(code(a)))) return "C is A ^ B ^ D";
    }
    return lightest_with_few_bits(code) < 14 ? "distance 14" : "";
}

TEST(WordCode, IsLinearWithZerosValidAndDAndCWhereTheyBelong) {
    EXPECT_EQ(broken_law(encode_inline), "");
    EXPECT_EQ(broken_law(detail::encode_by_definition), "");
}

std::uint64_t begun_with_ones(std::uint64_t word) {
    return detail::code_from(word, holdfast::crc32c(&word, sizeof word, ~0u));
}
std::uint64_t inverted(std::uint64_t word) { return detail::code_from(word, ~checksum_of_bytes(word)); }
std::uint64_t halves_swapped(std::uint64_t word) { return std::rotl(encode(word), 32); }
std::uint64_t shifted(std::uint64_t word) { return encode(word) << 1; }
std::uint64_t without_d_in_c(std::uint64_t word) {
    const std::uint32_t checksum = checksum_of_bytes(word);
    return std::uint64_t{upper(word) ^ lower(word)} << 32 | checksum;
}
std::uint64_t bytes_in_reverse(std::uint64_t word) {
    return detail::code_from(word, checksum_of_bytes(__builtin_bswap64(word)));
}
std::uint64_t only_a_checksum(std::uint64_t word) { return checksum_of_bytes(word); }

TEST(WordCode, AnotherCodeInItsPlaceBreaksALaw) {
    EXPECT_EQ(broken_law(begun_with_ones), "zeros are valid");
    EXPECT_EQ(broken_law(inverted), "zeros are valid");
    EXPECT_EQ(broken_law(halves_swapped), "D is the checksum");
    EXPECT_EQ(broken_law(shifted), "D is the checksum");
    EXPECT_EQ(broken_law(bytes_in_reverse), "D is the checksum");
    EXPECT_EQ(broken_law(without_d_in_c), "C is A ^ B ^ D");
    EXPECT_EQ(broken_law(only_a_checksum), "C is A ^ B ^ D");
    EXPECT_LT(lightest_with_few_bits(without_d_in_c), 14u) << "what D is good for in C";
}

TEST(WordCode, IsTheSameInlineByCallByInstructionAndByTable) {
    workload::random numbers(2);
    const auto compare = [](std::uint64_t word) {
        const std::uint32_t expected = detail::checksum_by_definition(word);
        ASSERT_EQ(expected, checksum_of_bytes(word)) << word;
        ASSERT_EQ(encode(word), detail::code_from(word, expected)) << word;
        ASSERT_EQ(detail::word_checksum(word), expected) << word;
        ASSERT_EQ(detail::word_checksum_portable(word), expected) << word;
        if (holdfast::detail::crc_instruction_available()) {
            ASSERT_EQ(detail::word_checksum_hardware(word), expected) << word;
        }
    };
    for (unsigned bit = 0; bit < 64; ++bit) compare(std::uint64_t{1} << bit);
    for (int i = 0; i < 10000; ++i) compare(numbers.next());
    compare(0);
    compare(~std::uint64_t{0});
}

TEST(WordCode, ARangeIsEncodedWordByWordAndNothingBehindItIsStored) {
    workload::random numbers(3);
    std::vector<std::uint64_t> words(40);
    for (auto& word : words) word = numbers.next();
    using range_function = void (*)(const std::uint64_t*, coded_word*, std::size_t) noexcept;
    std::vector<range_function> forms{&encode, detail::encode_portable};
    if (holdfast::detail::crc_instruction_available()) forms.push_back(detail::encode_hardware);
    for (const range_function form : forms) {
        for (std::size_t count = 0; count < words.size(); ++count) {
            const coded_word untouched{1, 1};
            std::vector<coded_word> coded(words.size(), untouched);
            form(words.data(), coded.data(), count);
            for (std::size_t i = 0; i < words.size(); ++i) {
                const coded_word expected{words[i], detail::encode_by_definition(words[i])};
                ASSERT_EQ(coded[i], i < count ? expected : untouched) << i << " of " << count;
            }
        }
    }
}

TEST(WordCode, TheFirstInvalidWordOfARangeIsFoundWhereverItIs) {
    workload::random numbers(4);
    using range_function = std::size_t (*)(const coded_word*, std::size_t) noexcept;
    std::vector<range_function> forms{&first_invalid, detail::first_invalid_portable};
    if (holdfast::detail::crc_instruction_available()) forms.push_back(detail::first_invalid_hardware);
    for (const range_function form : forms) {
        std::vector<coded_word> coded(19);
        for (auto& each : coded) each = random_valid(numbers);
        for (std::size_t count = 0; count <= coded.size(); ++count) {
            ASSERT_EQ(form(coded.data(), count), count);
            for (std::size_t bad = 0; bad < coded.size(); ++bad) {
                const coded_word pattern = random_pattern(1 + static_cast<unsigned>(bad % 13), numbers);
                coded[bad] = flipped_by(coded[bad], pattern);
                EXPECT_FALSE(is_valid(coded[bad]));
                ASSERT_EQ(form(coded.data(), count), std::min(bad, count)) << bad << " of " << count;
                coded[bad] = flipped_by(coded[bad], pattern);
            }
        }
        coded[3].code ^= 1;
        coded[17].word ^= 1;
        EXPECT_EQ(form(coded.data(), coded.size()), 3u) << "the first of two";
    }
}

TEST(WordCode, AFlippedBitIsSeenWhereverItIs) {
    workload::random numbers(5);
    for (int i = 0; i < 100; ++i) {
        const coded_word valid = random_valid(numbers);
        ASSERT_TRUE(is_valid(valid));
        for (unsigned bit = 0; bit < 128; ++bit) ASSERT_FALSE(is_valid(flipped_by(valid, pattern_of_bit(bit)))) << bit;
    }
    EXPECT_TRUE(is_valid({})) << "memory that nobody has written yet";
}

}  // namespace
}  // namespace holdfast::ecc
