// Runs of STAMP programs in tests.
#pragma once

#include <workload/stamp/programs.hpp>

#include <holdfast/base/test_run.hpp>

#include <gtest/gtest.h>

#include <barrier>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::workload::test {

/// How a run ended.
struct stamp_outcome {
    std::uint64_t hash = 0;
    std::uint64_t transactions = 0;
    bool operator==(const stamp_outcome&) const = default;
};

inline void expect_untouched(const void* root, std::size_t bytes) {
    const auto* const first = static_cast<const unsigned char*>(root);
    const std::vector<unsigned char> left(first, first + bytes);
    EXPECT_EQ(left, std::vector<unsigned char>(bytes)) << "end left something";
}

/// The work alone, on threads that begin together.
template <class Program>
std::uint64_t work_on_threads(Program& program, std::uint64_t threads) {
    std::barrier<> all(static_cast<std::ptrdiff_t>(threads));
    std::vector<stamp_thread<std::barrier<>>> members;
    for (std::uint64_t i = 0; i < threads; ++i) members.emplace_back(i, threads, all);
    std::vector<std::thread> running;
    for (auto& me : members)
        running.emplace_back([&] {
            me.wait();
            program.work(me);
        });
    std::uint64_t transactions = 0;
    for (std::thread& each : running) each.join();
    for (const auto& me : members) {
        EXPECT_FALSE(me.failed());
        transactions += me.transactions();
    }
    return transactions;
}

/// A whole run, of which the check must find nothing. An Access that counts blocks must have none left.
template <class Access, class Parameters>
stamp_outcome run_stamp(const Access& memory, const Parameters& given, std::uint64_t threads) {
    using program_type = typename Parameters::template program<Access>;
    typename program_type::root_type root{};
    program_type program(memory, &root, given);
    stamp_outcome outcome;
    EXPECT_TRUE(program.begin(threads));
    outcome.transactions = work_on_threads(program, threads);
    const check_report report = program.check();
    EXPECT_EQ(report.problem, nullptr) << report.problem << " after " << report.count << " things were right";
    EXPECT_GT(report.count, 0u);
    outcome.hash = program.hash();
    EXPECT_TRUE(program.end());
    expect_untouched(&root, sizeof(root));
    return outcome;
}

/// Calls f(parameters, threads) for each small set on two threads; at full length for those of all sizes on four and
/// eight, too. Where a test tries few places one set of each program is enough.
template <class F>
void each_shared_run(F&& f) {
    each_stamp_set([&](const auto& set) {
#ifdef HOLDFAST_FEW_PLACES
        if (std::string_view(set.name).ends_with("-high")) return;
#endif
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, std::string(set.name) + " " + set.size);
        if (set.size == std::string_view("small")) f(set.parameters, 2u);
        if (!holdfast::test::at_full_length()) return;
        std::printf("%s %s\n", set.name, set.size);
        std::fflush(stdout);
        for (const unsigned threads : {4u, 8u}) f(set.parameters, threads);
    });
}

}  // namespace holdfast::workload::test
