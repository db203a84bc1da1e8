// STAMP programs in dnv pools whose words have bits that flip while they run. It is compiled with the flags of atomic
// blocks.
#include <workload/stamp/killed_test.hpp>

#include <holdfast/dnv/flipping_access.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

namespace holdfast::workload::test {

extern kept_run kept;  // in dnv_test.cpp

namespace {

/// Transactions of the work of one thread, or of two.
struct run_in_pool {
    life_report end;
    std::uint64_t transactions = 0;
    std::uint64_t flipped = 0;
    std::uint64_t repaired = 0;
};

template <class Parameters>
run_in_pool run_with_flips(const Parameters& given, std::uint64_t threads, std::uint64_t words_between) {
    run_in_pool done;
    const std::uint64_t flipped = dnv::flipping_now.flipped_words, repaired = dnv_state().mended_words;
    dnv::flipping_now.words_between = words_between;
    done.end = live_as(dnv::flipping_access(), &kept, given, threads, [&](auto& program) -> const char* {
        done.transactions = work_on_threads(program, threads);
        return nullptr;
    });
    dnv::flipping_now.words_between = 0;
    done.flipped = dnv::flipping_now.flipped_words - flipped;
    done.repaired = dnv_state().mended_words - repaired;
    return done;
}

/// What is wrong, or nullptr.
template <class Parameters>
const char* compare(const char* name, const Parameters& given) {
    constexpr std::uint64_t words_between = 1000;
    const run_in_pool without = run_with_flips(given, 1, 0);
    if (without.end.problem != nullptr) return without.end.problem;
    if (without.flipped != 0 || without.repaired != 0) return "there were flips without flips";
    const run_in_pool with = run_with_flips(given, 1, words_between);
    if (with.end.problem != nullptr) return with.end.problem;
    if (with.end.hash != without.end.hash || with.transactions != without.transactions) return "the result is another";
    if (with.flipped == 0 || with.repaired != with.flipped) return "not every flip was repaired, or counted";
    const run_in_pool both = run_with_flips(given, 2, words_between);
    if (both.end.problem != nullptr) return both.end.problem;
    std::printf("  %s: %llu words flipped and %llu repaired, with two threads %llu and %llu\n", name,
                static_cast<unsigned long long>(with.flipped), static_cast<unsigned long long>(with.repaired),
                static_cast<unsigned long long>(both.flipped), static_cast<unsigned long long>(both.repaired));
    std::fflush(stdout);
    // What the other thread stores to is right without a repair.
    if (both.repaired == 0 || both.repaired > both.flipped) return "more was repaired than flipped";
    return nullptr;
}

TEST(StampWithFlips, HasTheResultOfARunWithoutFlipsAndEachIsRepairedAndCounted) {
    persist::test::scratch_directory directory{"/dev/shm"};
    dnv_options options;
    options.bytes = 192 << 20;
    options.durability = level::process;
    stamp_children lives([&](told_transactions&) -> const char* {
        if (!dnv_open(directory.file("pool"), options)) return "the pool could not be opened";
        const char* problem = nullptr;
        each_stamp_set([&](const auto& set) {
            if (set.size != std::string_view("small") || problem != nullptr) return;
            problem = compare(set.name, set.parameters);
            if (problem != nullptr) std::printf("  %s\n", set.name);
        });
        if (failures_so_far() != 0) return "a transaction failed";
        return problem != nullptr || dnv_close() ? problem : "the pool could not be closed";
    });
    lives.live();
}

}  // namespace
}  // namespace holdfast::workload::test
