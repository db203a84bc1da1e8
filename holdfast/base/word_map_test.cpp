#include <holdfast/base/word_map.hpp>

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace holdfast {
namespace {

TEST(WordMap, HoldsWhatAMapHoldsHoweverOftenItIsEmptied) {
    word_map found;
    std::mt19937_64 random(3);
    for (int round = 0; round < 40; ++round) {
        std::map<std::uint64_t, std::uint32_t> model;
        const std::uint64_t spread = round % 2 == 0 ? 3'000 : std::uint64_t{1} << 45;
        const std::uint64_t count = random() % 4'000;
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t key = random() % spread;
            const auto value = static_cast<std::uint32_t>(random());
            const auto [place, inserted] = found.find_or_insert(key, value);
            const auto [expected, added] = model.emplace(key, value);
            ASSERT_EQ(inserted, added);
            ASSERT_EQ(*place, expected->second);
        }
        ASSERT_EQ(found.size(), model.size());
        for (const auto& [key, value] : model) {
            const std::uint32_t* place = found.find(key);
            ASSERT_NE(place, nullptr);
            ASSERT_EQ(*place, value);
        }
        for (int i = 0; i < 1'000; ++i) {
            const std::uint64_t key = random() % spread;
            ASSERT_EQ(found.find(key) != nullptr, model.contains(key));
        }
        found.clear();
        ASSERT_TRUE(found.empty());
    }
}

TEST(WordMap, NeighboursAndDistantKeysAreAllFound) {
    const auto key_of = [](std::uint64_t i) { return i * (i % 2 == 0 ? 1 : 513); };
    word_table found;
    for (std::uint64_t i = 0; i < 200'000; ++i) found.insert(key_of(i), static_cast<std::uint32_t>(i));
    EXPECT_EQ(found.size(), 200'000u);
    for (std::uint64_t i = 0; i < 200'000; ++i) ASSERT_EQ(*found.find(key_of(i)), i);
    found.release();
}

TEST(WordTable, IsUsableBeforeItHasMemoryAndAfterItGaveItBack) {
    static constinit word_table found;
    EXPECT_EQ(found.find(7), nullptr);
    found.clear();
    found.insert(7, 70);
    EXPECT_EQ(*found.find(7), 70u);
    found.release();
    EXPECT_EQ(found.find(7), nullptr);
    EXPECT_TRUE(found.empty());
}

}  // namespace
}  // namespace holdfast
