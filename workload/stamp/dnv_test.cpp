// STAMP programs in dnv pools, with codes (RTx) and without (Tx): they run there, and what was killed in the middle is
// sound when it is opened again, and can finish. With one thread they do there what they do in ordinary memory. It is
// compiled with the flags of atomic blocks, and linked with either algorithm.
#include <workload/plain_access.hpp>
#include <workload/stamp/killed_test.hpp>

#include <holdfast/dnv/access.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string_view>

namespace holdfast::workload::test {

DNV_POD kept_run kept;

namespace {

class StampInDnv : public ::testing::TestWithParam<bool> {
protected:
    StampInDnv() {
        options_.bytes = 64 << 20;
        options_.durability = level::process;
        options_.protect = GetParam();
    }

    /// Each life opens the pool of this name in a process of its own: of pools there is one in a process.
    template <class Parameters>
    stamp_children children(const std::string& pool, const Parameters& given, std::uint64_t threads) {
        return stamp_children([this, pool, given, threads](told_transactions& told) -> const char* {
            if (!dnv_open(directory_.file(pool), options_)) return "the pool could not be opened";
            const char* const problem =
                live(told_access<dnv::dnv_access>(dnv::dnv_access(), told), &kept, given, threads);
            return problem != nullptr || dnv_close() ? problem : "the pool could not be closed";
        });
    }

    persist::test::scratch_directory directory_{"/dev/shm"};
    dnv_options options_;
};

TEST_P(StampInDnv, IsSoundAfterAKillAndFinishesWithARightResult) {
    const std::uint64_t seed = holdfast::test::seed_of_run();
    each_killed([&](const char* name, const auto& given) {
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, name);
        std::printf("%s\n", name);
        auto lives = children(name, given, 2);
        kill_at_points(lives, seed);
    });
}

TEST_P(StampInDnv, ThreadsHaveARightResult) {
    // Room for the largest sets.
    if (holdfast::test::at_full_length()) options_.bytes = std::uint64_t{6} << 30;
    // A pool for each: what a run that failed has left is not for the next.
    each_shared_run([&](const auto& given, unsigned threads) {
        children("shared", given, threads).live();
        std::filesystem::remove(directory_.file("shared"));
    });
}

/// A run of one thread in the open pool, beside one in ordinary memory. What is wrong, or nullptr.
template <class Parameters>
const char* compare_with_ordinary_memory(const Parameters& given) {
    const stamp_outcome expected = run_stamp(plain_access(), given, 1);
    stamp_outcome found;
    const life_report end = live_as(dnv::dnv_access(), &kept, given, 1, [&](auto& program) -> const char* {
        found.transactions = work_on_threads(program, 1);
        return failures_so_far() != 0 ? "a transaction failed" : nullptr;
    });
    if (end.problem != nullptr) return end.problem;
    found.hash = end.hash;
    if (found.hash != expected.hash) return "the result is another than in ordinary memory";
    return found == expected ? nullptr : "there were more transactions than in ordinary memory, or fewer";
}

TEST_P(StampInDnv, OneThreadHasTheResultAndTheTransactionsOfOrdinaryMemory) {
    stamp_children lives([this](told_transactions&) -> const char* {
        if (!dnv_open(directory_.file("alone"), options_)) return "the pool could not be opened";
        const char* problem = nullptr;
        each_stamp_set([&](const auto& set) {
            if (set.size != std::string_view("small") || problem != nullptr) return;
            problem = compare_with_ordinary_memory(set.parameters);
            if (problem != nullptr) std::fprintf(stderr, "in the child: %s\n", set.name);
        });
        return problem != nullptr || dnv_close() ? problem : "the pool could not be closed";
    });
    lives.live();
}

/// vacation in a pool that has no room for its tables. What is wrong, or nullptr.
const char* begin_without_room() {
    vacation_program<dnv::dnv_access> program(
        dnv::dnv_access(), reinterpret_cast<vacation_program_root*>(kept.root), vacation_program_parameters{});
    if (program.begin(1)) return "it had room";
    if (!program.end()) return "what was begun could not be taken away";
    return is_all_zero(dnv::dnv_access(), &kept) ? nullptr : "what was begun is still there";
}

TEST_P(StampInDnv, WithoutRoomInThePoolABeginFailsAndItsEndTakesAllAway) {
    options_.bytes = 2 << 20;
    stamp_children lives([this](told_transactions&) -> const char* {
        if (!dnv_open(directory_.file("small"), options_)) return "the pool could not be opened";
        const char* const problem = begin_without_room();
        return problem != nullptr || dnv_close() ? problem : "the pool could not be closed";
    });
    lives.live();
}

INSTANTIATE_TEST_SUITE_P(, StampInDnv, ::testing::Bool(),
                         [](const auto& with) { return with.param ? "WithCodes" : "WithoutCodes"; });

}  // namespace
}  // namespace holdfast::workload::test
