// The write set against a model of bytes: words, parts of words and runs, in any order and over each other.
#include <holdfast/engine/write_set.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace holdfast {
namespace {

/// A small memory, what a transaction makes of it, and what it should make of it.
class written {
public:
    explicit written(std::size_t words) : home_(words), wanted_(words) {
        for (std::size_t i = 0; i < words; ++i) home_[i] = wanted_[i] = 0x1111111111111111u * (i % 15 + 1);
    }

    void store(std::size_t word, std::uint64_t value, std::uint8_t mask) {
        set_.store(word * 8, value, mask);
        wanted_[word] = merged(wanted_[word], value, mask);
    }
    void store_run(std::size_t word, const std::vector<std::uint64_t>& values) {
        set_.store_run(word * 8, values.data(), values.size());
        std::copy(values.begin(), values.end(), wanted_.begin() + static_cast<std::ptrdiff_t>(word));
    }
    std::uint64_t load(std::size_t word) {
        return set_.load(word * 8, [&] { return home_[word]; });
    }
    /// Loads each word, and again after the homes are stored.
    void expect_right() {
        std::size_t word = 0;
        while (word < home_.size() && load(word) == wanted_[word]) ++word;
        ASSERT_EQ(word, home_.size()) << "the first word that is wrong";
        set_.apply(reinterpret_cast<std::byte*>(home_.data()), {});
        set_.clear();
        ASSERT_EQ(home_, wanted_);
        ASSERT_TRUE(set_.empty());
    }
    void begin_part() {
        set_.begin_part();
        before_part_ = wanted_;
    }
    void roll_back_part() {
        set_.roll_back_part();
        wanted_ = before_part_;
    }
    write_set& set() noexcept { return set_; }

private:
    write_set set_;
    std::vector<std::uint64_t> home_;
    std::vector<std::uint64_t> wanted_;
    std::vector<std::uint64_t> before_part_;
};

std::vector<std::uint64_t> numbers(std::size_t count, std::uint64_t first) {
    std::vector<std::uint64_t> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = first + i;
    return all;
}

TEST(WriteSet, AStoreBehindARunIsFoundInIt) {
    written memory(64);
    memory.store_run(8, numbers(16, 100));
    memory.store(9, 7, 0xFF);
    memory.store(10, 0xAB, 0x01);
    memory.store(24, 8, 0xFF);
    EXPECT_EQ(memory.set().payload_words(), 1 + 16 + 1u) << "stores into the run take no room, the word behind it one";
    memory.expect_right();
}

TEST(WriteSet, ARunIsNewerThanTheWordsThatItCovers) {
    written memory(64);
    memory.store(9, 7, 0xFF);
    memory.store(11, 0xAB, 0x01);
    memory.store_run(8, numbers(16, 100));
    memory.store(11, 0xCD, 0x02);
    memory.expect_right();
}

TEST(WriteSet, ARunInsideARunTakesNoRoom) {
    written memory(64);
    memory.store_run(8, numbers(32, 100));
    memory.store_run(12, numbers(8, 900));
    EXPECT_EQ(memory.set().payload_words(), 1 + 32u);
    memory.expect_right();
}

TEST(WriteSet, RunsThatFollowEachOtherAreOneEntry) {
    written memory(64);
    memory.store_run(8, numbers(8, 100));
    memory.store_run(16, numbers(8, 200));
    memory.store(24, 5, 0xFF);
    memory.store_run(25, numbers(8, 300));
    EXPECT_EQ(memory.set().payload_words(), 1 + 25u);
    memory.expect_right();
}

TEST(WriteSet, RunsLongerThanAnEntryAndMoreThanItRemembersAreRight) {
    written memory(200'000);
    memory.store_run(3, numbers(100'000, 1));
    for (std::size_t i = 0; i < 100; ++i) memory.store_run(100'100 + i * 20, numbers(10, 1000 * i));
    memory.store_run(100'105, numbers(40, 5));
    memory.expect_right();
}

TEST(WriteSet, ARunLongerThanAllThatItRemembersIsOverwrittenWhereItStands) {
    constexpr std::size_t most_words = 16 * 0x7FFF;
    written memory(most_words + 8);
    // Twice: the second time no memory is missing.
    for (std::uint64_t round = 0; round < 2; ++round) {
        memory.store_run(0, numbers(most_words + 8, round));
        memory.store(3, 1234, 0xFF);
        EXPECT_EQ(memory.load(3), 1234u);
        memory.store_run(0, numbers(4, 50));
        EXPECT_EQ(memory.load(3), 53u);
        memory.expect_right();
    }
}

TEST(WriteSet, APartThatIsTakenBackLeavesTheRunsOfThePartBefore) {
    written memory(64);
    memory.begin_part();
    memory.store_run(8, numbers(16, 100));
    memory.store(40, 1, 0xFF);
    memory.begin_part();
    memory.store(9, 7, 0xFF);
    memory.store(10, 0xAB, 0x01);
    memory.store_run(12, numbers(6, 900));
    memory.store_run(20, numbers(22, 500));
    memory.roll_back_part();
    EXPECT_EQ(memory.load(9), 101u);
    memory.store(9, 8, 0xFF);
    memory.store(41, 2, 0xFF);
    memory.expect_right();
}

TEST(WriteSet, AnyOrderOfStoresGivesTheBytesOfAModel) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        const std::size_t words = 40 + random() % 400;
        written memory(words);
        for (unsigned transaction = 0; transaction < 3; ++transaction) {
            const unsigned stores = static_cast<unsigned>(random() % 120);
            memory.begin_part();
            for (unsigned i = 0; i < stores; ++i) {
                if (random() % 16 == 0) {
                    if (random() % 2 == 0) memory.roll_back_part();
                    memory.begin_part();
                }
                const std::size_t at = random() % words;
                const auto mask = static_cast<std::uint8_t>(random() % 255 + 1);
                switch (random() % 4) {
                    case 0: memory.store(at, random(), 0xFF); break;
                    case 1: memory.store(at, random(), mask); break;
                    default:
                        memory.store_run(at, numbers(random() % std::min<std::size_t>(words - at, 40) + 1, random()));
                }
            }
            ASSERT_NO_FATAL_FAILURE(memory.expect_right());
        }
    }
}

}  // namespace
}  // namespace holdfast
