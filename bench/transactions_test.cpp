// What scripts outside rely on in the records of suites intset and itm. Times are not judged.
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

/// Runs a suite and reads its records.
json records_of(const std::string& suite, const std::set<std::string>& engines) {
    const std::string file = suite + "-records.json";
    std::string line = "'" HOLDFAST_COMMAND "' bench " + suite + " --quick --trial --json " + file;
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
        EXPECT_EQ(one["params"]["level"], "process");
        EXPECT_EQ(one["params"]["medium"], "dram");
        EXPECT_EQ(one["params"]["delay_ns"], 0);
        EXPECT_GE(one["runs"].get<int>(), 9);
        // A difference of two measurements may fall below nothing on a busy machine.
        if (one["metric"] != "ns_per_further_word") {
            EXPECT_GT(one["value"].get<double>(), 0) << one.dump();
        }
    }
    return all;
}

#ifdef HOLDFAST_HAS_COMPILED_TRANSACTIONS
const std::set<std::string> all_engines{"value",          "versioned",    "hybrid",       "explicit",
                                        "libitm_default", "libitm_ml_wt", "libitm_gl_wt", "plain"};
#else
const std::set<std::string> all_engines{"explicit", "plain"};
#endif

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
                        if (engine == "plain" && threads == 2) continue;
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

}  // namespace
