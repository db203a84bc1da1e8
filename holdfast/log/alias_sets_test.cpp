#include <holdfast/log/alias_sets.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

/// A pool of words, whose homes are stored to at once by `retire`.
class AliasSets : public ::testing::Test {
protected:
    static constexpr std::size_t word_count = 64;

    explicit AliasSets(std::uint64_t sets_of_two = 4)
        : sets(reinterpret_cast<const std::byte*>(homes), sets_of_two * alias_sets::bytes_of_set(2), 2) {}

    std::uint64_t load(std::uint64_t word) const { return sets.load(&homes[word]); }
    bool put(std::uint64_t word, std::uint64_t value, std::uint64_t number, std::uint64_t retired) {
        const alias_sets::place taken = sets.take(word, retired);
        if (taken) sets.put(taken, value, number);
        return static_cast<bool>(taken);
    }
    /// Words of one set.
    std::vector<std::uint64_t> words_beside(std::uint64_t word) const {
        std::vector<std::uint64_t> all;
        for (std::uint64_t each = 0; each < word_count; ++each)
            if (sets.set_of(each) == sets.set_of(word)) all.push_back(each);
        return all;
    }
    void store_home(std::uint64_t word, std::uint64_t value) {
        __atomic_store_n(&homes[word], value, __ATOMIC_RELEASE);
    }

    alignas(64) pool_word homes[word_count] = {};
    alias_sets sets;
};

TEST_F(AliasSets, WhatIsPutIsFoundAndAllElseIsAtHome) {
    homes[4] = 40;
    homes[5] = 50;
    ASSERT_TRUE(put(5, 51, 1, 0));
    EXPECT_EQ(load(4), 40u);
    EXPECT_EQ(load(5), 51u);
    ASSERT_TRUE(put(5, 52, 2, 0)) << "its own entry is there, retired or not";
    EXPECT_EQ(load(5), 52u);
}

TEST_F(AliasSets, AnEntryIsTakenOverOnlyWhenItsNumberIsRetired) {
    const auto words = words_beside(0);
    ASSERT_GE(words.size(), 4u);
    ASSERT_TRUE(put(words[0], 10, 1, 0));
    ASSERT_TRUE(put(words[1], 20, 2, 0));
    EXPECT_FALSE(put(words[2], 30, 3, 0));
    EXPECT_EQ(sets.next_to_retire_beside(words[2], 0), 1u);
    EXPECT_EQ(sets.next_to_retire_beside(words[2], 1), 2u);
    EXPECT_EQ(sets.next_to_retire_beside(words[2], 2), 0u);
    store_home(words[0], 10);
    ASSERT_TRUE(put(words[2], 30, 3, 1));
    EXPECT_EQ(load(words[0]), 10u);
    EXPECT_EQ(load(words[1]), 20u);
    EXPECT_EQ(load(words[2]), 30u);
    EXPECT_FALSE(put(words[3], 40, 4, 1));
}

TEST_F(AliasSets, WhatIsTakenAndNotPutIsAsBefore) {
    const auto words = words_beside(0);
    ASSERT_TRUE(put(words[0], 10, 1, 0));
    const auto own = sets.take(words[0], 0);
    const auto other = sets.take(words[1], 0);
    ASSERT_TRUE(own && other);
    EXPECT_EQ(load(words[0]), 10u);
    EXPECT_EQ(load(words[1]), 0u);
    EXPECT_FALSE(sets.take(words[2], ~std::uint64_t{0})) << "what somebody has taken, whatever is retired";
    sets.give_back(own);
    sets.give_back(other);
    EXPECT_EQ(load(words[0]), 10u);
    EXPECT_EQ(load(words[1]), 0u);
    EXPECT_TRUE(put(words[2], 30, 2, 0));
}

TEST_F(AliasSets, ADroppedWordIsAtHomeAndItsPlaceIsFree) {
    const auto words = words_beside(0);
    ASSERT_TRUE(put(words[0], 10, 8, 0));
    ASSERT_TRUE(put(words[1], 20, 9, 0));
    store_home(words[0], 11);
    sets.drop(words[0]);
    sets.drop(words[3]);
    EXPECT_EQ(load(words[0]), 11u);
    EXPECT_TRUE(put(words[2], 30, 10, 0));
    EXPECT_EQ(load(words[1]), 20u);
}

/// Commits that store to words of their own thread, in a queue that retires them in order.
class AliasSetsOfThreads : public AliasSets {
protected:
    static constexpr unsigned threads = 3;

    void commit(const std::vector<std::uint64_t>& words, std::uint64_t value) {
        std::vector<alias_sets::place> places;
        while (places.size() < words.size()) {
            if (const auto found = sets.take(words[places.size()], retired_.load(std::memory_order_acquire))) {
                places.push_back(found);
                continue;
            }
            for (const auto& each : places) sets.give_back(each);
            places.clear();
            retire();
            std::this_thread::yield();
        }
        const std::uint64_t number = last_.fetch_add(1) + 1;
        for (const auto& each : places) sets.put(each, value, number);
        const std::lock_guard lock(queue_);
        waiting_[number] = {words, value};
    }
    void retire() {
        const std::lock_guard lock(queue_);
        for (auto next = waiting_.begin(); next != waiting_.end() && next->first == retired_.load() + 1;
             next = waiting_.erase(next)) {
            for (const std::uint64_t word : next->second.first) store_home(word, next->second.second);
            retired_.store(next->first, std::memory_order_release);
        }
    }

    std::atomic<std::uint64_t> last_{0}, retired_{0};
    std::mutex queue_;
    std::map<std::uint64_t, std::pair<std::vector<std::uint64_t>, std::uint64_t>> waiting_;
};

TEST_F(AliasSetsOfThreads, NoWordIsEverSeenOlderThanItWasOrWithTheValueOfAnother) {
    constexpr std::uint64_t rounds = 5'000;
    std::atomic<unsigned> at_work{threads};
    std::atomic<unsigned> wrong{0};
    const auto write = [&](unsigned thread) {
        std::mt19937_64 random(thread + 1);
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            // A value says whose word it is of.
            const std::uint64_t word = random() % (word_count / threads) * threads + thread;
            commit({word}, round * word_count + word);
            if (load(word) != round * word_count + word) ++wrong;
        }
        --at_work;
    };
    const auto read = [&] {
        std::array<std::uint64_t, word_count> newest{};
        for (std::uint64_t word = 0; at_work != 0; word = (word + 1) % word_count) {
            const std::uint64_t seen = load(word);
            if (seen < newest[word] || (seen != 0 && seen % word_count != word)) ++wrong;
            newest[word] = seen;
        }
    };
    std::vector<std::thread> running;
    for (unsigned thread = 0; thread < threads; ++thread) running.emplace_back(write, thread);
    running.emplace_back(read);
    for (std::thread& each : running) each.join();
    EXPECT_EQ(wrong, 0u);
    const auto before = [&] {
        std::array<std::uint64_t, word_count> all;
        for (std::uint64_t word = 0; word < word_count; ++word) all[word] = load(word);
        return all;
    }();
    retire();
    for (std::uint64_t word = 0; word < word_count; ++word) {
        EXPECT_EQ(homes[word], before[word]) << word;
        EXPECT_EQ(load(word), before[word]) << word;
    }
}

}  // namespace
}  // namespace holdfast
