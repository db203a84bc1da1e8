#include <holdfast/log/alias_table.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

namespace holdfast {
namespace {

alias_table::alias found(const alias_table& table, std::uint64_t word) {
    const std::uint64_t hash = alias_table::hash_of(word);
    if ((table.filter_word(hash) & table.filter_bit(hash)) == 0) return {};
    return table.find(word, hash);
}

TEST(AliasTable, HoldsAsManyWordsAsItHasRoomForWhateverTheyAre) {
    for (const std::size_t words : {1u, 2u, 7u, 100u, 1000u}) {
        alias_table table(words);
        std::mt19937_64 random(words);
        std::map<std::uint64_t, std::uint64_t> expected;
        while (expected.size() < words) {
            // Some beside each other, some far apart.
            const std::uint64_t word = expected.size() % 3 == 0 || expected.empty()
                                           ? random() >> 20
                                           : (expected.rbegin()->first + 1) % (std::uint64_t{1} << 44);
            const bool is_new = !expected.contains(word);
            EXPECT_EQ(table.publish(word, word * 3, 0xFF), is_new);
            expected[word] = word * 3;
        }
        for (const auto& [word, value] : expected) {
            ASSERT_EQ(found(table, word).value, value);
            ASSERT_EQ(found(table, word).mask, 0xFF);
        }
        std::size_t listed = 0;
        table.for_each([&](std::uint64_t word, alias_table::alias each) {
            EXPECT_EQ(each.value, expected.at(word));
            ++listed;
        });
        EXPECT_EQ(listed, expected.size());
        EXPECT_EQ(found(table, 5).mask, expected.contains(5) ? 0xFF : 0);
    }
}

TEST(AliasTable, PartsOfAWordComeTogether) {
    alias_table table(10);
    EXPECT_TRUE(table.publish(7, 0x1122334455667788, 0x0F));
    EXPECT_EQ(found(table, 7).mask, 0x0F);
    EXPECT_FALSE(table.publish(7, 0xAABBCCDD00000000, 0xC0));
    EXPECT_EQ(found(table, 7).mask, 0xCF);
    EXPECT_EQ(found(table, 7).value & 0xFFFF0000FFFFFFFF, 0xAABB000055667788);
    EXPECT_FALSE(table.publish(7, 1, 0xFF));
    EXPECT_EQ(found(table, 7).value, 1u);
}

TEST(AliasTable, EmptyingForgetsAllHoweverOftenItIsDone) {
    alias_table table(4);
    // Beyond the number of generations that a key can name.
    for (std::uint64_t round = 0; round < 10'000; ++round) {
        for (std::uint64_t word = 0; word < 4; ++word) ASSERT_EQ(found(table, word * 9).mask, 0) << round;
        for (std::uint64_t word = 0; word < 4; ++word) ASSERT_TRUE(table.publish(word * 9, round, 0xFF)) << round;
        ASSERT_EQ(found(table, 27).value, round);
        table.empty();
    }
}

TEST(AliasTable, WhoLooksMeanwhileFindsTheWordsOwnValueOrNothing) {
    alias_table table(16);
    std::atomic<bool> through{false};
    std::thread reader([&] {
        for (std::uint64_t word = 0; !through; word = (word + 1) % 64) {
            const auto seen = found(table, word);
            ASSERT_EQ(seen.mask == 0xFF ? seen.value % 64 : word, word);
        }
    });
    for (std::uint64_t round = 0; round < 20'000; ++round) {
        for (std::uint64_t i = 0; i < 16; ++i) {
            const std::uint64_t word = (round * 5 + i * 11) % 64;
            table.publish(word, round * 64 + word, 0xFF);
        }
        table.empty();
    }
    through = true;
    reader.join();
}

}  // namespace
}  // namespace holdfast
