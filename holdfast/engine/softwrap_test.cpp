// What softwrap has that softwrap_lat has not: values that wait in shared tables, and loads that name no wrap.
#include <holdfast/engine/engine_test_support.hpp>
#include <holdfast/handle/wrap.hpp>
#include <holdfast/log/alias_buffers.hpp>
#include <holdfast/log/lanes.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace holdfast::test;

struct variables {
    std::int64_t x = 0, y = 0, z = 0;
    std::int32_t halves[2] = {};
    softwrap::field<long> counted;
    std::array<std::uint64_t, 256> many{};
};
}  // namespace

template <>
inline constexpr bool lives_in_pool<variables> = true;  // wraps store to its plain members

namespace {

wrap_options small_tables(bool in_background = true) {
    return {.alias_words = 32, .retires_in_background = in_background};
}

class Softwrap : public testing::Test {
protected:
    explicit Softwrap(const wrap_options& wraps = {}, level promise = level::power)
        : pool_({.durability = promise, .wraps = wraps}), data_(pool_->root<variables>("variables").value()) {}

    void put(std::int64_t* home, std::int64_t value) {
        auto id = OpenWrap(*pool_);
        wrapStore(id, home, value);
        CloseWrap(id).value();
    }
    alias_buffers& aliases() { return *pool_->core().aliases(); }

