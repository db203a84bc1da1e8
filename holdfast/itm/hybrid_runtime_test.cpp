// The runtime over `hybrid` on a stand-in for hardware: blocks run without barriers, abort where a test says so, and go
// on in software; beside software they run with barriers. The laws hold in each.
#include <holdfast/htm/hybrid_run.hpp>
#include <holdfast/htm/hybrid_stand_in_test.hpp>
#include <holdfast/itm/export.hpp>
#include <holdfast/itm/hybrid_blocks_test.hpp>
#include <holdfast/itm/laws_test.hpp>
#include <holdfast/stm/atomically.hpp>

#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <thread>
#include <vector>

HOLDFAST_ITM_EXPORT(holdfast::htm::test::hybrid_stood_in)

extern "C" {
extern char __data_start;
extern char _end;
}

namespace holdfast::itm {
namespace {

using hybrid = htm::test::hybrid_stood_in;
using stood = htm::test::hybrid_stand_in<stm::value>;
using place = htm::test::plain_end::place;
namespace status = htm::status;

void nothing() {}

class HybridBlocks : public testing::Test {
protected:
    HybridBlocks() { start_again(); }
    ~HybridBlocks() override { start_again(); }
    static void start_again() {
        stood::set({});
        stood::plan({});
        stood::plan_plain({});
        stood::put_back({});
        stood::abort_plain(0);
    }
    /// An abort of plain code takes back what it did to the test's words and to the stack.
    void put_words_back() { stood::put_back({{words, sizeof words}}); }

    std::uint64_t plain() const { return now().plain - before.plain; }
    std::uint64_t followed() const { return now().followed - before.followed; }
    std::uint64_t software() const { return now().software - before.software; }
    std::uint64_t aborts() const { return now().aborts - before.aborts; }
    static const htm::hybrid_counts& now() { return hybrid::of_this_thread().counts(); }

    static inline long words[16];
    htm::hybrid_counts before = now();

