// `hybrid` over the stand-in: what runs where, what hardware and software do to each other, and that each planted fault
// is caught.
#include <holdfast/base/assertion.hpp>
#include <holdfast/htm/hybrid_run.hpp>
#include <holdfast/htm/hybrid_stand_in_test.hpp>
#include <holdfast/stm/scheduled_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::htm {
namespace {

using namespace holdfast::stm::test;
using namespace holdfast::htm::test;
using stm::atomically;
using algorithm = hybrid_stood_in;
using stood = hybrid_stand_in<stm::value>;

class Hybrid : public ::testing::Test {
protected:
    Hybrid() { reset(); }
    ~Hybrid() override { reset(); }
    static void reset() {
        stood::set({});
        stood::plan({});
        stood::plan_plain({});
        planted_now = fault::nothing;
    }
    std::uint64_t followed() const { return open.counts().followed - before.followed; }
    std::uint64_t plain() const { return open.counts().plain - before.plain; }
    std::uint64_t software() const { return open.counts().software - before.software; }
    std::uint64_t aborts() const { return open.counts().aborts - before.aborts; }

    algorithm& open = algorithm::of_this_thread();
    hybrid_counts before = open.counts();
    line data;
};

TEST_F(Hybrid, ATransactionRunsInHardware) {
    atomically<algorithm>([&] {
        EXPECT_TRUE(open.in_hardware());
        add_one<algorithm>(&data.words[0]);
    });
    EXPECT_EQ(data.words[0], 1u);
    EXPECT_EQ(followed(), 1u);
    EXPECT_EQ(software(), 0u);
}

TEST_F(Hybrid, WhatCannotRunInHardwareRunsInSoftware) {
    for (const unsigned why : {status::capacity, 0u}) {
        stood::plan({{1, why}});
        int attempts = 0;
        atomically<algorithm>([&] {
            EXPECT_EQ(open.in_hardware(), ++attempts == 1);
            add_one<algorithm>(&data.words[0]);
        });
        EXPECT_EQ(attempts, 2);
    }
    EXPECT_EQ(data.words[0], 2u);
    EXPECT_EQ(software(), 2u);
    atomically<algorithm>([&] { EXPECT_TRUE(open.in_hardware()) << "the next one is tried again"; });
}

TEST_F(Hybrid, TriesAreBounded) {
    stood::plan({{0, status::retry}, {1, status::retry}, {0, status::retry}, {1, status::retry}, {0, status::retry},
                 {1, status::retry}, {0, status::retry}, {1, status::retry}, {0, status::retry}, {1, status::retry}});
    unsigned attempts = 0;
    atomically<algorithm>([&] {
        EXPECT_EQ(open.in_hardware(), ++attempts <= algorithm::most_tries);
        add_one<algorithm>(&data.words[0]);
    });
    EXPECT_EQ(attempts, algorithm::most_tries + 1);
    EXPECT_EQ(aborts(), std::uint64_t{algorithm::most_tries});
    EXPECT_EQ(data.words[0], 1u);
}

TEST_F(Hybrid, WhereThereIsNoHardwareEverythingRunsInSoftware) {
    stood::set({.available = false});
    const word counter = *stm::value::counter();
    for (int i = 0; i < 3; ++i) atomically<algorithm>([&] { add_one<algorithm>(&data.words[0]); });
    EXPECT_EQ(data.words[0], 3u);
    EXPECT_EQ(stand_in::begun(), 0u);
    EXPECT_EQ(*stm::value::counter(), counter + 3 * 2) << "by the steps of value";
}

TEST_F(Hybrid, AConflictInSoftwareIsTriedAgainInSoftware) {
    stood::plan({{0, status::capacity}});
    companions<algorithm> others;
    line other;
    int attempts = 0;
    atomically<algorithm>([&] {
        EXPECT_EQ(open.in_hardware(), ++attempts == 1);
        const word one = open.load(&data.words[0]);
        if (attempts == 2) others.store(&data.words[0], &other.words[0], 5);
        EXPECT_EQ(open.load(&other.words[0]), one);
    });
    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(data.words[0], 5u);
}

/// Runs f in another thread, to its end.
void elsewhere(const std::function<void()>& f) { std::thread(f).join(); }

TEST_F(Hybrid, AHardwareCommitBesideSoftwareMovesTheCounter) {
    stood::plan({{0, status::capacity}});
    int attempts = 0;
    std::uint64_t moved = 0;
    atomically<algorithm>([&] {
        const word one = open.load(&data.words[0]);
        if (++attempts == 1) {
            EXPECT_FALSE(open.in_hardware()) << "the planned abort came before the load";
            elsewhere([&] {
                const word counter = *stm::value::counter();
                atomically<algorithm>([&] {
                    EXPECT_TRUE(algorithm::of_this_thread().in_hardware());
                    add_one<algorithm>(&data.words[0]);
                    add_one<algorithm>(&data.words[1]);
                });
                moved = *stm::value::counter() - counter;
            });
        }
        EXPECT_EQ(open.load(&data.words[1]), one);
    });
    EXPECT_EQ(moved, 2u);
    EXPECT_EQ(attempts, 2) << "the software attempt has seen the commit";
}

TEST_F(Hybrid, AHardwareCommitAloneLeavesTheCounter) {
    const word counter = *stm::value::counter();
    atomically<algorithm>([&] { add_one<algorithm>(&data.words[0]); });
    EXPECT_EQ(*stm::value::counter(), counter);
    EXPECT_EQ(followed(), 1u);
}

TEST_F(Hybrid, ASoftwareCommitAbortsOpenHardware) {
    int attempts = 0;
    atomically<algorithm>([&] {
        const word one = open.load(&data.words[0]);
        if (++attempts == 1)
            elsewhere([&] {
                stood::plan({{0, status::capacity}});
                atomically<algorithm>([&] {
                    add_one<algorithm>(&data.words[0]);
                    add_one<algorithm>(&data.words[1]);
                });
            });
        EXPECT_EQ(open.load(&data.words[1]), one);
    });
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(aborts(), 1u);
    EXPECT_EQ(followed(), 1u) << "again in hardware";
}

TEST_F(Hybrid, PlainCodeRunsOnlyWhileNothingIsOpenInSoftware) {
    ASSERT_TRUE(open.begin_block({.restart = unexpected_restart}));
    EXPECT_TRUE(open.runs_plain_code());
    data.words[0] = 1;
    ASSERT_TRUE(open.commit());
    EXPECT_EQ(plain(), 1u);

    stood::plan({{0, status::capacity}});
    int attempts = 0;
    atomically<algorithm>([&] {
        open.load(&data.words[0]);
        if (++attempts != 1) return;
        elsewhere([&] {
            algorithm& own = algorithm::of_this_thread();
            EXPECT_FALSE(own.begin_block({.restart = unexpected_restart}));
            EXPECT_TRUE(own.in_hardware());
            own.store(&data.words[1], 1, 0xFF);
            EXPECT_TRUE(own.commit());
            EXPECT_EQ(own.counts().followed, 1u);
        });
    });
    EXPECT_EQ(attempts, 1);
}

TEST_F(Hybrid, PlainCodeThatAbortsGoesOnInSoftware) {
    using place = plain_end::place;
    stood::plan_plain({{place::at_begin, status::retry}, {place::at_begin, status::capacity}});
    EXPECT_FALSE(open.begin_block({.restart = unexpected_restart}));
    EXPECT_FALSE(open.in_hardware());
    open.store(&data.words[0], 3, 0xFF);
    EXPECT_TRUE(open.commit());
    EXPECT_EQ(data.words[0], 3u);
    EXPECT_EQ(software(), 1u);
    EXPECT_EQ(aborts(), 2u);
}

TEST_F(Hybrid, WhoIsAloneIsWaitedFor) {
    std::atomic<bool> is_alone = false;
    std::atomic<bool> through = false;
    std::thread alone([&] {
        algorithm& own = algorithm::of_this_thread();
        own.begin({.serial = true, .restart = unexpected_restart});
        EXPECT_TRUE(own.become_irrevocable());
        own.store(&data.words[0], 7, 0xFF);
        is_alone = true;
        for (int i = 0; i < 200; ++i) std::this_thread::yield();
        EXPECT_FALSE(through);
        own.store(&data.words[1], 7, 0xFF);
        EXPECT_TRUE(own.commit());
    });
    while (!is_alone) std::this_thread::yield();
    atomically<algorithm>([&] { EXPECT_EQ(open.load(&data.words[0]), open.load(&data.words[1])); });
    through = true;
    alone.join();
    EXPECT_EQ(data.words[1], 7u);
}

TEST_F(Hybrid, BecomingIrrevocableInHardwareHappensInSoftware) {
    int attempts = 0;
    atomically<algorithm>([&] {
        ++attempts;
        add_one<algorithm>(&data.words[0]);
        if (open.become_irrevocable()) {
            EXPECT_TRUE(open.irrevocable());
            EXPECT_EQ(data.words[0], 1u);
            return;
        }
        open.roll_back();
        open.begin({.serial = true, .restart = unexpected_restart});
        add_one<algorithm>(&data.words[0]);
        EXPECT_TRUE(open.become_irrevocable());
    });
    EXPECT_EQ(attempts, 1);
    EXPECT_EQ(data.words[0], 1u);
    EXPECT_EQ(software(), 1u);
}

TEST_F(Hybrid, AnExceptionRollsBackWhereverItIsThrown) {
    for (const bool in_hardware : {true, false}) {
        stood::plan({});
        if (!in_hardware) stood::plan({{0, status::capacity}});
        EXPECT_THROW(atomically<algorithm>([&] {
                         add_one<algorithm>(&data.words[0]);
                         throw std::runtime_error("out");
                     }),
                     std::runtime_error);
        EXPECT_FALSE(open.active());
        EXPECT_EQ(data.words[0], 0u);
    }
    stood::plan({});
    atomically<algorithm>([&] { EXPECT_TRUE(open.in_hardware()); });
}

std::atomic<int> given_back = 0;
void take_back(void* block, std::size_t, std::size_t) {
    ++given_back;
    std::free(block);
}

TEST_F(Hybrid, BlocksOfAbortedTriesAreGivenBackAndThoseOfTheCommitAreKept) {
    given_back = 0;
    stood::plan({{1, status::retry}, {1, status::capacity}});
    void* kept = nullptr;
    atomically<algorithm>([&] {
        kept = std::malloc(64);
        open.note_allocated(kept, 64, 16, take_back);
        open.store(static_cast<word*>(kept), 5, 0xFF);
        add_one<algorithm>(&data.words[0]);
    });
    EXPECT_EQ(given_back, 2);
    EXPECT_EQ(*static_cast<word*>(kept), 5u);
    std::free(kept);
}

TEST_F(Hybrid, ThreadsInHardwareAndSoftwareCountEveryAddition) {
    stood::set({.aborts_one_in = 3});
    constexpr int threads = 3;
    constexpr word times = 2'000;
    line other;
    std::atomic<std::uint64_t> in_hardware = 0, in_software = 0;
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
        all.emplace_back([&] {
            for (word k = 0; k < times; ++k)
                atomically<algorithm>([&] {
                    add_one<algorithm>(&data.words[0]);
                    add_one<algorithm>(&other.words[k % 8]);
                });
            in_hardware += algorithm::of_this_thread().counts().followed;
            in_software += algorithm::of_this_thread().counts().software;
        });
    for (std::thread& each : all) each.join();
    EXPECT_EQ(data.words[0], threads * times);
    for (const word each : other.words) EXPECT_EQ(each, threads * times / 8);
    EXPECT_GT(in_hardware, times / 10);
    EXPECT_GT(in_software, times / 10);
}

TEST_F(Hybrid, InAForkedChildNoOtherThreadIsOpenInSoftware) {
    std::atomic<bool> is_open = false, may_end = false;
    std::thread other([&] {
        stood::plan({{0, status::capacity}});
        atomically<algorithm>([&] {
            algorithm::of_this_thread().load(&data.words[0]);
            is_open = true;
            while (!may_end) std::this_thread::yield();
        });
    });
    while (!is_open) std::this_thread::yield();
    EXPECT_FALSE(open.begin_block({.restart = unexpected_restart}));
    EXPECT_TRUE(open.commit());
    const pid_t child = fork();
    if (child == 0) _exit(open.begin_block({.restart = unexpected_restart}) && open.commit() ? 0 : 1);
    int said = 0;
    EXPECT_EQ(waitpid(child, &said, 0), child);
    EXPECT_EQ(said, 0);
    may_end = true;
    other.join();
}

TEST_F(Hybrid, AThreadThatEndsInSoftwareIsNotOpenAnyMore) {
    elsewhere([&] {
        stood::plan_plain({{plain_end::place::at_begin, status::capacity}});
        EXPECT_FALSE(algorithm::of_this_thread().begin_block({.restart = unexpected_restart}));
        algorithm::of_this_thread().store(&data.words[0], 1, 0xFF);
    });
    EXPECT_EQ(data.words[0], 0u);
    EXPECT_TRUE(open.begin_block({.restart = unexpected_restart}));
    EXPECT_TRUE(open.commit());
}

/// Hardware frees what software, which is open meanwhile, has read. Whether it is still there.
bool blocks_are_kept_for_software() {
    given_back = 0;
    stood::plan({{0, status::capacity}});
    line root;
    std::vector<word*> made;
    for (int i = 0; i < 600; ++i) made.push_back(static_cast<word*>(std::calloc(8, sizeof(word))));
    root.words[0] = reinterpret_cast<word>(made[0]);
    std::thread frees;
    std::atomic<bool> is_through = false;
    bool was_kept = true;
    atomically<algorithm>([&] {
        algorithm& own = algorithm::of_this_thread();
        own.load(reinterpret_cast<const word*>(own.load(&root.words[0])));
        if (frees.joinable()) return;
        frees = std::thread([&] {
            // Enough to make it worth a look at who is open.
            for (word* const each : made)
                atomically<algorithm>([&] {
                    algorithm::of_this_thread().store(&root.words[0], reinterpret_cast<word>(&root), 0xFF);
                    algorithm::of_this_thread().free_at_commit(each, 64, 16, take_back);
                });
            is_through = true;
        });
        while (!is_through) std::this_thread::yield();
        was_kept = given_back == 0;
    });
    frees.join();
    return was_kept && given_back == 600;
}

TEST_F(Hybrid, WhatHardwareFreesStaysUntilOpenSoftwareHasEnded) { EXPECT_TRUE(blocks_are_kept_for_software()); }

bool is_opaque_for_long() {
    stood::set({.aborts_one_in = 2});
    const std::uint64_t count = planted_now == fault::nothing ? 100 : 20'000;
    return !first_seed_not_opaque<algorithm>(1, count).has_value();
}

bool plain_code_waits_for_software() {
    stood::plan({{0, status::capacity}});
    line data;
    bool was_plain = false;
    atomically<algorithm>([&] {
        algorithm::of_this_thread().load(&data.words[0]);
        elsewhere([&] {
            was_plain = algorithm::of_this_thread().begin_block({.restart = unexpected_restart});
            algorithm::of_this_thread().commit();
        });
    });
    return !was_plain;
}

TEST_F(Hybrid, RandomProgramsInHardwareAndSoftwareHaveOpaqueHistories) {
    for (const unsigned one_in : {1u, 2u, 8u}) {
        stood::set({.aborts_one_in = one_in});
        std::string what;
        const auto found = first_seed_not_opaque<algorithm>(1, at_full_length() ? 100'000 : 2'000, &what);
        EXPECT_FALSE(found.has_value()) << "one in " << one_in << ", seed " << found.value_or(0) << "\n" << what;
    }
}

struct planting {
    fault planted;
    const char* name;
    bool (*is_right)();
};
const planting plantings[] = {
    {fault::hybrid_not_subscribed, "NotSubscribed", is_opaque_for_long},
    {fault::hybrid_counter_not_moved, "CounterNotMoved", is_opaque_for_long},
    {fault::hybrid_plain_beside_software, "PlainBesideSoftware", plain_code_waits_for_software},
    {fault::hybrid_freed_at_once, "FreedAtOnce", blocks_are_kept_for_software},
};

/// What the look says in a process that has the fault; 2: it came to no end, or crashed.
int look(const planting& each, fault which) {
    const pid_t child = fork();
    if (child == 0) {
        planted_now = which;
        holdfast::detail::assertions_may_fail = which != fault::nothing;
        _exit(each.is_right() ? 0 : 1);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 2;
    return WEXITSTATUS(status);
}

TEST_F(Hybrid, EveryLookPassesWithoutAFault) {
    for (const planting& each : plantings) EXPECT_EQ(look(each, fault::nothing), 0) << each.name;
}

TEST_F(Hybrid, EveryFaultIsCaught) {
    for (const planting& each : plantings) {
        const int said = look(each, each.planted);
        EXPECT_TRUE(said == 1 || said == turns::no_end) << each.name << " " << said;
    }
}

}  // namespace
}  // namespace holdfast::htm
