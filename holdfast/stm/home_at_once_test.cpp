// Stores that go home before the commit: of large write sets, and of a thread that has always been alone.
#include <holdfast/stm/stm_test_support.hpp>

#include <cstring>
#include <random>
#include <vector>

namespace holdfast::stm {
namespace {

using namespace holdfast::stm::test;

constexpr std::size_t many = 300;

// First in this program: no other thread has had a transaction yet.
template <class A>
class StmOneThread : public testing::Test {};
TYPED_TEST_SUITE(StmOneThread, algorithms, algorithm_names);

TYPED_TEST(StmOneThread, StoresHomeAtOnceAndIsRolledBack) {
    line data;
    data.words[1] = 7;
    TypeParam& open = TypeParam::of_this_thread();
    open.begin({.restart = unexpected_restart});
    open.store(&data.words[0], 1, 0xFF);
    EXPECT_EQ(data.words[0], 1u);
    EXPECT_EQ(open.load_for_write(&data.words[1]), 7u);
    open.store_after_write(&data.words[1], ~word{0}, 0x0F);
    open.store(&data.words[0], 2, 0xFF);
    EXPECT_EQ(open.load(&data.words[0]), 2u);
    open.roll_back();
    EXPECT_EQ(data.words[0], 0u);
    EXPECT_EQ(data.words[1], 7u);
    must_commit<TypeParam>([&] { open.store(&data.words[0], 3, 0xFF); });
    EXPECT_EQ(data.words[0], 3u);
}

template <class A>
class StmOnlyThread : public testing::Test {};
TYPED_TEST_SUITE(StmOnlyThread, algorithms, algorithm_names);

// What it has read is not kept: a commit of the first other thread restarts it, and from then on it is kept.
TYPED_TEST(StmOnlyThread, FindsThatTheFirstOtherOneHasStoredToWhatItRead) {
    line data[2];
    int attempts = 0;
    companions<TypeParam> others;
    TypeParam& open = TypeParam::of_this_thread();
    // The thread's first transaction gives it its slot.
    must_commit<TypeParam>([] {});
    atomically<TypeParam>([&] {
        const word first = open.load(&data[0].words[0]);
        if (++attempts == 1) others.store(&data[0].words[0], &data[0].words[1], 5);
        open.store(&data[1].words[0], first + 1, 0xFF);
    });
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(data[1].words[0], 6u);
}

template <class A>
class StmHomeAtOnce : public not_the_only_thread<A> {
protected:
    static void SetUpTestSuite() {
        let_another_thread_begin<A>();
        // Where the log has no memory yet it asks when that is full.
        line warm;
        must_commit<A>([&] { A::of_this_thread().store(&warm.words[0], 1, 0xFF); });
    }
    static void store_many(std::vector<word>& homes, word what) {
        for (word& each : homes) A::of_this_thread().store(&each, what, 0xFF);
    }
};
TYPED_TEST_SUITE(StmHomeAtOnce, algorithms, algorithm_names);

TYPED_TEST(StmHomeAtOnce, ALargeWriteSetIsHomeBeforeItsCommitAndStaysThere) {
    std::vector<word> homes(many);
    TypeParam& open = TypeParam::of_this_thread();
    must_commit<TypeParam>([&] {
        this->store_many(homes, 5);
        EXPECT_EQ(homes, std::vector<word>(many, 5));
        for (const word& each : homes) ASSERT_EQ(open.load(&each), 5u);
        std::vector<word> copy(many);
        open.read_range(copy.data(), homes.data(), many * sizeof(word));
        EXPECT_EQ(copy, homes);
        open.fill_range(&homes[10], 0, 20);
    });
    EXPECT_EQ(homes[9], 5u);
    EXPECT_EQ(homes[11], 0u);
    EXPECT_EQ(homes[12], word{5} >> 32 << 32);
}

TYPED_TEST(StmHomeAtOnce, RollingBackALargeWriteSetBringsBackEveryByteOfIt) {
    TypeParam& open = TypeParam::of_this_thread();
    std::mt19937_64 random(9);
    for (int round = 0; round < 50; ++round) {
        std::vector<word> homes(many);
        for (word& each : homes) each = random();
        std::vector<word> expected = homes;
        open.begin({.restart = unexpected_restart});
        for (std::size_t i = 0; i < many; ++i) open.store(&homes[i], random(), i % 3 == 0 ? 0x0F : 0xFF);
        for (int i = 0; i < 500; ++i) {
            const auto mask = static_cast<std::uint8_t>(1 + random() % 255);
            open.store(&homes[3 * (random() % (many / 3)) + 1], random(), mask);
        }
        unsigned char bytes[100];
        std::memset(bytes, 0x5A, sizeof bytes);
        open.write_range(reinterpret_cast<unsigned char*>(&homes[7]) + 3, bytes, sizeof bytes);
        // Bytes that the transaction does not store to belong to somebody else.
        reinterpret_cast<unsigned char*>(&homes[120])[6] = 0xEE;
        reinterpret_cast<unsigned char*>(&expected[120])[6] = 0xEE;
        open.roll_back();
        ASSERT_EQ(homes, expected);
    }
}

TYPED_TEST(StmHomeAtOnce, ALargeWriteSetWaitsForItsCommitWhileAnotherThreadIsInATransaction) {
    std::vector<word> homes(many);
    std::atomic<bool> is_open = false;
    std::atomic<bool> may_end = false;
    std::thread other([&] {
        must_commit<TypeParam>([&] {
            EXPECT_EQ(TypeParam::of_this_thread().load(&homes[0]), 0u);
            is_open = true;
            while (!may_end) std::this_thread::yield();
        });
    });
    while (!is_open) std::this_thread::yield();
    must_commit<TypeParam>([&] {
        this->store_many(homes, 5);
        EXPECT_EQ(homes, std::vector<word>(many, 0));
        may_end = true;
    });
    other.join();
    EXPECT_EQ(homes, std::vector<word>(many, 5));
}

TYPED_TEST(StmHomeAtOnce, WhoBeginsMeanwhileSeesWhatCameOfIt) {
    for (const bool commits : {true, false}) {
        std::vector<word> homes(many);
        static std::atomic<int> steps;
        steps = 0;
        TypeParam& open = TypeParam::of_this_thread();
        open.begin({.restart = unexpected_restart});
        this->store_many(homes, 5);
        between = []() noexcept { return ++steps < 0; };
        word first = 9, last = 9;
        std::thread other([&] {
            atomically<TypeParam>([&] {
                first = TypeParam::of_this_thread().load(&homes.front());
                last = TypeParam::of_this_thread().load(&homes.back());
            });
        });
        while (steps < 100) std::this_thread::yield();
        if (commits)
            EXPECT_TRUE(open.commit());
        else
            open.roll_back();
        other.join();
        between = nullptr;
        EXPECT_EQ(first, commits ? 5u : 0u);
        EXPECT_EQ(last, first);
    }
}

TYPED_TEST(StmHomeAtOnce, WhatIsHomeStaysThereWhenTheTransactionBecomesIrrevocable) {
    std::vector<word> homes(many);
    TypeParam& open = TypeParam::of_this_thread();
    open.begin({.restart = unexpected_restart});
    this->store_many(homes, 5);
    ASSERT_TRUE(open.become_irrevocable());
    open.store(&homes[0], 6, 0xFF);
    EXPECT_TRUE(open.commit());
    EXPECT_EQ(homes[0], 6u);
    EXPECT_EQ(homes[many - 1], 5u);
    open.begin({.restart = unexpected_restart});
    open.store(&homes[0], 7, 0xFF);
    open.roll_back();
    EXPECT_EQ(homes[0], 6u) << "nothing is left of the transaction before";
}

TYPED_TEST(StmHomeAtOnce, ARunOfWordsIsReadAsOneState) {
    const write_sets_are_large_from never(1000);
    line data[8];
    line other[2];
    line copy[8];
    int attempts = 0;
    companions<TypeParam> others;
    TypeParam& open = TypeParam::of_this_thread();
    atomically<TypeParam>([&] {
        open.store(&data[7].words[7], 3, 0xFF);
        open.read_range(&copy, &data, sizeof(line) * 7);
        EXPECT_EQ(open.load(&other[1].words[0]), 0u);
        if (++attempts == 1) others.store(&other[0].words[0], &data[2].words[6], 5);
        EXPECT_EQ(open.load(&other[0].words[0]), copy[2].words[6]);
        open.read_range(&copy, &data, sizeof data);
        EXPECT_EQ(copy[7].words[7], 3u) << "its own store";
    });
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(copy[2].words[6], 5u);
}

TYPED_TEST(StmHomeAtOnce, ACopyIntoAFreshBlockIsWhatTheTransactionSees) {
    std::vector<word> source(512);
    std::vector<word> block(512);
    TypeParam& open = TypeParam::of_this_thread();
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = i;
    open.begin({.restart = unexpected_restart});
    open.store(&source[100], 1'000, 0xFF);
    open.note_allocated(block.data(), block.size() * sizeof(word), 8, [](void*, std::size_t, std::size_t) {});
    open.copy_range(block.data(), source.data(), block.size() * sizeof(word));
    EXPECT_EQ(block[100], 1'000u);
    EXPECT_EQ(block[99], 99u);
    EXPECT_EQ(block[511], 511u);
    open.store(&block[5], 7, 0xFF);
    EXPECT_EQ(open.load(&block[5]), 7u);
    // Onto itself, one word further.
    open.copy_range(&block[1], &block[0], 300 * sizeof(word));
    EXPECT_EQ(block[1], 0u);
    EXPECT_EQ(block[6], 7u);
    EXPECT_EQ(block[300], 299u);
    EXPECT_TRUE(open.commit());
    EXPECT_EQ(source[100], 1'000u);
}

}  // namespace
}  // namespace holdfast::stm
