// What the runtime asks of an algorithm, over the mock: conflicts at every access, hints, ranges, serial attempts; and
// that each planted fault breaks a law.
#include <holdfast/itm/laws_test.hpp>
#include <holdfast/itm/mock_test.hpp>
#include <holdfast/itm/planted.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::itm {

/// Blocks for the tests below; mock_blocks_test.cpp.
void add_to_ten_words(long* words);
void copy_page(unsigned char* to, const unsigned char* from);
long read_word(const long* word);
bool store_captured(long* word, long first, long second);

namespace {

std::vector<law> all_laws() {
    std::vector<law> all = laws_of_blocks();
    for (const auto& more : {laws_of_barriers(), laws_of_memory(), laws_of_ends<1>()})
        all.insert(all.end(), more.begin(), more.end());
    std::erase_if(all, [](const law& each) { return each.is_of_algorithm; });
    return all;
}

/// The first law that a conflict at some access breaks, or "".
std::string broken_by_conflicts() {
    for (const law& each : all_laws()) {
        if (each.counts_attempts) continue;
        for (unsigned at = 1; at <= 60; ++at) {
            mock::conflict_in = at;
            const char* const broken = each.broken();
            const bool came = mock::conflict_in == 0;
            mock::conflict_in = 0;
            if (broken != nullptr) return std::string(each.sentence) + ": " + broken + " at " + std::to_string(at);
            if (!came) break;
        }
        for (unsigned commits = 1; commits <= 3; ++commits) {
            mock::conflict_at_commit = commits;
            const char* const broken = each.broken();
            mock::conflict_at_commit = 0;
            if (broken != nullptr) return std::string(each.sentence) + ": " + broken + " at commit";
        }
    }
    return "";
}

TEST(MockRuntime, LawsHoldWhateverAccessConflicts) { EXPECT_EQ(broken_by_conflicts(), ""); }

TEST(MockRuntime, HintsAreTrue) {
    for (const law& each : all_laws()) {
        mock::wrong_hints = 0;
        EXPECT_STREQ(each.broken(), nullptr) << each.sentence;
        EXPECT_EQ(mock::wrong_hints, 0u) << each.sentence;
    }
}

TEST(MockRuntime, ACopyIsOneRange) {
    static unsigned char from[4096], to[4096];
    mock::range_calls = mock::word_calls = 0;
    copy_page(to, from);
    EXPECT_EQ(mock::range_calls, 1u);
    EXPECT_EQ(mock::word_calls, 0u);
}

TEST(MockRuntime, WhatAFunctionHasCapturedIsLoadedWithoutBarriers) {
    static long word = 0;
    mock::word_calls = 0;
    EXPECT_TRUE(store_captured(&word, 2, 3));
    EXPECT_EQ(word, 5);
    EXPECT_EQ(mock::word_calls, 1u);
}

TEST(MockRuntime, ABlockThatConflictsForEverBecomesSerial) {
    static long words[10];
    mock::serial_begins = 0;
    mock::conflict_at_commit = 1000;
    add_to_ten_words(words);
    EXPECT_EQ(mock::conflict_at_commit, 0u);
    EXPECT_GT(mock::serial_begins, 900u);
    EXPECT_EQ(words[9], 1);
    mock::serial_begins = 0;
    add_to_ten_words(words);
    EXPECT_EQ(mock::serial_begins, 0u) << "patience begins anew with each transaction";
}

TEST(MockRuntime, AReadOnlyBlockSaysSoOnce) {
    static const long word = 5;
    mock::read_only_begins = mock::begins = 0;
    EXPECT_EQ(read_word(&word), 5);
    EXPECT_EQ(mock::read_only_begins, 1u);
    mock::conflict_at_commit = 1;
    EXPECT_EQ(read_word(&word), 5);
    EXPECT_EQ(mock::begins, 3u);
    EXPECT_EQ(mock::read_only_begins, 2u) << "the attempt after a conflict keeps what it reads";
}

/// Whether all laws hold with a fault planted, in a process of its own.
bool laws_hold_with(fault which) {
    const pid_t child = fork();
    if (child == 0) {
        if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(3);
        alarm(5);
        fault_now = which;
        bool hold = true;
        for (const law& each : all_laws()) hold = hold && each.broken() == nullptr;
        mock::wrong_hints = 0;
        hold = hold && broken_by_conflicts().empty() && mock::wrong_hints == 0;
        _exit(hold ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(PlantedFaults, AreCaughtByALaw) {
    ASSERT_TRUE(laws_hold_with(fault::nothing));
#define HOLDFAST_ITM_PLANT(name, sentence) EXPECT_FALSE(laws_hold_with(fault::name)) << #name ": " sentence;
    HOLDFAST_ITM_FAULTS(HOLDFAST_ITM_PLANT)
#undef HOLDFAST_ITM_PLANT
}

}  // namespace
}  // namespace holdfast::itm