    test_pool<softwrap> pool_;
    variables* data_;
};

TEST_F(Softwrap, TheFirstListingOfThePaperWhoseLoadNamesNoWrap) {
    auto id = OpenWrap(*pool_);
    wrapStore(id, &data_->x, 1);
    wrapStore(id, &data_->y, 2);
    const auto temporary = wrapLoad(&data_->x);
    wrapStore(id, &data_->z, temporary);
    ASSERT_TRUE(CloseWrap(id));
    EXPECT_EQ(wrapLoad(&data_->z), 1);
    pool_.kill();
    EXPECT_EQ(data_->z, 1);
}

TEST_F(Softwrap, WhatIsClosedIsSeenByAllAndNotAtHomeYet) {
    pool_->checkpoint().value();
    put(&data_->x, 5);
    EXPECT_EQ(data_->x, 0) << "the home";
    EXPECT_EQ(wrapLoad(&data_->x), 5);
    std::thread([&] { EXPECT_EQ(wrapLoad(&data_->x), 5); }).join();
    pool_->checkpoint().value();
    EXPECT_EQ(data_->x, 5);
    EXPECT_EQ(wrapLoad(&data_->x), 5);
}

TEST_F(Softwrap, WhatTruncationPassesIsInNoTableAnyMore) {
    pool_->checkpoint().value();
    put(&data_->x, 5);
    lane_log& log = *pool_->core().lanes();
    auto* const home = reinterpret_cast<pool_word*>(&data_->x);
    std::uint64_t seen = 0;
    log.on_truncated = [&, heap_hears = log.on_truncated](std::uint64_t sequence) {
        heap_hears(sequence);
        // As who has taken a clean block stores to it.
        __atomic_store_n(home, 7, __ATOMIC_RELAXED);
        seen = aliases().load(home);
    };
    pool_->checkpoint().value();
    EXPECT_EQ(seen, 7u);
}

TEST_F(Softwrap, AnOpenWrapIsSeenByItsThreadAlone) {
    auto id = OpenWrap(*pool_);
    wrapStore(id, &data_->x, 5);
    wrapStore(id, &data_->halves[1], 7);
    EXPECT_EQ(wrapLoad(&data_->x), 5);
    EXPECT_EQ(wrapLoad(&data_->halves[1]), 7);
    EXPECT_EQ(wrapLoad(&data_->halves[0]), 0);
    std::thread([&] {
        EXPECT_EQ(wrapLoad(&data_->x), 0);
        // It goes with the wrap.
        wrapStore(id, &data_->y, 6);
        EXPECT_EQ(wrapLoad(&data_->x), 5);
    }).join();
    EXPECT_EQ(wrapLoad(&data_->x), 0) << "the wrap is another thread's now";
    AbortWrap(id);
    EXPECT_EQ(wrapLoad(&data_->y), 0);
}

TEST_F(Softwrap, FieldsAndTransactionsLookInTheTablesToo) {
    pool_->checkpoint().value();
    ASSERT_TRUE(pool_->atomically([&] { data_->counted = 3; }));
    EXPECT_EQ(data_->counted.get(), 3);
    auto id = OpenWrap(*pool_);
    EXPECT_EQ(id.load(reinterpret_cast<const long*>(&data_->counted)), 3);
    AbortWrap(id);
    ASSERT_TRUE(pool_->atomically([&] {
        EXPECT_EQ(data_->counted, 3);
        ++data_->counted;
        EXPECT_EQ(wrapLoad(reinterpret_cast<const long*>(&data_->counted)), 4);
    }));
    EXPECT_EQ(data_->counted.get(), 4);
}

TEST_F(Softwrap, ALoadThatNamesNoWrapNeedsAPoolOfSoftwrap) {
    test_pool<softwrap_lat> other({.order = 1});
    auto* theirs = other->root<variables>("variables").value();
    EXPECT_THROW(wrapLoad(&theirs->x), failure);
    const std::int64_t on_the_stack = 4;
    EXPECT_THROW(wrapLoad(&on_the_stack), failure);
}

TEST_F(Softwrap, ATableOfNoWordsIsRefused) {
    create_options options;
    options.tmpfs_is_nvram = true;
    options.wraps.alias_words = 0;
    EXPECT_EQ(code_of(basic_pool<softwrap>::create(pool_.file("other"), options)), errc::invalid_argument);
}

class SoftwrapTables : public Softwrap, public testing::WithParamInterface<std::tuple<bool, level>> {
protected:
    SoftwrapTables()
        : Softwrap(small_tables(std::get<0>(GetParam())), std::get<1>(GetParam())) {}
};

TEST_P(SoftwrapTables, TakeTurnsAndLoseNothing) {
    std::array<std::uint64_t, 256> expected{};
    for (std::uint64_t lap = 1; lap <= 50; ++lap)
        for (std::size_t at = 0; at < expected.size(); at += 8) {
            auto id = OpenWrap(*pool_);
            for (std::size_t i = at; i < at + 8; ++i) id.store(&data_->many[i], expected[i] = lap * 1000 + i);
            ASSERT_TRUE(CloseWrap(id));
            for (const std::size_t distance : {0u, 16u, 40u, 64u, 128u}) {
                const std::size_t earlier = (at + expected.size() - distance) % expected.size();
                ASSERT_EQ(wrapLoad(&data_->many[earlier]), expected[earlier]) << distance << " words before";
            }
        }
    EXPECT_GT(aliases().retirements(), 100u);
    pool_.kill();
    for (std::size_t i = 0; i < data_->many.size(); ++i) ASSERT_EQ(data_->many[i], 50'000 + i);
}

TEST_P(SoftwrapTables, AWrapLargerThanATableGoesHomeByItself) {
    for (std::int64_t round = 1; round <= 20; ++round) {
        put(&data_->x, round);
        auto id = OpenWrap(*pool_);
        for (std::uint64_t& each : data_->many) id.store(&each, static_cast<std::uint64_t>(round));
        id.store(&data_->x, id.load(&data_->x) + 100);
        ASSERT_TRUE(CloseWrap(id));
        ASSERT_EQ(data_->x, round + 100) << "at home";
        ASSERT_EQ(wrapLoad(&data_->many[255]), static_cast<std::uint64_t>(round));
        put(&data_->y, round);
        ASSERT_EQ(wrapLoad(&data_->y), round);
    }
    pool_.kill();
    EXPECT_EQ(data_->x, 120);
    EXPECT_EQ(data_->y, 20);
    EXPECT_EQ(data_->many[17], 20u);
}

TEST_P(SoftwrapTables, ThreadsThatShareThemLoseNothing) {
    std::array<std::mutex, 4> locks;
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 4; ++thread)
        threads.emplace_back([&, thread] {
            for (unsigned i = 0; i < 2000; ++i) {
                // Four counters of 4 bytes each, and a word of its own; now and then more than a table has.
                const unsigned which = (thread + i) % 4;
                wrapped_lock region(*pool_, locks[which]);
                auto* const counter = reinterpret_cast<std::uint32_t*>(data_->many.data()) + which;
                region->store(counter, region->load(counter) + 1);
                auto* const own = &data_->many[8 + thread];
                region->store(own, region->load(own) + 1);
                for (std::size_t at = 0; at < (i % 500 == 499 ? 50u : 0u); ++at)
                    region->store(&data_->many[16 + 50 * thread + at], i);
                ASSERT_TRUE(region.close());
                if (i % 400 == 0) pool_->checkpoint().value();
            }
        });
    for (auto& each : threads) each.join();
    pool_.kill();
    const auto* const counters = reinterpret_cast<const std::uint32_t*>(data_->many.data());
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(counters[i], 2000u);
        EXPECT_EQ(data_->many[8 + i], 2000u);
        EXPECT_EQ(data_->many[16 + 50 * i + 49], 1999u);
    }
}