    void SetUp() override { std::memset(words, 0, sizeof words); }
};

TEST_F(HybridBlocks, ABlockRunsItsCodeWithoutBarriersInHardware) {
    add_both(&words[0], &words[1], nothing);
    EXPECT_EQ(words[0], 1);
    EXPECT_EQ(words[1], 1);
    EXPECT_EQ(read_both(&words[0], &words[1]), 2);
    EXPECT_EQ(plain(), 2u);
    EXPECT_EQ(software(), 0u);
}

TEST_F(HybridBlocks, AnAbortThatIsWorthItIsTriedAgain) {
    put_words_back();
    stood::plan_plain({{place::at_begin, status::retry}, {place::at_end, status::retry | status::conflict}});
    add_both(&words[0], &words[1], nothing);
    EXPECT_EQ(words[0], 1);
    EXPECT_EQ(words[1], 1);
    EXPECT_EQ(aborts(), 2u);
    EXPECT_EQ(plain(), 1u);
    EXPECT_EQ(software(), 0u);
}

TEST_F(HybridBlocks, OneThatIsNotGoesOnInSoftware) {
    put_words_back();
    for (const place where : {place::at_begin, place::at_end}) {
        stood::plan_plain({{where, status::capacity}});
        add_both(&words[0], &words[1], nothing);
    }
    EXPECT_EQ(words[0], 2);
    EXPECT_EQ(words[1], 2);
    EXPECT_EQ(software(), 2u);
    EXPECT_EQ(plain(), 0u);
}

TEST_F(HybridBlocks, WhatTheProcessorCannotDoInsideIsDoneInSoftware) {
    put_words_back();
    // The status of a system call.
    add_both(&words[0], &words[1], [] { stood::interrupt(0); });
    EXPECT_EQ(words[0], 1);
    EXPECT_EQ(words[1], 1);
    EXPECT_EQ(software(), 1u);
    EXPECT_EQ(aborts(), 1u);
}

TEST_F(HybridBlocks, VariablesOfTheFunctionAreAsTheyWereBeforeAnAbortedTry) {
    put_words_back();
    words[0] = 1;
    stood::plan_plain({{place::at_end, status::retry}});
    EXPECT_EQ(count_in_own_frame(&words[0], nothing), 100 + 2 + 8 * 2);
    EXPECT_EQ(count_in_own_frame(&words[0], [] { stood::interrupt(0); }), 100 + 3 + 8 * 3);
    EXPECT_EQ(words[0], 3);
    EXPECT_EQ(plain(), 1u);
    EXPECT_EQ(software(), 1u);
}

TEST_F(HybridBlocks, ACancelHappensInSoftware) {
    put_words_back();
    EXPECT_FALSE(add_and_take_back(&words[0]));
    EXPECT_EQ(words[0], 0);
    EXPECT_EQ(aborts(), 1u);
    EXPECT_EQ(software(), 1u);
    add_both(&words[0], &words[1], nothing);
    EXPECT_EQ(plain(), 1u) << "the next one is tried in hardware again";
}

TEST_F(HybridBlocks, ANestedCancelTakesBackTheNestedBlockAlone) {
    put_words_back();
    add_around_a_cancelled_block(&words[0], &words[1]);
    EXPECT_EQ(words[0], 2);
    EXPECT_EQ(words[1], 0);
    EXPECT_EQ(software(), 1u);
}

TEST_F(HybridBlocks, NestedBlocksRunInTheHardwareOfTheOuterOne) {
    EXPECT_EQ(add_in_nested_blocks(&words[0]), 3);
    EXPECT_EQ(words[0], 3);
    EXPECT_EQ(plain(), 1u);
    EXPECT_EQ(aborts(), 0u);
}

TEST_F(HybridBlocks, AnExceptionThatLeavesABlockCommitsIt) {
    EXPECT_THROW(add_and_throw(&words[0]), long);
    EXPECT_EQ(words[0], 1);
    EXPECT_EQ(plain(), 1u);
    stood::plan_plain({{place::at_begin, status::capacity}});
    EXPECT_THROW(add_and_throw(&words[0]), long);
    EXPECT_EQ(words[0], 2);
    EXPECT_EQ(software(), 1u);
}

TEST_F(HybridBlocks, MemoryIsAllocatedAndFreedInHardwareAndInSoftware) {
    long* made = make_long(5);
    EXPECT_EQ(*made, 5);
    EXPECT_EQ(plain(), 1u);
    stood::plan_plain({{place::at_begin, status::retry}, {place::at_begin, status::capacity}});
    replace_long(&made, 6);
    EXPECT_EQ(*made, 6);
    EXPECT_EQ(software(), 1u);
    replace_long(&made, 7);
    EXPECT_EQ(*made, 7);
    EXPECT_EQ(plain(), 2u);
    delete made;
}

std::atomic<int> told = 0;
void count_told() {
    EXPECT_FALSE(hybrid::of_this_thread().active());
    ++told;
}

TEST_F(HybridBlocks, ActionsRunOnceAfterTheCommit) {
    put_words_back();
    told = 0;
    add_and_tell(&words[0], count_told);
    EXPECT_EQ(told, 1);
    stood::plan_plain({{place::at_end, status::retry}, {place::at_end, status::capacity}});
    add_and_tell(&words[0], count_told);
    EXPECT_EQ(told, 2);
    EXPECT_EQ(words[0], 2);
    EXPECT_EQ(software(), 1u);
}

TEST_F(HybridBlocks, ARelaxedBlockThatCannotRunInHardwareBecomesIrrevocable) {
    put_words_back();
    static bool was_irrevocable = false;
    add_relaxed(&words[0], [] {
        stood::interrupt(0);
        was_irrevocable = hybrid::of_this_thread().irrevocable();
    });
    EXPECT_TRUE(was_irrevocable);
    EXPECT_EQ(words[0], 2);
    EXPECT_EQ(software(), 1u);
}

/// A thread that is in a software transaction while there is one of these.
class open_software {
public:
    open_software() : thread_([this] { stay(); }) {
        while (!is_open_) std::this_thread::yield();
    }
    ~open_software() {
        may_end_ = true;
        thread_.join();
    }
    open_software(const open_software&) = delete;
    open_software& operator=(const open_software&) = delete;

private:
    void stay() {
        send_to_software();
        stm::atomically<hybrid>([this] {
            do {
                // It gives way here to one that becomes irrevocable, and begins again.
                send_to_software();
                hybrid::of_this_thread().load(&word_);
                is_open_ = true;
                std::this_thread::yield();
            } while (!may_end_);
        });
    }
    static void send_to_software() { stood::plan({{0, status::capacity}}); }
    stm::word word_ = 0;
    std::atomic<bool> is_open_ = false;
    std::atomic<bool> may_end_ = false;
    std::thread thread_;
};

TEST_F(HybridBlocks, BesideSoftwareABlockRunsWithBarriersInHardware) {
    const open_software other;
    const stm::word counter = *stm::value::counter();
    add_both(&words[0], &words[1], nothing);
    EXPECT_EQ(words[0], 1);
    EXPECT_EQ(followed(), 1u);
    EXPECT_EQ(plain(), 0u);
    EXPECT_EQ(*stm::value::counter(), counter + 2);
    EXPECT_EQ(read_both(&words[0], &words[1]), 2);
    EXPECT_EQ(followed(), 2u);
    EXPECT_EQ(*stm::value::counter(), counter + 2) << "who only reads tells nobody";
}

TEST_F(HybridBlocks, ThreadsInHardwareAndSoftwareLoseNothing) {
    stood::abort_plain(3);
    stood::set({.aborts_one_in = 5});
    constexpr int threads = 3, rounds = 3000;
    std::atomic<std::uint64_t> counts[3] = {};
    std::atomic<long> unequal = 0;
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread)
        all.emplace_back([&] {
            for (int round = 0; round < rounds; ++round) {
                add_both(&words[0], &words[8], [] { sched_yield(); });
                unequal += read_both(&words[0], &words[8]) % 2;
            }
            counts[0] += now().plain;
            counts[1] += now().followed;
            counts[2] += now().software;
        });
    for (std::thread& each : all) each.join();
    EXPECT_EQ(words[0], threads * rounds);
    EXPECT_EQ(words[8], threads * rounds);
    EXPECT_EQ(unequal, 0) << "somebody saw half of a block";
    for (const auto& each : counts) EXPECT_GT(each, 10u) << "all three ways are taken";
}

bool says(const law& each, std::initializer_list<std::string_view> some) {
    const std::string_view said = each.sentence;
    return std::any_of(some.begin(), some.end(), [&](std::string_view one) { return said.find(one) != said.npos; });
}

std::vector<law> all_laws() {
    std::vector<law> all = laws_of_blocks();
    for (const auto& more : {laws_of_barriers(), laws_of_memory()}) all.insert(all.end(), more.begin(), more.end());
    return all;
}

TEST_F(HybridBlocks, TheLawsHoldInHardwareBesideSoftware) {
    for (const unsigned one_in : {0u, 3u}) {
        const open_software other;
        stood::set({.aborts_one_in = one_in});
        for (const law& each : all_laws()) {
            if (one_in != 0 && each.counts_attempts) continue;
            // The other thread keeps all that is freed, and what counts attempts is not taken back by the stand-in.
            if (says(each, {"nested cancel gives back", "a nested block freed", "actions may use"})) continue;
            EXPECT_STREQ(each.broken(), nullptr) << each.sentence << ", one in " << one_in;
        }
    }
    EXPECT_GT(followed(), 1000u);
}

TEST_F(HybridBlocks, TheLawsHoldForCodeWithoutBarriers) {
    // All static data, and what the thread knows of its exceptions.
    const auto bytes = static_cast<std::size_t>(&_end - &__data_start);
    stood::put_back({{&__data_start, bytes}, {abi::__cxa_get_globals(), 2 * sizeof(void*)}});
    const auto laws = all_laws();
    for (const law& each : laws) {
        if (each.needs_software) continue;
        // An abort of the processor takes back the heap as well, and other threads go on meanwhile.
        if (says(each, {"threads", "give", "free", "fresh"})) continue;
        EXPECT_STREQ(each.broken(), nullptr) << each.sentence;
    }
    EXPECT_GT(plain(), 1000u);
}

}  // namespace
}  // namespace holdfast::itm
