// Kills of processes with a dnv pool: at moments and at instructions, with threads.
#include <holdfast/dnv/dnv_test_support.hpp>

namespace holdfast::dnv::test {
namespace {

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
        expect_sound_bank();
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

/// Threads that do little but commit, until they are killed.
class committing {
public:
    static constexpr unsigned threads = 2;
    /// Large enough that most moments are in the middle of a commit.
    static constexpr std::size_t words = 256;

    /// Says by `started` when all of them are at it.
    [[noreturn]] static void run_until_killed(const std::uint64_t* const* blocks, unsigned seed, int started) {
        std::atomic<unsigned> running{0};
        std::vector<std::thread> all;
        for (unsigned thread = 0; thread < threads; ++thread)
            all.emplace_back([&, thread] {
                std::mt19937 own(thread + seed * threads);
                for (std::uint64_t value = own();; ++value) {
                    fill_words(const_cast<std::uint64_t*>(blocks[thread]), words, value);
                    transfer(own() % 64, own() % 64);
                    if (read_count() < 200) push_front(1, own() % 300);
                    if (own() % 2 == 0) pop_front();
                    rotate();
                    if (value % 4 == 0 && running.fetch_add(1) == threads - 1) say(started);
                }
            });
        for (auto& each : all) each.join();
        ::_exit(4);
    }

private:
    static void say(int started) {
        const char one = 1;
        if (::write(started, &one, 1) != 1) ::_exit(5);
    }
};

TEST_F(Dnv, KillsInTheMiddleOfCommitsLeaveTheCommitsOfEveryThread) {
    const unsigned most_kills = at_full_length() ? 10'000 : 10;
    const unsigned wanted = at_full_length() ? 300 : most_kills;
    options_.bytes = 4 << 20;
    for (unsigned way = 0; way < 2; ++way) {
        use_way(way);
        open();
        make_counters();
        std::uint64_t* blocks[committing::threads];
        std::uint64_t offsets[committing::threads];
        for (unsigned thread = 0; thread < committing::threads; ++thread) {
            blocks[thread] = static_cast<std::uint64_t*>(dnv_malloc(committing::words * 8));
            fill_words(blocks[thread], committing::words, thread);
            offsets[thread] = the_space.offset_of(blocks[thread]);
        }
        ASSERT_TRUE(dnv_close());
        std::mt19937 random(20261125 + way);
        unsigned kills = 0, in_commit = 0;
        for (; in_commit < wanted && kills < most_kills; ++kills) {
            kill_in(std::chrono::microseconds(random() % 4000), [&](int started) {
                committing::run_until_killed(blocks, kills, started);
            });
            // Homes that are half stored show that it was in a commit.
            bool is_torn = false;
            for (const std::uint64_t offset : offsets) is_torn = is_torn || !is_even(offset, committing::words);
            if (is_torn) ++in_commit;
            open();
            for (const std::uint64_t* const block : blocks)
                EXPECT_EQ(sum_of_words(block, committing::words), committing::words * read_in_block(block));
            expect_sound_bank(committing::threads);
            ASSERT_TRUE(dnv_close());
            if (HasFailure()) FAIL() << "way " << way << ", kill " << kills;
        }
        EXPECT_TRUE(in_commit == wanted || !at_full_length()) << in_commit << " of " << kills;
        std::printf("way %u: %u kills, %u of them between two stores of a commit\n", way, kills, in_commit);
    }
}

}  // namespace
}  // namespace holdfast::dnv::test
