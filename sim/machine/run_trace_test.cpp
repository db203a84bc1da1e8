// The timeline of a run: it has what the counters of the same run have, and changes nothing.
#include <sim/machine/small_run_test.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace holdfast::sim {
namespace {

constexpr trace_window everything{0, ~cycle{0} / 1'000'000};

result<simulation_result> traced_run(std::optional<trace_window> window, std::uint32_t threads = 2) {
    simulation_options options = test::small_run("hash", threads);
    options.operations = 200;
    options.trace = window;
    return simulate(test::small_machine(), options, test::nobody_looks);
}

std::uint64_t counter_of(const simulation_result& of, std::string_view name) {
    for (const statistic& each : of.statistics) {
        if (each.name == name) return static_cast<std::uint64_t>(each.value);
    }
    ADD_FAILURE() << "no " << name;
    return 0;
}

std::string text_of_statistics(const simulation_result& of) {
    std::string text;
    for (const statistic& each : of.statistics) text += each.name + " " + std::to_string(each.value) + "\n";
    return text;
}

using span_test = std::function<bool(const timeline_span&)>;

/// Spans in lanes whose names end so.
std::uint64_t spans(const timeline& of, std::string_view lane, const span_test& wanted = [](const auto&) {
    return true;
}) {
    return static_cast<std::uint64_t>(std::count_if(of.spans.begin(), of.spans.end(), [&](const timeline_span& each) {
        return of.lanes[each.lane].ends_with(lane) && wanted(each);
    }));
}

span_test is_named(std::string_view begin) {
    return [begin](const timeline_span& each) { return each.name.starts_with(begin); };
}

TEST(RunTrace, HasEveryInstructionStoreAndAccessThatTheCountersHave) {
    const auto run = traced_run(everything);
    ASSERT_TRUE(run) << run.problem().text();
    const timeline& seen = *run->trace;
    const auto counter = [&](std::string_view name) { return counter_of(*run, name); };
    EXPECT_EQ(spans(seen, "instructions"), counter("instructions"));
    EXPECT_EQ(spans(seen, "store queue", is_named("store")), counter("drained_stores"));
    EXPECT_EQ(spans(seen, "store queue", is_named("tx commit")), counter("transactions"));
    EXPECT_EQ(spans(seen, "IL1", is_named("fetch")), counter("il1_reads"));
    EXPECT_EQ(spans(seen, "DL1", is_named("eviction")), counter("dl1_evictions"));
    EXPECT_EQ(spans(seen, "L2", is_named("miss")), counter("l2_read_misses"));
    EXPECT_EQ(spans(seen, "L2", is_named("hit")), counter("l2_reads") - counter("l2_read_misses"));
    EXPECT_EQ(spans(seen, "L2", is_named("write-back")), counter("l2_write_backs"));
    EXPECT_EQ(spans(seen, "read queue"), counter("nvram_reads"));
    EXPECT_EQ(spans(seen, "write queue"), counter("nvram_writes"));
    std::uint64_t conflicts = 0, accesses = 0;
    for (int bank = 0; bank < 8; ++bank) {
        const std::string name = "NVRAM bank " + std::to_string(bank);
        accesses += spans(seen, name);
        conflicts += spans(seen, name, [](const auto& each) { return each.name.ends_with("conflict"); });
    }
    EXPECT_EQ(accesses, counter("nvram_reads") + counter("nvram_writes"));
    EXPECT_EQ(accesses - conflicts, counter("nvram_read_row_hits") + counter("nvram_write_row_hits"));
}

TEST(RunTrace, LanesOfTheLogHaveWhatItsCountersHave) {
    simulation_options options = test::small_run("hash", 2);
    options.operations = 2000;
    options.design = design::fwb;
    machine_config machine = test::small_machine();
    machine.log.bytes = 64 << 10;
    machine.log.scan_period = ns(20'000);
    const auto plain = simulate(machine, options, test::nobody_looks);
    options.trace = everything;
    const auto run = simulate(machine, options, test::nobody_looks);
    ASSERT_TRUE(run) << run.problem().text();
    ASSERT_TRUE(plain) << plain.problem().text();
    EXPECT_EQ(text_of_statistics(*run), text_of_statistics(*plain)) << "looking on changes nothing";
    const auto counter = [&](std::string_view name) { return counter_of(*run, name); };
    const timeline& seen = *run->trace;
    // A record that is in the buffer when measuring begins was counted before, or is not seen.
    const std::uint64_t records = counter("log_records") + counter("log_commit_records");
    EXPECT_NEAR(static_cast<double>(spans(seen, "log buffer")), static_cast<double>(records),
                machine.log.buffer_entries);
    EXPECT_EQ(spans(seen, "held lines"), counter("log_lines_held"));
    EXPECT_GT(spans(seen, "held lines"), 0u);
    std::uint64_t forced = 0;
    for (const timeline_span& each : seen.spans) {
        EXPECT_LE(each.begin, each.end) << each.name;
        const std::size_t number = each.name.find("forced: ");
        if (number != std::string::npos) forced += std::stoul(each.name.substr(number + 8));
    }
    EXPECT_EQ(forced, counter("log_lines_forced"));
    EXPECT_GT(forced, 100u);
    EXPECT_GT(spans(seen, "NVRAM log queue"), 0u);
    EXPECT_EQ(spans(seen, "NVRAM log queue") + spans(seen, "write queue"), counter("nvram_writes"));
}

TEST(RunTrace, StagesOfAnInstructionFollowEachOtherAndCommitsAreInOrder) {
    const auto run = traced_run(everything, 1);
    ASSERT_TRUE(run) << run.problem().text();
    time last{};
    std::uint64_t seen = 0;
    for (const timeline_span& each : run->trace->spans) {
        if (!run->trace->lanes[each.lane].ends_with("instructions")) continue;
        EXPECT_LT(each.begin, each.active->begin);
        EXPECT_LE(each.active->begin, each.active->end);
        EXPECT_LT(each.active->end, each.end) << "a result commits no earlier than it is there";
        EXPECT_LE(last, each.end);
        last = each.end;
        ++seen;
    }
    EXPECT_GT(seen, 0u);
}

TEST(RunTrace, AWindowHasWhatTouchesItAndNothingElse) {
    const auto all = traced_run(everything);
    const auto part = traced_run(trace_window{5000, 6000});
    ASSERT_TRUE(all && part);
    const time begin = ps(400) * 5000, end = ps(400) * 6000;
    EXPECT_EQ(part->trace->begin, begin);
    EXPECT_EQ(part->trace->end, end);
    const auto touches = [&](const timeline_span& each) {
        return each.begin < end && (each.end > begin || each.begin >= begin);
    };
    const auto count = [&](const timeline& of) {
        return std::count_if(of.spans.begin(), of.spans.end(), touches);
    };
    EXPECT_GT(count(*part->trace), 0);
    EXPECT_EQ(count(*part->trace), count(*all->trace));
    EXPECT_EQ(static_cast<std::size_t>(count(*part->trace)), part->trace->spans.size());
}

TEST(RunTrace, LookingOnChangesNothing) {
    const auto plain = traced_run(std::nullopt);
    const auto watched = traced_run(trace_window{1000, 2000});
    ASSERT_TRUE(plain && watched);
    EXPECT_FALSE(plain->trace);
    EXPECT_EQ(text_of_statistics(*plain), text_of_statistics(*watched));
}

TEST(RunTrace, AWindowBehindTheEndOfTheRunIsAnError) {
    const auto run = traced_run(trace_window{1'000'000'000, 1'000'000'100});
    ASSERT_FALSE(run);
    EXPECT_NE(run.problem().text().find("1000000000 cycles"), std::string::npos) << run.problem().text();
}

}  // namespace
}  // namespace holdfast::sim
