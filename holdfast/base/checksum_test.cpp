#include <holdfast/base/checksum.hpp>
#include <holdfast/base/checksum_run.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

namespace holdfast {
namespace {

/// The definition, bit by bit: nothing shared with what is tested.
std::uint32_t by_definition(std::uint32_t crc, const std::uint8_t* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; ++bit) crc = (crc & 1u) != 0 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
    }
    return crc;
}

std::uint32_t word_by_definition(std::uint32_t crc, std::uint64_t word) {
    std::array<std::uint8_t, 8> bytes;
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(word >> (8 * i));
    return by_definition(crc, bytes.data(), bytes.size());
}

/// Word i runs through stream i mod 4; the result is the CRC32C of the registers' two pairs, each
/// multiplied by its constant.
std::uint32_t interleaved_by_definition(const std::vector<std::uint64_t>& words, std::uint32_t seed) {
    std::array<std::uint32_t, 4> streams{seed, seed, seed, seed};
    for (std::size_t i = 0; i < words.size(); ++i) streams[i % 4] = word_by_definition(streams[i % 4], words[i]);
    const std::uint64_t first = (streams[0] | std::uint64_t{streams[1]} << 32) * 0x9E3779B97F4A7C15u;
    const std::uint64_t second = (streams[2] | std::uint64_t{streams[3]} << 32) * 0xD6E8FEB86659FD93u;
    return word_by_definition(word_by_definition(0, first), second);
}

std::uint32_t standard(const void* bytes, std::size_t size) { return ~crc32c(bytes, size, ~0u); }

TEST(Checksum, GivesThePublishedValues) {
    EXPECT_EQ(standard("123456789", 9), 0xE3069283u);
    EXPECT_EQ(standard("", 0), 0u);
    EXPECT_EQ(standard("a", 1), 0xC1D04330u);
    std::array<std::uint8_t, 32> bytes{};  // the vectors of RFC 3720, B.4
    EXPECT_EQ(standard(bytes.data(), 32), 0x8A9136AAu);
    bytes.fill(0xFF);
    EXPECT_EQ(standard(bytes.data(), 32), 0x62A8AB43u);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
    EXPECT_EQ(standard(bytes.data(), 32), 0x46DD794Eu);
    std::iota(bytes.rbegin(), bytes.rend(), std::uint8_t{0});
    EXPECT_EQ(standard(bytes.data(), 32), 0x113FDB5Cu);
}

TEST(Checksum, IsTheSameByInstructionAndByTableAtEveryLengthAndAlignment) {
    std::mt19937_64 random(1);
    std::vector<std::uint8_t> bytes(300);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    for (std::size_t start = 0; start < 9; ++start) {
        for (std::size_t size = 0; start + size <= bytes.size(); ++size) {
            const auto seed = static_cast<std::uint32_t>(random());
            const auto expected = by_definition(seed, bytes.data() + start, size);
            ASSERT_EQ(crc32c(bytes.data() + start, size, seed), expected);
            ASSERT_EQ(detail::crc32c_portable(bytes.data() + start, size, seed), expected);
            if (detail::crc_instruction_available()) {
                ASSERT_EQ(detail::crc32c_hardware(bytes.data() + start, size, seed), expected);
            }
        }
    }
}

TEST(Checksum, MayBeContinuedAnywhere) {
    constexpr std::string_view text = "a record that is longer than one word";
    const auto whole = crc32c(text.data(), text.size(), 7);
    for (std::size_t cut = 0; cut <= text.size(); ++cut)
        EXPECT_EQ(crc32c(text.data() + cut, text.size() - cut, crc32c(text.data(), cut, 7)), whole);
}

TEST(Checksum, TheInterleavedFormIsItsDefinitionByInstructionAndByTable) {
    std::mt19937_64 random(2);
    std::vector<std::uint64_t> words;
    for (std::size_t count = 0; count < 70; ++count) {
        const auto seed = static_cast<std::uint32_t>(random());
        const auto expected = interleaved_by_definition(words, seed);
        ASSERT_EQ(interleaved_crc32c(words.data(), count, seed), expected) << count;
        ASSERT_EQ(detail::interleaved_crc32c_portable(words.data(), count, seed), expected) << count;
        if (detail::crc_instruction_available()) {
            ASSERT_EQ(detail::interleaved_crc32c_hardware(words.data(), count, seed), expected) << count;
        }
        words.push_back(random());
    }
}

TEST(Checksum, TheInterleavedFormSeesEveryFlippedBitAndEverySwap) {
    std::mt19937_64 random(3);
    std::vector<std::uint64_t> words(13);
    for (auto& word : words) word = random();
    const auto seed = static_cast<std::uint32_t>(random());
    const auto whole = interleaved_crc32c(words.data(), words.size(), seed);
    for (auto& word : words) {
        for (int bit = 0; bit < 64; ++bit) {
            word ^= std::uint64_t{1} << bit;
            ASSERT_NE(interleaved_crc32c(words.data(), words.size(), seed), whole);
            word ^= std::uint64_t{1} << bit;
        }
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
        std::swap(words[0], words[i]);
        ASSERT_NE(interleaved_crc32c(words.data(), words.size(), seed), whole) << i;
        std::swap(words[0], words[i]);
    }
    for (std::uint32_t bit = 0; bit < 32; ++bit)
        ASSERT_NE(interleaved_crc32c(words.data(), words.size(), seed ^ 1u << bit), whole) << "the salt counts";
}

TEST(Checksum, TheInterleavedFormSeesEveryTearOfEqualWords) {
    // What a text, a bitmap or cleared memory looks like, over zeros: any words may be missing.
    constexpr std::size_t count = 16;
    for (const std::uint64_t pattern : {std::uint64_t{0x7474747474747474}, std::uint64_t{1}, ~std::uint64_t{0}}) {
        std::vector<std::uint64_t> words(count, pattern);
        const auto whole = interleaved_crc32c(words.data(), count, 12345);
        for (std::uint32_t there = 0; there + 1 < 1u << count; ++there) {
            for (std::size_t i = 0; i < count; ++i) words[i] = (there >> i & 1u) != 0 ? pattern : 0;
            ASSERT_NE(interleaved_crc32c(words.data(), count, 12345), whole) << std::hex << pattern << " " << there;
        }
    }
}

}  // namespace
}  // namespace holdfast
