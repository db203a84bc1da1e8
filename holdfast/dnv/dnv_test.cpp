// Blocks on a dnv pool: what is there after an end, a kill, flipped bits, a full pool, many threads.
#include <holdfast/dnv/audit.hpp>
#include <holdfast/dnv/dnv_blocks_test.hpp>
#include <holdfast/dnv/placement.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/ecc/test_patterns.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::dnv::test {
namespace {

namespace fs = std::filesystem;

class Dnv : public testing::Test {
protected:
    Dnv() {
        char name[] = "/dev/shm/holdfast-dnv-XXXXXX";
        directory_ = mkdtemp(name);
        options_.bytes = 16 << 20;
        options_.durability = level::process;
    }
    ~Dnv() override {
        if (the_space.pool != nullptr) static_cast<void>(dnv_close());
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
    }

    std::string path() const { return directory_ + "/pool"; }
    void open() { open_at(path()); }
    void open_at(const std::string& where) {
        auto opened = dnv_open(where, options_);
        ASSERT_TRUE(opened) << opened.error().text();
    }
    void reopen() {
        ASSERT_TRUE(dnv_close());
        open();
    }
    void use_nvram() {
        options_.durability = level::power;
        options_.tmpfs_is_nvram = true;
    }
    /// One way after another in which commits are kept: `process`, `power` on byte-addressable media and on a file.
    void use_way(unsigned which) {
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
        char in_memory[] = "/dev/shm/holdfast-dnv-XXXXXX";
        char on_disk[] = "/tmp/holdfast-dnv-XXXXXX";
        directory_ = mkdtemp(which == 2 ? on_disk : in_memory);
        options_.durability = which == 0 ? level::process : level::power;
        options_.tmpfs_is_nvram = which == 1;
    }
    static constexpr unsigned ways = 3;

    static void expect_sound_list(long expected_count) {
        const list_summary found = summary();
        EXPECT_EQ(found.count, expected_count);
        EXPECT_EQ(found.said, expected_count);
        EXPECT_EQ(found.sum_of_ids, found.sum_said);
        EXPECT_TRUE(found.payloads_right);
    }
    static void expect_sound_pool(std::uint64_t blocks) {
        const audit_report found = audit_open_pool(false);
        for (const error& each : found.problems) ADD_FAILURE() << each.text();
        EXPECT_EQ(found.blocks, blocks);
    }