TEST_P(SoftwrapTables, AReaderWithoutALockSeesWholeValuesOfClosedWraps) {
    std::atomic<bool> through{false};
    std::atomic<std::uint64_t> looks{0};
    std::thread reader([&] {
        while (!through) {
            const std::uint64_t value = wrapLoad(&data_->many[3]);
            ASSERT_EQ(value >> 32, value & 0xFFFFFFFF);
            ASSERT_NE(value & 0xFFFFFFFF, 77u) << "never closed";
            ++looks;
        }
    });
    for (std::uint64_t i = 100; i <= 6000 || looks < 10; ++i) {
        auto id = OpenWrap(*pool_);
        id.store(&data_->many[3], std::uint64_t{77} << 32 | 77);
        id.store(&data_->many[3], i << 32 | i);
        for (std::size_t at = 0; at < 5; ++at) id.store(&data_->many[16 + (i * 5 + at) % 240], i);
        ASSERT_TRUE(CloseWrap(id));
        auto aborted = OpenWrap(*pool_);
        aborted.store(&data_->many[3], std::uint64_t{77} << 32 | 77);
    }
    through = true;
    reader.join();
}

TEST_P(SoftwrapTables, AHotWordFillsNoTable) {
    pool_->checkpoint().value();
    const std::uint64_t before = aliases().retirements();
    for (std::int64_t i = 1; i <= 100; ++i) put(&data_->x, i);
    EXPECT_EQ(aliases().retirements(), before);
    EXPECT_EQ(data_->x, 0);
    EXPECT_EQ(wrapLoad(&data_->x), 100);
}

TEST_P(SoftwrapTables, AFullLogBringsThemHome) {
    for (std::int64_t i = 1; i <= 5000; ++i) put(&data_->x, i);
    EXPECT_GT(pool_->core().lanes()->truncated(), 0u);
    pool_.kill();
    EXPECT_EQ(data_->x, 5000);
}

INSTANTIATE_TEST_SUITE_P(Retired, SoftwrapTables,
                         testing::Combine(testing::Bool(), testing::Values(level::power, level::process)),
                         [](const auto& each) {
                             return std::string(std::get<0>(each.param) ? "InBackground" : "ByCommits") + "At" +
                                    (std::get<1>(each.param) == level::power ? "Power" : "Process");
                         });

TEST_F(Softwrap, AnOpenWrapHoldsNoTableBack) {
    auto open = OpenWrap(*pool_);
    open.store(&data_->y, std::int64_t{9});
    for (std::int64_t i = 1; i <= 3; ++i) {
        put(&data_->x, i);
        ASSERT_TRUE(pool_->checkpoint());
        EXPECT_EQ(data_->x, i);
    }
    ASSERT_TRUE(CloseWrap(open));
    EXPECT_EQ(wrapLoad(&data_->y), 9);
}

TEST_F(Softwrap, AnOpenWrapSeesWhatOthersCloseWhereThePoolHasGrown) {
    auto early = OpenWrap(*pool_);
    EXPECT_EQ(early.load(&data_->x), 0);
    ASSERT_TRUE(pool_->grow(4 << 20));
    auto makes = OpenWrap(*pool_);
    auto* const beyond = static_cast<std::int64_t*>(makes.allocate(2 << 20));
    ASSERT_TRUE(CloseWrap(makes));
    pool_->checkpoint().value();
    put(beyond, 5);
    EXPECT_NE(*beyond, 5) << "not at home yet";
    EXPECT_EQ(early.load(beyond), 5);
    EXPECT_EQ(wrapLoad(beyond), 5);
}

TEST_F(Softwrap, AForkedChildMayEnd) {
    put(&data_->x, 1);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool refused = !pool_->close().has_value();
        ::_exit(refused ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    put(&data_->y, 2);
    pool_.reopen();
    EXPECT_EQ(data_->x, 1);
    EXPECT_EQ(data_->y, 2);
}

}  // namespace
}  // namespace holdfast
