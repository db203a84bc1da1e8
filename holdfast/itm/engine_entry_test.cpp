// Atomic blocks over an engine: what is in a pool after blocks, cancels, errors and a new opening. Compiled for `redo`
// and for those that isolate by themselves.
#include <holdfast/engine/cc_htm.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/itm/engine_entry.hpp>

#include <gtest/gtest.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#ifndef HOLDFAST_ITM_TEST_ENGINE
#define HOLDFAST_ITM_TEST_ENGINE redo
#endif

HOLDFAST_ITM_EXPORT(holdfast::itm::engine_entry<holdfast::HOLDFAST_ITM_TEST_ENGINE>)

namespace holdfast::itm {

bool transfer(long* accounts, long amount);
void fill_page(unsigned char* page, int byte);
long* make_in_block(long value);
void count_plainly(long* counter);

namespace {

using store = HOLDFAST_ITM_TEST_ENGINE;

struct bank {
    long accounts[2];
    unsigned char page[4096];
};

class EngineEntry : public testing::Test {
protected:
    EngineEntry() {
        char name[] = "/tmp/holdfast-itm-XXXXXX";
        directory_ = mkdtemp(name);
        options_.tmpfs_is_nvram = true;
        options_.bytes = 64 << 20;
        options_.base = HOLDFAST_TEST_BASE_ADDRESS;
        options_.durability = level::process;
        pool_.emplace(store::pool::create(directory_ + "/pool", options_).value());
        pool_->atomically([&] {
                 bank_ = reinterpret_cast<bank*>(store::allocate(sizeof(bank)));
                 store::fill_zero(bank_, sizeof(bank));
             }).value();
        pool_->atomically([&] { transfer(bank_->accounts, -1000); }).value();
    }
    ~EngineEntry() override {
        pool_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }

    std::string directory_;
    create_options options_;
    std::optional<store::pool> pool_;
    bank* bank_ = nullptr;
    std::mutex lock_;
};

TEST_F(EngineEntry, ABlockIsTheEnginesTransaction) {
    bool done = false;
    ASSERT_TRUE(pool_->atomically([&] {
        done = transfer(bank_->accounts, 300);
        // Its stores wait for the commit, as the engine's own do.
        EXPECT_EQ(bank_->accounts[0], 1000);
        EXPECT_EQ(read_value<store>(&bank_->accounts[0]), 700);
    }));
    EXPECT_TRUE(done);
    EXPECT_EQ(bank_->accounts[0], 700);
    EXPECT_EQ(bank_->accounts[1], -700);
}

TEST_F(EngineEntry, ACancelTakesBackTheBlockAlone) {
    bool first = false, second = true, third = false;
    ASSERT_TRUE(pool_->atomically([&] {
        first = transfer(bank_->accounts, 600);
        second = transfer(bank_->accounts, 600);
        third = transfer(bank_->accounts, 100);
    }));
    EXPECT_TRUE(first && !second && third);
    EXPECT_EQ(bank_->accounts[0], 300);
    EXPECT_EQ(bank_->accounts[1], -300);
}

TEST_F(EngineEntry, WhatTheEngineRollsBackDidNotHappen) {
    EXPECT_FALSE(pool_->atomically([&]() -> result<void> {
        transfer(bank_->accounts, 600);
        return error{.code = errc::aborted, .what = "the test wants it"};
    }));
    EXPECT_EQ(bank_->accounts[0], 1000);
    EXPECT_THROW((void)pool_->atomically([&] {
        transfer(bank_->accounts, 600);
        throw std::string("out");
    }),
                 std::string);
    EXPECT_EQ(bank_->accounts[0], 1000);
    EXPECT_TRUE(pool_->atomically([&] { transfer(bank_->accounts, 1); }));
    EXPECT_EQ(bank_->accounts[0], 999);
}

TEST_F(EngineEntry, RangesAreTheEnginesToo) {
    ASSERT_TRUE(pool_->atomically([&] { fill_page(bank_->page, 7); }));
    EXPECT_EQ(bank_->page[0], 1);
    for (std::size_t each = 1; each < sizeof bank_->page; ++each) ASSERT_EQ(bank_->page[each], 7);
}

TEST_F(EngineEntry, MemoryBesideThePoolGoesWithTheTransaction) {
    long* kept = nullptr;
    ASSERT_TRUE(pool_->atomically([&] { kept = make_in_block(5); }));
    EXPECT_EQ(*kept, 5);
    delete kept;
    // Given back: a leak would be found by who looks for leaks, a block given back twice by the allocator.
    EXPECT_FALSE(pool_->atomically([&]() -> result<void> {
        make_in_block(6);
        return error{.code = errc::aborted, .what = "the test wants it"};
    }));
}

TEST_F(EngineEntry, LocksIsolateInsideAndOneLockOutside) {
    static long counter = 0;
    counter = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread)
        threads.emplace_back([this] {
            for (int round = 0; round < 500; ++round) {
                pool_->atomically(lock_, [&] { transfer(bank_->accounts, 1); }).value();
                count_plainly(&counter);
            }
        });
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(bank_->accounts[1], -1000 + 1000);
    EXPECT_EQ(counter, 1000);
}

TEST_F(EngineEntry, AStoreToAPoolOutsideOfATransactionEndsTheProgram) {
    const std::string said = directory_ + "/said";
    pool_->close().value();
    const pid_t child = fork();
    if (child == 0) {
        pool_.emplace(store::pool::open(directory_ + "/pool", options_).value());
        if (std::freopen(said.c_str(), "w", stderr) != nullptr) count_plainly(&bank_->accounts[0]);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_FALSE(WIFEXITED(status));
    std::string message;
    std::getline(std::ifstream(said), message);
    EXPECT_NE(message.find("put the block into atomically of a pool"), std::string::npos) << message;
    pool_.emplace(store::pool::open(directory_ + "/pool", options_).value());
    EXPECT_EQ(bank_->accounts[0], 1000);
}

TEST_F(EngineEntry, WhatWasCommittedIsThereAfterANewOpening) {
    ASSERT_TRUE(pool_->atomically([&] { transfer(bank_->accounts, 250); }));
    const long* const accounts = bank_->accounts;
    pool_->close().value();
    pool_.emplace(store::pool::open(directory_ + "/pool", options_).value());
    EXPECT_EQ(accounts[0], 750);
    EXPECT_EQ(accounts[1], -750);
}

}  // namespace
}  // namespace holdfast::itm
