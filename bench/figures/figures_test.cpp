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

TEST(Figures, AreNotDrawnFromRecordsOfAnotherSuite) {
    try {
        drawn({}, "");
        FAIL() << "they were drawn";
    } catch (const failure& reason) {
        EXPECT_EQ(reason.reason().code, errc::invalid_argument);
    }
}

}  // namespace
}  // namespace holdfast::bench
