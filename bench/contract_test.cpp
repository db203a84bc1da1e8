// What scripts outside rely on in the records of the suites that repeat papers: names, parameters, one record for each
// combination, exact counts. Rivals are left out; times are not judged.
#include <bench/suites.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

namespace holdfast::bench {
namespace {

using combination = std::tuple<std::string, std::string, parameters, std::string>;

std::map<combination, double> by_combination(const report& from) {
    std::map<combination, double> all;
    for (const auto& one : from.records()) {
        const combination what{one.case_name, one.engine, one.params, one.metric};
        EXPECT_TRUE(all.emplace(what, one.value).second)
            << one.case_name << " " << one.engine << " " << one.metric << " twice";
        EXPECT_LE(one.min, one.max);
        EXPECT_EQ(one.threads, 1u);
    }
    return all;
}

options quick(std::vector<std::string> engines) {
    options asked;
    asked.quick = true;
    asked.trial = true;
    asked.delay_ns = 100;
    asked.engines = std::move(engines);
    return asked;
}

parameters at(const std::string& level, std::uint64_t delay_ns) {
    return {{"level", level}, {"medium", std::string("nvram")}, {"delay_ns", delay_ns}};
}

TEST(Contract, BoundedBufferHasARecordForEachCombination) {
    const report made = measure("bounded-buffer", quick({"none", "plain", "line"}));
    const auto all = by_combination(made);
    const auto value = [&](const char* name, const char* engine, const parameters& params, const char* metric) {
        const auto found = all.find({name, engine, params, metric});
        EXPECT_TRUE(found != all.end()) << name << " " << engine << " " << metric;
        return found == all.end() ? -1 : found->second;
    };
    EXPECT_GT(value("floor", "none", at("power", 0), "ns_per_tx"), 0);
    for (const char* name : {"scenario1", "scenario1-full", "scenario2", "scenario3"}) {
        for (const auto& params : {at("power", 0), at("power", 100), at("process", 0)}) {
            const bool power = std::get<std::string>(params[0].second) == "power";
            EXPECT_GT(value(name, "plain", params, "tx_per_s"), 0);
            EXPECT_GT(value(name, "line", params, "ns_per_tx"), 0);
            EXPECT_EQ(value(name, "line", params, "write_backs_per_tx"), power ? 1 : 0);
            EXPECT_EQ(value(name, "line", params, "fences_per_tx"), power ? 1 : 0);
            EXPECT_EQ(value(name, "line", params, "pm_bytes_per_tx"), power ? 64 : 0);
            EXPECT_EQ(value(name, "line", params, "syncs_per_tx"), 0);
        }
    }
    for (const auto& one : made.records())
        EXPECT_TRUE(one.metric != "ns_per_tx" || one.runs >= 9u) << one.runs;
}

TEST(Contract, LinesHasAFloorForWhatEachCaseWritesBack) {
    const report made = measure("lines", quick({"none", "lines", "lines_tagged"}));
    const auto all = by_combination(made);
    std::map<std::string, std::set<std::uint64_t>> sizes;
    for (const auto& one : made.records()) {
        ASSERT_GE(one.params.size(), 4u);
        EXPECT_EQ(one.params[3].first, "bytes");
        const auto bytes = std::get<std::uint64_t>(one.params[3].second);
        sizes[one.case_name].insert(bytes);
        if (one.engine != "lines" || one.metric != "write_backs_per_tx") continue;
        parameters floor = at("power", 0);
        floor.emplace_back("bytes", bytes);
        floor.emplace_back("lines", static_cast<std::uint64_t>(one.value));
        EXPECT_EQ(all.count({"floor", "none", floor, "ns_per_tx"}), 1u) << one.case_name << " " << bytes;
    }
    for (const char* name : {"one-dirty", "all-dirty", "floor"})
        EXPECT_EQ(sizes[name], (std::set<std::uint64_t>{48, 96, 192, 384, 768, 1536, 3072, 4096})) << name;
}

/// The parameter, or nothing.
template <class T>
T value_of(const record& one, const std::string& name) {
    for (const auto& [each, value] : one.params)
        if (each == name) return std::get<T>(value);
    return {};
}

TEST(Contract, WrapHasARecordForEachCombination) {
    const report made = measure("wrap", quick({"undo_paper", "redo", "word_map"}));
    by_combination(made);
    std::map<std::string, std::set<std::string>> sustained;
    std::map<std::string, std::map<std::uint64_t, std::set<std::string>>> response;
    std::map<std::string, std::set<std::uint64_t>> tables;
    std::set<double> loads;
    for (const auto& one : made.records()) {
        const bool table = one.case_name == "alias-table";
        EXPECT_EQ(value_of<std::string>(one, "medium"), table ? "dram" : "nvram");
        const bool below_power = value_of<std::string>(one, "level") == "process";
        EXPECT_TRUE(below_power || !table);
        EXPECT_EQ(value_of<std::uint64_t>(one, "delay_ns"), below_power ? 0u : 100u);
        EXPECT_TRUE(one.metric != "ns_per_tx" || one.runs >= 9u) << one.runs;
        if (one.case_name == "sustained") sustained[one.engine].insert(one.metric);
        if (one.case_name == "response") response[one.engine][value_of<std::uint64_t>(one, "rate")].insert(one.metric);
        if (table) tables[value_of<std::string>(one, "operation")].insert(value_of<std::uint64_t>(one, "entries"));
        if (one.metric == "loads_per_tx") loads.insert(one.value);
        if (one.metric == "fences_per_tx" && one.engine == "redo") {
            EXPECT_NEAR(one.value, below_power ? 0 : 1, 0.1) << one.case_name;
        }
    }
    for (const char* engine : {"undo_paper", "redo"}) {
        for (const char* metric : {"ns_per_tx", "tx_per_s", "write_backs_per_tx", "fences_per_tx", "pm_bytes_per_tx",
                                   "syncs_per_tx", "loads_per_tx", "stores_per_tx"})
            EXPECT_TRUE(sustained[engine].contains(metric)) << engine << " " << metric;
        EXPECT_EQ(response[engine].begin()->first, 100'000u) << "all curves begin at one rate";
        for (const auto& [rate, metrics] : response[engine])
            for (const char* metric : {"ns_per_tx", "mean_response_ns", "p99_response_ns", "achieved_per_s"})
                EXPECT_TRUE(metrics.contains(metric)) << engine << " " << rate << " " << metric;
    }
    EXPECT_EQ(loads.size(), 1u) << "all engines run the same inserts";
    const std::set<std::uint64_t> entries{1, 16, 128, 512, 4096};
    EXPECT_EQ(tables, (std::map<std::string, std::set<std::uint64_t>>{{"load", entries}, {"store", entries}}));
}

TEST(Contract, EachTransactionOfSpsSwapsAndAtPowerFences) {
    const report made = measure("sps", quick({"redo"}));
    std::set<std::uint64_t> swaps;
    for (const auto& one : made.records()) {
        swaps.insert(value_of<std::uint64_t>(one, "swaps"));
        if (value_of<std::string>(one, "medium") != "nvram" || one.case_name != "swap") continue;
        const bool is_durable = value_of<std::string>(one, "level") == "power";
        if (one.metric == "fences_per_tx") {
            EXPECT_NEAR(one.value, is_durable ? 1 : 0, 0.1);
        }
        if (one.metric == "pm_bytes_per_tx" && is_durable) {
            EXPECT_GE(one.value, 64);
        }
    }
    EXPECT_EQ(swaps, (std::set<std::uint64_t>{1, 64}));
}

TEST(Contract, EccHasARecordForEachCombination) {
    const report made = measure("ecc", quick({"none", "ecc"}));
    by_combination(made);
    std::map<std::string, std::set<std::string>> metrics;
    std::map<std::string, std::set<std::uint64_t>> bits;
    for (const auto& one : made.records()) {
        EXPECT_EQ(one.suite, "ecc");
        EXPECT_EQ(one.engine, one.case_name == "floor" ? "none" : "ecc");
        EXPECT_EQ(value_of<std::string>(one, "level"), one.case_name == "floor" ? "power" : "process");
        EXPECT_EQ(value_of<std::string>(one, "medium"), "dram") << "nothing persists";
        EXPECT_EQ(value_of<std::uint64_t>(one, "delay_ns"), 0u);
        EXPECT_GE(one.runs, 9u);
        EXPECT_GT(one.value, 0);
        metrics[one.case_name].insert(one.metric);
        bits[one.case_name].insert(value_of<std::uint64_t>(one, "bits"));
    }
    const std::set<std::string> of_words{"ns_per_tx", "tx_per_s", "ns_per_word"};
    for (const char* name : {"check", "check_word", "encode", "encode_word", "floor"})
        EXPECT_EQ(metrics[name], of_words) << name;
    EXPECT_EQ(metrics["repair"], (std::set<std::string>{"ns_per_tx", "tx_per_s", "ns_per_repair"}));
    EXPECT_EQ(bits["repair"], (std::set<std::uint64_t>{1, 2, 3, 4, 5, 6, 7}));
}

TEST(Contract, PowerfailHasARecordForEachCombination) {
    const report made = measure("powerfail", quick({"process_handler"}));
    std::set<std::tuple<std::string, unsigned, parameters, std::string>> all;
    std::map<std::string, std::set<std::uint64_t>> bytes, threads;
    std::set<std::string> of_saves;
    std::map<std::string, std::set<std::string>> media, levels;
    for (const auto& one : made.records()) {
        EXPECT_TRUE(all.emplace(one.case_name, one.threads, one.params, one.metric).second)
            << one.case_name << " with " << one.threads << " threads, " << one.metric << " twice";
        media[one.case_name].insert(value_of<std::string>(one, "medium"));
        levels[one.case_name].insert(value_of<std::string>(one, "level"));
        bytes[one.case_name].insert(value_of<std::uint64_t>(one, "bytes"));
        threads[one.case_name].insert(one.threads);
        if (one.case_name == "save") of_saves.insert(one.metric);
    }
    constexpr std::uint64_t mib = 1 << 20;
    EXPECT_EQ(bytes["write-back"], (std::set<std::uint64_t>{mib, 8 * mib, 64 * mib}));
    EXPECT_EQ(bytes["copy"], (std::set<std::uint64_t>{mib, 64 * mib}));
    EXPECT_EQ(threads["park"], (std::set<std::uint64_t>{1, 4, 16, 64}));
    for (const char* name : {"write-back", "copy", "park", "save"})
        EXPECT_EQ(media[name], (std::set<std::string>{"nvram"})) << name;
    EXPECT_EQ(media["fall back"], (std::set<std::string>{"file", "nvram"}));
    EXPECT_EQ(media["commit"], (std::set<std::string>{"file"}));
    EXPECT_EQ(levels["commit"], (std::set<std::string>{"on_power_fail", "power", "process"}));
    for (const char* metric :
         {"ns_per_tx", "parked_ns", "log_copied_ns", "written_back_ns", "budget_ns", "kept_per_100"})
        EXPECT_TRUE(of_saves.contains(metric)) << metric;
}

}  // namespace
}  // namespace holdfast::bench
