// What `rtm` does when the hardware aborts: tries, fallback, subscription, exceptions, blocks. Over the stand-in, which
// aborts as each test says.
#include <holdfast/stm/stm_test_support.hpp>

#include <stdexcept>
#include <vector>

namespace holdfast::htm {
namespace {

using namespace holdfast::stm::test;
using stm::atomically;
using test::stand_in;
using test::stood_in;

class Rtm : public ::testing::Test {
protected:
    void SetUp() override { before_ = open.counts(); }
    void TearDown() override {
        stand_in::plan({});
        stand_in::set({});
    }
    std::uint64_t commits() const { return open.counts().commits - before_.commits; }
    std::uint64_t aborts() const { return open.counts().aborts - before_.aborts; }
    std::uint64_t fallbacks() const { return open.counts().fallbacks - before_.fallbacks; }

    stood_in& open = stood_in::of_this_thread();
    line data;

private:
    rtm_counts before_;
};

TEST_F(Rtm, ATransactionRunsInHardwareWhereItCan) {
    atomically<stood_in>([&] {
        EXPECT_TRUE(open.in_hardware());
        add_one<stood_in>(&data.words[0]);
    });
    EXPECT_EQ(data.words[0], 1u);
    EXPECT_EQ(commits(), 1u);
    EXPECT_EQ(fallbacks(), 0u);
}

TEST_F(Rtm, AStatusWithoutTheRetryBitGoesToTheFallbackAtOnce) {
    for (const unsigned why : {0u, status::capacity, status::conflict}) {
        stand_in::plan({{1, why}, {1, why}});
        int attempts = 0;
        atomically<stood_in>([&] {
            EXPECT_EQ(open.in_hardware(), ++attempts == 1);
            add_one<stood_in>(&data.words[0]);
        });
        EXPECT_EQ(attempts, 2);
        EXPECT_EQ(stand_in::planned(), 1u) << "the second was never begun";
    }
    EXPECT_EQ(data.words[0], 3u);
    EXPECT_EQ(fallbacks(), 3u);
}

TEST_F(Rtm, TriesAreBounded) {
    stand_in::plan({{0, status::retry}, {1, status::retry}, {2, status::retry}, {0, status::retry},
                    {0, status::retry}, {1, status::retry}, {2, status::retry}, {0, status::retry},
                    {0, status::retry}, {1, status::retry}});
    unsigned attempts = 0;
    atomically<stood_in>([&] {
        EXPECT_EQ(open.in_hardware(), ++attempts <= stood_in::most_tries);
        add_one<stood_in>(&data.words[0]);
    });
    EXPECT_EQ(attempts, stood_in::most_tries + 1);
    EXPECT_EQ(stand_in::planned(), 10 - stood_in::most_tries);
    EXPECT_EQ(aborts(), std::uint64_t{stood_in::most_tries});
    EXPECT_EQ(data.words[0], 1u) << "what aborted tries stored never was";
    stand_in::plan({});
    atomically<stood_in>([&] { EXPECT_TRUE(open.in_hardware()) << "the next one is tried again"; });
}

TEST_F(Rtm, AnAbortWithTheRetryBitIsTriedAgainInHardware) {
    stand_in::plan({{2, status::retry | status::conflict}, {0, status::retry}, {stand_in::never, 0}});
    atomically<stood_in>([&] { add_one<stood_in>(&data.words[0]); });
    EXPECT_EQ(data.words[0], 1u);
    EXPECT_EQ(aborts(), 2u);
    EXPECT_EQ(commits(), 1u);
    EXPECT_EQ(fallbacks(), 0u);
}

TEST_F(Rtm, MoreStoresThanTheHardwareTakesAreAMatterOfTheFallback) {
    stand_in::set({.most_stores = 4});
    atomically<stood_in>([&] {
        for (word i = 0; i < 8; ++i) open.store(&data.words[i], i + 1, 0xFF);
    });
    for (word i = 0; i < 8; ++i) EXPECT_EQ(data.words[i], i + 1);
    EXPECT_EQ(fallbacks(), 1u);
    atomically<stood_in>([&] {
        for (word i = 0; i < 4; ++i) open.store(&data.words[i], 0, 0xFF);
    });
    EXPECT_EQ(fallbacks(), 1u) << "four it takes";
}

TEST_F(Rtm, WhereThereIsNoHardwareEverythingRunsInTheFallback) {
    stand_in::set({.available = false});
    for (int i = 0; i < 3; ++i) atomically<stood_in>([&] { add_one<stood_in>(&data.words[0]); });
    EXPECT_EQ(data.words[0], 3u);
    EXPECT_EQ(fallbacks(), 3u);
    EXPECT_EQ(stand_in::begun(), 0u);
}

/// Steps of this thread while others look whether it waits.
std::atomic<int> steps_of_waiting{0};

TEST_F(Rtm, WhoTakesTheFallbackAbortsWhoHasLooked) {
    line other;
    std::atomic<bool> is_held = false;
    std::thread alone;
    steps_of_waiting = 0;
    int attempts = 0;
    atomically<stood_in>([&] {
        const word one = open.load(&data.words[0]);
        if (++attempts == 1) {
            alone = std::thread([&] {
                stood_in& own = stood_in::of_this_thread();
                own.begin({.serial = true, .restart = unexpected_restart});
                own.store(&data.words[0], 7, 0xFF);
                own.store(&other.words[0], 7, 0xFF);
                is_held = true;
                // Until the other one waits, outside.
                while (steps_of_waiting < 50) std::this_thread::yield();
                EXPECT_TRUE(own.commit());
            });
            while (!is_held) std::this_thread::yield();
            stm::between = []() noexcept { return ++steps_of_waiting < 0; };
            open.load(&other.words[0]);
            ADD_FAILURE() << "a load while somebody is in the fallback";
        }
        EXPECT_EQ(one, 7u);
        EXPECT_EQ(open.load(&other.words[0]), 7u);
    });
    stm::between = nullptr;
    alone.join();
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(commits(), 1u) << "again in hardware";
}

TEST_F(Rtm, AnExceptionRollsBackInHardwareAndInTheFallback) {
    for (const bool available : {true, false}) {
        stand_in::set({.available = available});
        const auto throws = [&] {
            EXPECT_EQ(open.in_hardware(), available);
            open.store(&data.words[0], 1, 0xFF);
            throw std::runtime_error("out");
        };
        EXPECT_THROW(atomically<stood_in>(throws), std::runtime_error);
        EXPECT_FALSE(open.active());
        EXPECT_EQ(data.words[0], 0u);
        std::thread([] { must_commit<stood_in>([] {}); }).join();
    }
    stand_in::set({});
    atomically<stood_in>([&] { EXPECT_TRUE(open.in_hardware()); });
}

TEST_F(Rtm, AnExceptionBehindAbortedTriesLeavesOnce) {
    stand_in::plan({{1, status::retry}, {1, status::capacity}});
    int thrown = 0;
    EXPECT_THROW(atomically<stood_in>([&] {
                     add_one<stood_in>(&data.words[0]);
                     ++thrown;
                     throw std::runtime_error("out");
                 }),
                 std::runtime_error);
    EXPECT_EQ(thrown, 1);
    EXPECT_EQ(data.words[0], 0u);
    atomically<stood_in>([&] { EXPECT_TRUE(open.in_hardware()) << "its tries are not those of the next"; });
}

int given_back = 0;
void take_back(void* block, std::size_t, std::size_t) {
    ++given_back;
    std::free(block);
}

TEST_F(Rtm, BlocksOfAbortedTriesAreGivenBackAndThoseOfTheCommitAreKept) {
    given_back = 0;
    stand_in::plan({{1, status::retry}, {1, status::capacity}});
    void* kept = nullptr;
    atomically<stood_in>([&] {
        kept = std::malloc(64);
        open.note_allocated(kept, 64, 16, take_back);
        open.store(static_cast<word*>(kept), 5, 0xFF);
        add_one<stood_in>(&data.words[0]);
    });
    EXPECT_EQ(given_back, 2);
    EXPECT_EQ(*static_cast<word*>(kept), 5u);
    std::free(kept);
}

TEST_F(Rtm, AHardwareTransactionThatBecomesIrrevocableIsAloneFromThenOn) {
    line other;
    std::atomic<bool> through = false;
    open.begin({.restart = unexpected_restart});
    open.store(&data.words[0], 1, 0xFF);
    ASSERT_TRUE(open.in_hardware());
    ASSERT_TRUE(open.become_irrevocable());
    EXPECT_FALSE(open.in_hardware());
    EXPECT_EQ(data.words[0], 1u) << "home, in one moment";
    steps_of_waiting = 0;
    stm::between = []() noexcept { return ++steps_of_waiting < 0; };
    std::thread waits([&] {
        atomically<stood_in>([&] { other.words[1] = stood_in::of_this_thread().load(&other.words[0]); });
        through = true;
    });
    while (steps_of_waiting < 100) std::this_thread::yield();
    EXPECT_FALSE(through);
    open.store(&other.words[0], 3, 0xFF);
    EXPECT_TRUE(open.commit());
    waits.join();
    stm::between = nullptr;
    EXPECT_EQ(other.words[1], 3u);
}

TEST_F(Rtm, ThreadsWhoseTransactionsAbortCountEveryAddition) {
    stand_in::set({.aborts_one_in = 3});
    constexpr int threads = 3;
    constexpr word times = 2'000;
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
        all.emplace_back([&] {
            for (word k = 0; k < times; ++k) atomically<stood_in>([&] { add_one<stood_in>(&data.words[0]); });
        });
    for (std::thread& each : all) each.join();
    EXPECT_EQ(data.words[0], threads * times);
}

}  // namespace
}  // namespace holdfast::htm