    /// Runs `use` in a child, which has the pool open and then is killed by itself.
    void in_killed_child(const std::function<void()>& use) {
        const pid_t child = ::fork();
        if (child == 0) {
            if (!dnv_open(path(), options_)) ::_exit(3);
            use();
            ::kill(::getpid(), SIGKILL);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    }
    /// What a child that ends by a signal writes to standard error.
    std::string said_by_child(const std::function<void()>& use, int& status) {
        int out[2];
        EXPECT_EQ(::pipe(out), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            ::dup2(out[1], STDERR_FILENO);
            if (!dnv_open(path(), options_)) ::_exit(3);
            use();
            ::_exit(0);
        }
        ::close(out[1]);
        std::string said;
        char text[256];
        for (ssize_t count; (count = ::read(out[0], text, sizeof text)) > 0;)
            said.append(text, static_cast<std::size_t>(count));
        ::close(out[0]);
        ::waitpid(child, &status, 0);
        return said;
    }

    std::string directory_;
    dnv_options options_;
};

void push_some(long count) {
    for (long id = 1; id <= count; ++id) push_front(id, static_cast<std::size_t>(id % 200));
}

TEST_F(Dnv, BlocksAndStaticVariablesAreThereAtTheNextOpening) {
    open();
    push_some(100);
    EXPECT_EQ(pop_front(), 100);
    reopen();
    expect_sound_list(99);
    expect_sound_pool(99);
    EXPECT_EQ(pop_front(), 99);
}

TEST_F(Dnv, CommitsSurviveAKill) {
    for (unsigned way = 0; way < ways; ++way) {
        use_way(way);
        in_killed_child([] { push_some(500); });
        in_killed_child([] {
            for (int i = 0; i < 100; ++i) pop_front();
            push_and_cancel();
        });
        open();
        expect_sound_list(400);
        expect_sound_pool(400);
        ASSERT_TRUE(dnv_close());
    }
}

TEST_F(Dnv, BlocksThatDoNotCommitLeaveNothing) {
    open();
    push_some(10);
    push_and_cancel();
    expect_sound_list(10);
    push_one_after_cancelled_block();
    expect_sound_list(11);
    EXPECT_EQ(pop_front(), 7);
    EXPECT_THROW(push_and_throw(), int);
    expect_sound_list(11);
    reopen();
    expect_sound_list(11);
    expect_sound_pool(11);
}

TEST_F(Dnv, AnIrrevocableBlockStoresToThePoolAtItsCommitAlone) {
    use_nvram();
    open();
    push_some(3);
    static std::uint64_t count_inside;
    // In the pool, not as the block sees it.
    push_irrevocably(5, [] { count_inside = place_of(address_of_count())->word; });
    EXPECT_EQ(count_inside, 3u);
    EXPECT_EQ(read_count(), 4);
    ASSERT_TRUE(dnv_close());
    in_killed_child([] {
        push_irrevocably(6, [] { ::kill(::getpid(), SIGKILL); });
    });
    open();
    expect_sound_list(4);
    expect_sound_pool(4);
}

TEST_F(Dnv, MemoryIsNotLeakedByWhatDoesNotCommit) {
    open();
    push_some(1);
    const std::uint64_t chunks = dnv_state().chunks;
    for (int i = 0; i < 20'000; ++i) push_and_cancel();
    EXPECT_LE(dnv_state().chunks, chunks + 1);
    expect_sound_pool(1);
}

TEST_F(Dnv, AFullPoolSaysSoAndGivesBackWhatIsFreed) {
    options_.bytes = 4 << 20;
    open();
    const long made = allocate_all(1000);
    EXPECT_GT(made, 1000);
    free_all();
    EXPECT_EQ(allocate_all(1000), made);
    free_all();
    reopen();
    EXPECT_EQ(allocate_all(1000), made);
    ASSERT_TRUE(dnv_grow(8 << 20));
    EXPECT_GT(allocate_all(1000), made / 2);
    EXPECT_EQ(dnv_malloc(std::size_t{1} << 40), nullptr);
    free_all();
    expect_sound_pool(0);
}

TEST_F(Dnv, WhatOneThreadFreesAnotherAllocates) {
    options_.bytes = 4 << 20;
    open();
    const long made = allocate_all(1000);
    long again = 0;
    std::thread([&] {
        free_all();
    }).join();
    // The heap of a thread that is there all the time.
    again = allocate_all(1000);
    EXPECT_GE(again, made - 1);
    free_all();
    expect_sound_pool(0);
}

TEST_F(Dnv, ATransactionLargerThanTheLogFailsAndLeavesNothing) {
    use_nvram();
    options_.log_bytes = 256 << 10;
    open();
    constexpr std::size_t words = 100'000;
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(words * sizeof(std::uint64_t)));
    ASSERT_NE(block, nullptr);
    fill_words(block, 1000, 7);
    const auto filled = try_to_fill_words(block, words, 9);
    ASSERT_FALSE(filled);
    EXPECT_EQ(filled.error().code, errc::transaction_too_large) << filled.error().text();
    EXPECT_EQ(sum_of_words(block, 1000), 7000u);
    ASSERT_TRUE(try_to_fill_words(block, 1000, 8));
    EXPECT_EQ(sum_of_words(block, 1000), 8000u);
}

TEST_F(Dnv, PartsOfWordsLeaveTheirNeighboursAndGetTheirCode) {
    open();
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(16));
    fill_words(block, 2, 0x1111'1111'1111'1111);
    store_parts(reinterpret_cast<unsigned char*>(block));
    EXPECT_EQ(place_of(block)->word, 0x0304'1111'AB11'1111u);
    EXPECT_EQ(place_of(block + 1)->word, 0x1111'1111'1111'0102u);
    expect_sound_pool(1);
}

TEST_F(Dnv, UpToSixFlippedBitsOfAWordAreCorrectedWhereItIsRead) {
    open();
    push_some(50);
    workload::random random(7);
    for (unsigned flips = 1; flips <= 6; ++flips) {
        for (int round = 0; round < 20; ++round) {
            // A link, an id, a word of the payload, a static variable, a bin, the Chunk Table.
            long* const node = first_node();
            const void* const candidates[] = {node, node + 1, node + 2, &the_space.staged->bins[1][3].free,
                                              &the_space.staged->chunks[0],
                                              reinterpret_cast<const void*>(the_placement.statics_begin)};
            ecc::coded_word* const place = place_of(candidates[random.below(std::size(candidates))]);
            const ecc::coded_word before = *place;
            *place = ecc::flipped_by(before, ecc::random_pattern(flips, random));
            expect_sound_list(50);
            push_front(51, 8);
            EXPECT_EQ(pop_front(), 51);
            if (*place != before) {
                // Not read on the way: by the audit.
                const audit_report found = audit_open_pool(true);
                EXPECT_TRUE(found.problems.empty());
            }
            EXPECT_TRUE(ecc::is_valid(*place));
        }
    }
    EXPECT_GE(dnv_state().mended_words, 100u);
    reopen();
    expect_sound_list(50);
}

TEST_F(Dnv, AWordThatNothingCorrectsIsItsHandlersToDecide) {
    open();
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(64));
    fill_words(block, 8, 5);
    const auto break_word = [&] {
        place_of(block + 3)->word ^= 0x0000'0F0F'0F0F'0000;
        ASSERT_FALSE(ecc::is_valid(*place_of(block + 3)));
    };
    break_word();
    damage told;
    dnv_on_uncorrectable([&](const damage& found) {
        told = found;
        return verdict::leave();
    });
    std::uint64_t sum = 0;
    const auto left = try_to_sum_words(block, 8, sum);
    ASSERT_FALSE(left);
    EXPECT_EQ(left.error().code, errc::corrupt);
    EXPECT_EQ(told.address, block + 3);
    EXPECT_EQ(told.block, block);
    EXPECT_EQ(told.block_bytes, 64u);
    EXPECT_EQ(sum_of_words(block, 3), 15u) << "the rest is usable";
    dnv_on_uncorrectable_in_this_thread([](const damage&) { return verdict::supply(5); });
    EXPECT_EQ(sum_of_words(block, 8), 40u);
    EXPECT_TRUE(ecc::is_valid(*place_of(block + 3)));
    dnv_on_uncorrectable_in_this_thread(nullptr);
    dnv_on_uncorrectable(nullptr);
}

TEST_F(Dnv, AnUnprotectedPoolHasNoCodes) {
    options_.protect = false;
    open();
    push_some(20);
    place_of(first_node())->code = 12345;
    expect_sound_list(20);
    options_.protect = true;
    reopen();
    expect_sound_list(20);
}

TEST_F(Dnv, AnAccessOutsideOfBlocksEndsTheProgramWithItsPlace) {
    open();
    push_some(1);
    ASSERT_TRUE(dnv_close());
    int status = 0;
    std::string said = said_by_child([] { touch_count_plainly(); }, status);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    EXPECT_NE(said.find("count"), std::string::npos) << said;
    said = said_by_child([] { touch_node_plainly(); }, status);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    EXPECT_NE(said.find("block of 32 bytes"), std::string::npos) << said;
    said = said_by_child([] { dnv_free(reinterpret_cast<char*>(first_node()) + 1); }, status);
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_NE(said.find("dnv_free"), std::string::npos) << said;
}

TEST_F(Dnv, AnEarlierHandlerOfFaultsIsStillCalled) {
    open();
    ASSERT_TRUE(dnv_close());
    int status = 0;
    const std::string said = said_by_child(
        [] { *reinterpret_cast<volatile int*>(8) = 1; }, status);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    EXPECT_EQ(said, "");
}

TEST_F(Dnv, ThreadsAreIsolatedAndWhatTheyDidSurvivesAKill) {
    for (unsigned way = 0; way < ways; ++way) {
        use_way(way);
        static int transfers;
        transfers = way == 2 ? 500 : 5000;
        in_killed_child([] {
            make_counters();
            std::vector<std::thread> threads;
            for (unsigned thread = 0; thread < 4; ++thread)
                threads.emplace_back([thread] {
                    std::mt19937 random(thread);
                    for (int i = 0; i < transfers; ++i) {
                        transfer(random() % 64, random() % 64);
                        if (i % 4 == 0) push_front(i, random() % 300);
                        if (i % 4 == 1) pop_front();
                    }
                });
            for (auto& each : threads) each.join();
            push_front(77, 0);
        });
        open();
        EXPECT_EQ(sum_of_counters(), 64'000u);
        const list_summary found = summary();
        expect_sound_list(found.count);
        expect_sound_pool(static_cast<std::uint64_t>(found.count) + 1);
        ASSERT_TRUE(dnv_close());
    }
}

/// A child is stopped at its instructions; the pool as a kill there would leave it is copied and opened.
TEST_F(Dnv, AKillAtAnyInstructionLeavesAllOrNothing) {
    options_.bytes = 1 << 20;
    options_.accept_not_durable = true;
    int first[2], last[2];
    ASSERT_EQ(::pipe(first), 0);
    ASSERT_EQ(::pipe(last), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        if (!dnv_open(path(), options_)) ::_exit(3);
        push_some(5);
        rotate();
        ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        ::raise(SIGSTOP);
        rotate();
        ::raise(SIGSTOP);
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSTOPPED(status));
    const std::string copy = directory_ + "/copy";
    long steps = 0, images = 0;
    std::vector<long> sums;
    for (bool is_over = false; !is_over; ++steps) {
        // Each thirteenth: some thousand instructions, of which a few stores are what matters.
        if (steps % 13 == 0) {
            fs::copy_file(path(), copy, fs::copy_options::overwrite_existing);
            open_at(copy);
            const list_summary found = summary();
            expect_sound_list(found.count);
            expect_sound_pool(static_cast<std::uint64_t>(found.count));
            if (sums.empty() || sums.back() != found.sum_said) sums.push_back(found.sum_said);
            ASSERT_TRUE(dnv_close());
            ++images;
        }
        ASSERT_EQ(::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr), 0);
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        is_over = WIFEXITED(status) || (WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP && steps > 0);
        ASSERT_LT(steps, 100'000);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    EXPECT_EQ(sums.size(), 2u) << "the state before and the one after, in this order";
    std::printf("%ld instructions, %ld images\n", steps, images);
}

TEST_F(Dnv, KillsAtRandomMomentsLeaveTheCommitsOfEveryThread) {
    options_.bytes = 4 << 20;
    std::mt19937 random(20261125);
    const int rounds = ::getenv("HOLDFAST_SOAK") != nullptr ? 300 : 20;
    for (int round = 0; round < rounds; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            if (!dnv_open(path(), options_)) ::_exit(3);
            make_counters();
            std::vector<std::thread> threads;
            for (unsigned thread = 0; thread < 2; ++thread)
                threads.emplace_back([thread, round] {
                    std::mt19937 own(thread + static_cast<unsigned>(round) * 2);
                    for (;;) {
                        transfer(own() % 64, own() % 64);
                        if (read_count() < 200) push_front(1, own() % 300);
                        if (own() % 2 == 0) pop_front();
                        rotate();
                    }
                });
            for (auto& each : threads) each.join();
        }
        ::usleep(static_cast<useconds_t>(15'000 + random() % 10'000));
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status)) << status;
        open();
        make_counters();
        EXPECT_EQ(sum_of_counters(), 64'000u);
        const list_summary found = summary();
        expect_sound_list(found.count);
        expect_sound_pool(static_cast<std::uint64_t>(found.count) + 1);
        ASSERT_TRUE(dnv_close());
        if (HasFailure()) FAIL() << "round " << round;
    }
}

TEST_F(Dnv, WhatCannotBeOpenedSaysWhy) {
    open();
    const auto twice = dnv_open(directory_ + "/other", options_);
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code, errc::misuse);
    ASSERT_TRUE(dnv_close());
    EXPECT_EQ(dnv_close().error().code, errc::misuse);
    {
        create_options other;
        other.durability = level::process;
        ASSERT_TRUE(redo::pool::create(directory_ + "/redo", other));
    }
    const auto of_other_engine = dnv_open(directory_ + "/redo", options_);
    ASSERT_FALSE(of_other_engine);
    EXPECT_EQ(of_other_engine.error().code, errc::engine_mismatch) << of_other_engine.error().text();
}

}  // namespace
}  // namespace holdfast::dnv::test
