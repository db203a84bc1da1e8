#include <crash/cut/lazy_memory.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>

namespace holdfast::crash {
namespace {

const model& x86 = *model_named("x86");

/// Memory of four lines after some stores that nothing made durable.
class LazyMemory : public ::testing::Test {
protected:
    void store(std::uint64_t word, std::uint64_t value) { left_.apply({event_kind::store, {}, word, value}); }
    std::uint64_t read(std::uint64_t word, std::size_t size = 8) {
        lazy_.read(bytes_ + word * 8, size);
        std::uint64_t value = 0;
        std::memcpy(&value, bytes_ + word * 8, size);
        return value;
    }
    void write(std::uint64_t word, std::uint64_t value) {
        lazy_.write(bytes_ + word * 8, 8);
        std::memcpy(bytes_ + word * 8, &value, 8);
    }
    /// Runs f until no choice is left; returns how many runs that took.
    std::size_t run_all(const std::function<void()>& f) {
        lazy_.settle(left_);
        choices next;
        std::size_t runs = 0;
        for (bool more = true; more; ++runs) {
            lazy_.begin(next);
            f();
            hashes_.insert(lazy_.image_hash());
            more = lazy_.next(next);
            lazy_.end();
        }
        return runs;
    }

    alignas(64) std::byte bytes_[256] = {};
    lazy_memory lazy_{bytes_};
    medium left_{x86, std::vector<std::uint64_t>(32)};
    std::set<std::uint64_t> hashes_;
};

TEST_F(LazyMemory, WhatNobodyReadsCostsOneRun) {
    for (std::uint64_t word = 0; word < 32; ++word) store(word, word + 1);
    EXPECT_EQ(run_all([] {}), 1u);
    EXPECT_EQ(hashes_.size(), 1u);
}

TEST_F(LazyMemory, AReadMeetsEveryContentOnce) {
    store(0, 1);
    store(1, 2);
    std::multiset<std::pair<std::uint64_t, std::uint64_t>> seen;
    EXPECT_EQ(run_all([&] {
        const std::uint64_t first = read(0);
        seen.emplace(first, read(1));
        EXPECT_EQ(read(0), first) << "what was read stays";
    }), 3u);
    EXPECT_EQ(seen, (std::multiset<std::pair<std::uint64_t, std::uint64_t>>{{0, 0}, {1, 0}, {1, 2}}));
    EXPECT_EQ(hashes_.size(), 3u);
}

TEST_F(LazyMemory, ContentsThatAgreeOnWhatIsReadAreNotToldApart) {
    store(0, 1);
    store(1, 2);
    store(2, 3);
    EXPECT_EQ(run_all([&] { read(2); }), 2u);
    EXPECT_EQ(run_all([&] { read(0, 4); }), 2u) << "only the bytes that are read count";
    EXPECT_EQ(run_all([&] { read(5); }), 1u);
}

TEST_F(LazyMemory, WhatARunStoresIsCertainAndGoneAfterIt) {
    store(0, 1);
    store(1, 2);
    std::multiset<std::uint64_t> seen;
    EXPECT_EQ(run_all([&] {
        write(0, 77);
        EXPECT_EQ(read(0), 77u);
        seen.insert(read(1));
        EXPECT_EQ(read(0), 77u) << "a line that takes shape later leaves what was stored";
    }), 2u);
    EXPECT_EQ(seen, (std::multiset<std::uint64_t>{0, 2}));
    std::uint64_t now = 1;
    std::memcpy(&now, bytes_, sizeof now);
    EXPECT_EQ(now, 0u);
}

TEST_F(LazyMemory, IndependentLinesMultiply) {
    store(0, 1);
    store(8, 2);
    store(16, 3);
    EXPECT_EQ(run_all([&] {
        read(0);
        read(8);
        read(16);
    }), 8u);
    EXPECT_EQ(hashes_.size(), 8u);
    EXPECT_EQ(run_all([&] {
        if (read(0) == 1) read(8);
    }), 3u) << "the second only where it is read";
}

TEST_F(LazyMemory, ADrawnRunReadsOneOfThePossibleContents) {
    store(0, 1);
    store(0, 2);
    lazy_.settle(left_);
    std::mt19937_64 random(1);
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 50; ++i) {
        lazy_.begin(random);
        seen.insert(read(0));
        lazy_.end();
    }
    EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace holdfast::crash
