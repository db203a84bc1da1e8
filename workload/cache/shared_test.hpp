// Several threads with one cache, in any Access that isolates them.
#pragma once

#include <workload/cache/model_test.hpp>

#include <gtest/gtest.h>

#include <latch>
#include <thread>

namespace holdfast::workload::test {

template <class F>
void on_threads(std::uint64_t threads, F work) {
    std::latch together(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::thread> running;
    for (std::uint64_t thread = 0; thread < threads; ++thread)
        running.emplace_back([&, thread] {
            together.arrive_and_wait();
            work(thread);
        });
    for (std::thread& each : running) each.join();
}

/// The check in a transaction, for an Access that loads only there.
template <access Access>
const char* checked(const Access& memory, const cache<Access>& all) {
    const char* problem = "the transaction failed";
    static_cast<void>(memory.atomically([&] { problem = cache_check<Access>(memory, all).run().problem; }));
    return problem;
}

/// Each thread has keys of its own, and a model of them, and adds to a number that all share. Nothing is evicted, so
/// that every answer and the sum of all counts is known.
template <access Access>
void run_own_keys(const Access& memory, cache_root* root, std::uint64_t threads, std::uint64_t commands,
                  std::uint64_t seed) {
    const cache_settings settings{.limit_bytes = 1 << 20, .partitions = 2, .buckets = 64, .move_after_s = 5};
    cache<Access> all(memory, root);
    ASSERT_TRUE(all.create(settings));
    std::vector<cache_model> models(threads + 1, cache_model(settings));
    const cache_command begin{cache_verb::set, "common", "0"};
    const cache_command add{.verb = cache_verb::increment, .key = "common", .number = 1};
    ASSERT_EQ(cache_runner<Access>(all).run(begin), models.back().run(begin));
    on_threads(threads, [&](std::uint64_t thread) {
        cache_runner<Access> runner(all);
        const cache_mix mix{.keys = 25, .flushes = false, .prefix = "of" + std::to_string(thread) + "."};
        std::uint64_t last = 0;
        for (std::uint64_t i = 1; i <= commands; ++i) {
            const cache_command one = drawn_command(seed + thread, i, mix);
            cache_outcome found = runner.run(one), expected = models[thread].run(one);
            // Threads draw from one row of uniques.
            found.unique = expected.unique = 0;
            ASSERT_EQ(found, expected) << "thread " << thread << ", command " << i << ": " << one;
            if (i % 8 != 0) continue;
            const std::uint64_t sum = runner.run(add).number;
            ASSERT_GT(sum, last);
            last = sum;
        }
    });
    for (std::uint64_t i = 0; i < threads * (commands / 8); ++i) models.back().run(add);
    EXPECT_EQ(checked(memory, all), nullptr);
    cache_statistics counts{};
    ASSERT_TRUE(all.statistics(counts));
    for (std::uint64_t word = 0; word < cache_statistics_words; ++word) {
        std::uint64_t sum = 0;
        for (const cache_model& each : models)
            sum += reinterpret_cast<const std::uint64_t*>(&each.statistics())[word];
        EXPECT_EQ(reinterpret_cast<const std::uint64_t*>(&counts)[word], sum) << "count " << word;
    }
    EXPECT_TRUE(all.dispose());
}

/// All threads store the same keys in little memory. A value says whose it is, and is as it was stored.
template <access Access>
void run_same_keys(const Access& memory, cache_root* root, std::uint64_t threads, std::uint64_t commands,
                   std::uint64_t seed) {
    const cache_settings settings{.limit_bytes = 3000, .buckets = 8, .move_after_s = 2};
    cache<Access> all(memory, root);
    ASSERT_TRUE(all.create(settings));
    on_threads(threads, [&](std::uint64_t thread) {
        cache_runner<Access> runner(all);
        for (std::uint64_t i = 1; i <= commands; ++i) {
            cache_command one = drawn_command(seed + thread, i, {.keys = 30});
            if (one.verb == cache_verb::append || one.verb == cache_verb::prepend) one.verb = cache_verb::set;
            one.text = one.key + std::string(one.text.size(), static_cast<char>('a' + i % 26));
            const cache_outcome found = runner.run(one);
            if (found.answer != cache_answer::found) continue;
            ASSERT_EQ(found.text.substr(0, one.key.size()), one.key);
            ASSERT_EQ(found.text.find_first_not_of(found.text.back(), one.key.size()), std::string::npos) << found.text;
        }
    });
    EXPECT_EQ(checked(memory, all), nullptr);
    cache_statistics counts{};
    ASSERT_TRUE(all.statistics(counts));
    EXPECT_GT(counts.evictions, commands / 100);
    EXPECT_TRUE(all.dispose());
}

/// One thread: every answer and count is what the model says.
template <access Access>
void run_alone(const Access& memory, cache_root* root, std::uint64_t commands, std::uint64_t seed) {
    const cache_settings settings{.limit_bytes = 4000, .partitions = 2, .buckets = 8, .value_bytes_max = 400,
                                  .move_after_s = 5};
    cache<Access> all(memory, root);
    ASSERT_TRUE(all.create(settings));
    cache_runner<Access> runner(all);
    cache_model model(settings);
    for (std::uint64_t i = 1; i <= commands; ++i) {
        const cache_command one = drawn_command(seed, i);
        ASSERT_EQ(runner.run(one), model.run(one)) << "command " << i << ": " << one;
    }
    EXPECT_EQ(checked(memory, all), nullptr);
    cache_statistics counts{};
    ASSERT_TRUE(all.statistics(counts));
    EXPECT_EQ(std::memcmp(&counts, &model.statistics(), sizeof counts), 0);
    EXPECT_TRUE(all.dispose());
}

}  // namespace holdfast::workload::test
