// What scripts outside rely on in the records of suites intset, itm and stamp. Times are not judged.
#include <holdfast/htm/rtm_instructions.hpp>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace {

using nlohmann::json;

/// Runs a suite, with further options, and reads its records.
json records_of(const std::string& suite, const std::set<std::string>& engines, const std::string& more = "") {
    const std::string file = suite + "-records.json";
    std::string line = "'" HOLDFAST_COMMAND "' bench " + suite + " --quick --trial --json " + file + more;
    for (const auto& each : engines) line += " --engine " + each;
    EXPECT_EQ(std::system((line + " >/dev/null").c_str()), 0) << line;
    std::ifstream written(file);
    return json::parse(written);
}

/// The values by what they are of; each once.
template <class Key>
std::map<Key, double> once_each(const json& records, Key (*key_of)(const json&)) {
    std::map<Key, double> all;
    for (const auto& one : records) {
        EXPECT_TRUE(all.emplace(key_of(one), one["value"].get<double>()).second) << one.dump();
        // Those have their shared data in a pool.
        const auto engine = one["engine"].get<std::string>();
        const bool is_persistent = engine.starts_with("tx") || engine.starts_with("rtx");
        EXPECT_EQ(one["params"]["level"], is_persistent ? "on_power_fail" : "process");
        EXPECT_EQ(one["params"]["medium"], is_persistent ? "nvram" : "dram");
        EXPECT_EQ(one["params"]["delay_ns"], 0);
        EXPECT_GE(one["runs"].get<int>(), 9);
        // A difference of two measurements may fall below nothing on a busy machine, and aborts need not happen.
        const std::set<std::string> may_be_nothing{"ns_per_further_word", "aborts_per_tx", "share_inside",
                                                   "flips", "repairs"};
        if (!may_be_nothing.contains(one["metric"])) {
            EXPECT_GT(one["value"].get<double>(), 0) << one.dump();
        }
    }
    return all;
}

#ifdef HOLDFAST_HAS_COMPILED_TRANSACTIONS
const std::set<std::string> all_engines{"value",    "versioned",      "value_alone",  "versioned_alone", "hybrid",
                                        "explicit", "libitm_default", "libitm_ml_wt", "libitm_gl_wt",    "plain"};
#else
const std::set<std::string> all_engines{"explicit", "plain"};
#endif

bool has_one_thread(const std::string& engine) {
    return engine == "plain" || engine == "notx" || engine.ends_with("_alone");
}

using set_key = std::tuple<std::string, std::string, int, int, std::string>;
set_key set_key_of(const json& one) {
    return {one["case"], one["engine"], one["threads"], one["params"]["updates"], one["metric"]};
}

TEST(Transactions, IntsetHasARecordForEachCombination) {
    const auto all = once_each(records_of("intset", all_engines), set_key_of);
    std::size_t expected = 0;
    for (const auto& engine : all_engines)
        for (const char* structure : {"hash_set", "rbtree", "list"})
            for (const int threads : {1, 2})
                for (const int updates : {0, 20, 100})
                    for (const char* metric : {"ns_per_tx", "tx_per_s"}) {
                        if (has_one_thread(engine) && threads == 2) continue;
                        EXPECT_TRUE(all.contains({structure, engine, threads, updates, metric}))
                            << structure << " " << engine << " " << threads << " " << updates << " " << metric;
                        ++expected;
                    }
    EXPECT_EQ(all.size(), expected);
}

#ifdef HOLDFAST_HAS_COMPILED_TRANSACTIONS
TEST(Transactions, IntsetSaysWhetherHardwareRan) {
    for (const auto& one : records_of("intset", {"value", "hybrid", "libitm_default"})) {
        const bool tries = one["engine"] != "value";
        ASSERT_EQ(one["params"].contains("rtm"), tries) << one.dump();
        if (!tries) continue;
        const char* const obstacle = holdfast::htm::obstacle_here();
        EXPECT_EQ(one["params"]["rtm"], obstacle != nullptr ? obstacle : "tried first");
    }
}
#endif

