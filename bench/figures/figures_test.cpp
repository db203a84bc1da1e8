// What is drawn from records, and which records are refused.
#include <bench/figures/figures.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace holdfast::bench {
namespace {

record of_wrap(const std::string& case_name, const std::string& engine, std::uint64_t rate, const std::string& metric,
               double value) {
    parameters params{{"level", std::string("power")}, {"delay_ns", std::uint64_t{0}}};
    if (rate != 0) params.emplace_back("rate", rate);
    return {"wrap", case_name, engine, 1, params, metric, "1", value, value, value, 9};
}

/// An engine that keeps up with all rates but the last.
void add_engine(std::vector<record>& to, const std::string& engine, double tx_per_s) {
    to.push_back(of_wrap("sustained", engine, 0, "tx_per_s", tx_per_s));
    for (const std::uint64_t rate : {500u, 1000u, 2000u}) {
        to.push_back(of_wrap("response", engine, rate, "achieved_per_s", rate < 2000 ? 1000 : 1500));
        to.push_back(of_wrap("response", engine, rate, "mean_response_ns", 5000 + static_cast<double>(rate)));
        to.push_back(of_wrap("response", engine, rate, "p99_response_ns", 7000 + static_cast<double>(rate)));
    }
}

std::string drawn(const std::vector<record>& records, const std::string& file) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    draw_softwrap_lat(records, here.path());
    std::ifstream in(here.path() + "/" + file);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Figures, OfSoftWrapCompareThroughputWithThePapersUndoLog) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    std::vector<record> records;
    add_engine(records, "undo_paper", 200'000);
    add_engine(records, "redo", 390'000);
    const paper_section made = draw_softwrap_lat(records, here.path());
    ASSERT_EQ(made.figures.size(), 2u) << "2a for the only delay, and 2b";
    for (const auto& one : made.figures) EXPECT_TRUE(std::filesystem::exists(here.path() + "/" + one.file));
    EXPECT_NE(made.table.find("<td>redo</td><td>390000</td><td>1.95</td>"), std::string::npos) << made.table;
}

TEST(Figures, OfSoftWrapLeaveOutRatesAtWhichAnEngineFallsBehind) {
    std::vector<record> records;
    add_engine(records, "undo_paper", 200'000);
    const std::string before = drawn(records, "softwrap-lat-figure-2a.svg");
    EXPECT_NE(before.find("<svg"), std::string::npos);
    for (auto& one : records)
        if (one.metric == "mean_response_ns" && one.params.back().second == parameter{std::uint64_t{2000}})
            one.value = 1e9;
    EXPECT_EQ(drawn(records, "softwrap-lat-figure-2a.svg"), before);
}

/// Throughput of cchtm's contestants in `case_name`: theirs is `tx_per_s`, that of cc_htm twice as much.
void add_case(std::vector<record>& to, const std::string& case_name, unsigned threads, std::uint64_t group,
              std::uint64_t write_percent, double tx_per_s) {
    const auto add = [&](const char* engine, const char* concurrency, std::uint64_t lag, const char* retire,
                         double value) {
        parameters params{{"concurrency", std::string(concurrency)}, {"delay_ns", std::uint64_t{0}}, {"lag", lag},
                          {"retire", std::string(retire)}, {"medium", std::string("nvram")}};
        if (group != 0) params.emplace_back("group", group);
        if (write_percent != 0) params.emplace_back("write_percent", write_percent);
        to.push_back({"cchtm", case_name, engine, threads, params, "tx_per_s", "1/s", value, value, value, 9});
    };
    add("ptl2", "tl2", 0, "none", tx_per_s);
    add("cc_htm", "value", 128, "cooperative", 2 * tx_per_s);
    add("cc_htm", "value", 0, "cooperative", tx_per_s);
    add("cc_htm", "versioned", 128, "cooperative", tx_per_s);
}

TEST(Figures, OfContinuousCheckpointingCompareTheBetterAlgorithmWithThePapersRival) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    std::vector<record> records;
    for (const unsigned threads : {1u, 2u})
        for (const std::string name : {"tree", "hash", "ssca2", "vacation"})
            add_case(records, name, threads, name == "hash" ? 10 : 0, name == "hash" ? 100 : 0, 200'000);
    add_case(records, "hash", 2, 30, 100, 70'000);
    add_case(records, "hash", 2, 10, 50, 300'000);
    for (const std::uint64_t ways : {0u, 1u, 2u, 4u})
        records.push_back({"cchtm", "aliases", "cc_htm", 2,
                           {{"medium", std::string("nvram")}, {"aliases", std::string(ways == 0 ? "pages" : "sets")},
                            {"alias_bytes", std::uint64_t{ways == 0 ? 0u : 1u << 20}}, {"alias_ways", ways}},
                           "tx_per_s", "1/s", 1e6, 1e6, 1e6, 9});
    const paper_section made = draw_cc_htm(records, here.path());
    EXPECT_EQ(made.figures.size(), 12u) << "3 and 4 in one, 5, 7 to 13, 15 to 17";
    for (const auto& one : made.figures) EXPECT_TRUE(std::filesystem::exists(here.path() + "/" + one.file)) << one.file;
    EXPECT_NE(made.table.find("<td>hash, 30 stores</td><td>1.5 to 2</td><td>-</td><td>2.00</td>"), std::string::npos)
        << made.table;
}

TEST(Figures, AreNotDrawnFromRecordsOfAnotherSuite) {
    try {
        drawn({}, "");
        FAIL() << "they were drawn";
    } catch (const failure& reason) {
        EXPECT_EQ(reason.reason().code, errc::invalid_argument);
    }
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    EXPECT_THROW(draw_cc_htm({}, here.path()), failure);
}

std::vector<record> false_alarms(unsigned runs) {
    std::vector<record> made;
    for (const char* machine : {"idle", "busy"})
        for (const char* metric : {"stopped_ms", "copied_ms", "flushed_ms"})
            made.push_back({"rig", "false_alarm", "module", 1,
                            {{"machine", std::string(machine)}, {"emulated", std::string("yes")}}, metric, "ms",
                            3.25, 1, 7.5, runs});
    return made;
}

TEST(Figures, OfDnvMemoryHaveTheTimesOfFalseAlarmsBesideThePapers) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    const paper_section made = draw_dnv_memory(false_alarms(20), here.path());
    ASSERT_EQ(made.figures.size(), 1u);
    EXPECT_TRUE(std::filesystem::exists(here.path() + "/" + made.figures[0].file));
    const std::string row = "<td>busy</td><td>4.20 (3.80 to 4.80)</td><td>3.25 (1.00 to 7.50)</td>";
    EXPECT_NE(made.table.find(row), std::string::npos) << made.table;
    EXPECT_NE(made.table.find("<td>caches written back</td><td>idle</td><td>-</td>"), std::string::npos) << made.table;
    EXPECT_NE(made.introduction.find("emulated"), std::string::npos);
}

TEST(Figures, OfDnvMemoryAreRefusedFromFewerRunsOrOtherRecords) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    EXPECT_THROW(draw_dnv_memory(false_alarms(19), here.path()), failure);
    EXPECT_THROW(draw_dnv_memory({}, here.path()), failure);
}

}  // namespace
}  // namespace holdfast::bench