using word_key = std::tuple<std::string, std::string, int, std::string>;
word_key word_key_of(const json& one) {
    return {one["case"], one["engine"], one["params"].value("words", 0), one["metric"]};
}

TEST(Transactions, ItmHasARecordForEachCombination) {
    const auto all = once_each(records_of("itm", {"explicit", "plain"}), word_key_of);
    for (const char* engine : {"explicit", "plain"}) {
        for (const char* name : {"read1", "update1", "update8", "list_read", "list_write", "fresh4k"})
            EXPECT_TRUE(all.contains({name, engine, 0, "ns_per_tx"})) << name << " " << engine;
        for (const char* name : {"list_read", "list_write"})
            EXPECT_TRUE(all.contains({name, engine, 0, "ns_per_element"})) << name << " " << engine;
        for (const int words : {1'000, 1'000'000})
            EXPECT_TRUE(all.contains({"write_set", engine, words, "ns_per_element"})) << words << " " << engine;
        EXPECT_TRUE(all.contains({"update8", engine, 0, "ns_per_further_word"})) << engine;
    }
}

using stamp_key = std::tuple<std::string, std::string, std::string, int, std::string>;
stamp_key stamp_key_of(const json& one) {
    return {one["case"], one["params"]["set"], one["engine"], one["threads"], one["metric"]};
}

TEST(Transactions, StampHasARecordForEachCombination) {
    std::set<std::string> engines = all_engines;
    engines.erase("plain");
    engines.insert("notx");
#ifdef HOLDFAST_HAS_DNV
    engines.insert({"tx", "rtx"});
#endif
    const auto all = once_each(records_of("stamp", engines, " --case kmeans-low --case labyrinth"), stamp_key_of);
    const bool has_hardware = holdfast::htm::obstacle_here() == nullptr;
    std::size_t expected = 0;
    for (const auto& engine : engines)
        for (const char* program : {"kmeans-low", "labyrinth"})
            for (const int threads : {1, 2})
                for (const char* metric : {"ns_per_tx", "tx_per_s", "ns_per_run", "reads_per_tx", "writes_per_tx",
                                           "aborts_per_tx", "share_inside"}) {
                    if (has_one_thread(engine) && threads == 2) continue;
                    const bool tries_hardware = engine == "hybrid" || engine == "libitm_default";
                    if (engine == "hybrid" && !has_hardware) continue;
                    if (tries_hardware && has_hardware && metric == std::string("aborts_per_tx")) continue;
                    EXPECT_TRUE(all.contains({program, "small", engine, threads, metric}))
                        << program << " " << engine << " " << threads << " " << metric;
                    ++expected;
                }
    EXPECT_EQ(all.size(), expected);
}

#ifdef HOLDFAST_HAS_DNV
TEST(Transactions, StampCountsFlipsAndRepairsAndPutsPrivateDataIntoThePoolForThoseWhoAsk) {
    const json records = records_of("stamp", {"rtx_flips", "rtx_all"}, " --case kmeans-low --case bayes");
    const auto all = once_each(records, stamp_key_of);
    const auto of_flips = [&](const char* metric) {
        return all.at({"kmeans-low", "small", "rtx_flips", 1, metric});
    };
    EXPECT_EQ(of_flips("flips"), of_flips("repairs"));
    EXPECT_TRUE(all.contains({"kmeans-low", "small", "rtx_all", 1, "ns_per_run"}));
    EXPECT_FALSE(all.contains({"bayes", "small", "rtx_all", 1, "ns_per_run"}));
}
#endif

TEST(Transactions, StampReportsWhatDependsOnInterleavingPerPieceOfWorkToo) {
    const auto all = once_each(records_of("stamp", {"explicit"}, " --case bayes --case yada"), stamp_key_of);
    for (const int threads : {1, 2}) {
        EXPECT_TRUE(all.contains({"bayes", "small", "explicit", threads, "ns_per_task"}));
        EXPECT_TRUE(all.contains({"yada", "small", "explicit", threads, "ns_per_triangle"}));
    }
}

}  // namespace
