// What scripts outside rely on in the records of suite dnv-list, and what its program answers. Times are not judged.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <stdlib.h>

namespace {

using nlohmann::json;
using key = std::tuple<std::string, std::string, std::string, std::string, int, int, std::string>;

key key_of(const json& one) {
    const auto& params = one["params"];
    return {one["case"],     params["mode"],     params["algorithm"], params["level"],
            params["bytes"], params["elements"], one["metric"]};
}

json quick_records() {
    const std::string line = "'" HOLDFAST_COMMAND "' bench dnv-list --quick --trial --engine dnv"
                             " --json dnv-list-records.json";
    EXPECT_EQ(std::system((line + " >/dev/null").c_str()), 0) << line;
    std::ifstream written("dnv-list-records.json");
    return json::parse(written);
}

/// A commit fences once at `power`; a truncation of the log, which many commits share, a few times.
void expect_fences(const json& one) {
    const double fences = one["value"].get<double>();
    const auto& params = one["params"];
    const bool commits = params["level"] == "power" && params["mode"] != "notx" && one["case"] != "read";
    if (!commits) {
        EXPECT_EQ(fences, 0) << one.dump();
    } else {
        // A batch is as short as a busy machine makes it: of one commit, behind which the log is truncated with two
        // fences more. Of a fixed number of commits DnvProgram counts them, and what a truncation adds.
        EXPECT_GE(fences, 1) << one.dump();
        EXPECT_LE(fences, 3) << one.dump();
    }
}

TEST(DnvList, HasARecordForEachCombination) {
    std::set<key> all;
    for (const auto& one : quick_records()) {
        const auto& params = one["params"];
        EXPECT_TRUE(all.insert(key_of(one)).second) << one.dump();
        EXPECT_EQ(one["suite"], "dnv-list");
        EXPECT_EQ(one["engine"], "dnv");
        EXPECT_EQ(one["threads"], 1);
        EXPECT_EQ(params["medium"], "nvram");
        EXPECT_EQ(params["delay_ns"], 0);
        EXPECT_EQ(params.size(), 7u) << params.dump();
        EXPECT_GE(one["runs"].get<int>(), 9);
        if (one["metric"] == "fences_per_tx") expect_fences(one);
    }
    for (const auto& [bytes, elements] : {std::pair(8, 500), {128, 500}, {4096, 500}, {128, 10'000}})
        for (const auto& [mode, algorithm] : {std::pair("rtx", "value"), {"tx", "value"}, {"notx", "value"},
                                              {"rtx", "versioned"}, {"tx", "versioned"}})
            for (const char* level : {"process", "on_power_fail", "power"}) {
                for (const char* name : {"push_back", "pop_front", "read", "write"})
                    for (const char* metric : {"ns_per_tx", "tx_per_s", "write_backs_per_tx", "fences_per_tx",
                                               "pm_bytes_per_tx", "syncs_per_tx"})
                        EXPECT_TRUE(all.contains(key(name, mode, algorithm, level, bytes, elements, metric)))
                            << name << " " << mode << " " << algorithm << " " << level << " " << bytes << " "
                            << elements << " " << metric;
                const bool is_known =
                    all.contains(key("push_back", mode, algorithm, level, bytes, elements, "stored_bytes_per_tx"));
                EXPECT_EQ(is_known, std::string_view(mode) != "notx") << mode << " " << algorithm << " " << level;
                for (const char* name : {"read", "write"})
                    EXPECT_TRUE(all.contains(key(name, mode, algorithm, level, bytes, elements, "ns_per_element")))
                        << name << " " << mode << " " << algorithm << " " << level << " " << bytes << " " << elements;
            }
}

struct answer {
    std::uint64_t transactions = 0;
    double ns = 0;
    int counted = 0;
    std::uint64_t write_backs = 0, fences = 0, streamed_bytes = 0;
};

class DnvProgram : public testing::Test {
protected:
    DnvProgram() {
        char name[] = "/dev/shm/holdfast-dnv-list-XXXXXX";
        directory_ = mkdtemp(name);
    }
    ~DnvProgram() override { std::filesystem::remove_all(directory_); }

    /// The lines that the program says.
    std::vector<std::string> say(const std::string& mode, const std::string& level, const std::string& asked,
                                 const std::string& element_bytes = "128") const {
        const auto program = std::filesystem::path(HOLDFAST_COMMAND).parent_path() / "holdfast-dnv-value";
        const std::string pool = directory_ + "/" + mode + "-" + level;
        const std::string line = "printf '" + asked + "' | '" + program.string() + "' " + mode + " " + level + " '" +
                                 pool + "' " + element_bytes + " 100";
        std::vector<std::string> lines;
        std::FILE* const said = ::popen(line.c_str(), "r");
        char text[256];
        while (std::fgets(text, sizeof text, said) != nullptr) lines.emplace_back(text);
        ::pclose(said);
        return lines;
    }
    static answer answer_of(const std::string& line) {
        answer one;
        std::istringstream(line) >> one.transactions >> one.ns >> one.counted >> one.write_backs >> one.fences >>
            one.streamed_bytes;
        return one;
    }

private:
    std::string directory_;
};

TEST_F(DnvProgram, FencesOnceForEachCommitAtPowerAndNeverAtProcessOrWhereAHandlerSaves) {
    for (const char* mode : {"rtx", "tx"})
        for (const std::string level : {"power", "on_power_fail", "process"}) {
            // The first round takes a chunk, in a transaction of the pool's own. So few do not truncate the log.
            const auto said = say(mode, level,
                                  "run pop_front 64\\n"
                                  "run push_back 64\\nrun pop_front 64\\nrun write 3\\nrun read 3\\n");
            ASSERT_EQ(said.size(), 6u) << mode << " " << level;
            EXPECT_EQ(said[0], "ready\n");
            const bool power = level == "power";
            for (std::size_t i = 2; i < said.size(); ++i) {
                const answer one = answer_of(said[i]);
                const bool reads = i == 5;
                EXPECT_EQ(one.transactions, i <= 3 ? 64u : 3u) << said[i];
                EXPECT_EQ(one.counted, 1) << said[i];
                EXPECT_EQ(one.fences, power && !reads ? one.transactions : 0u) << mode << " " << level << said[i];
                EXPECT_EQ(one.write_backs + one.streamed_bytes != 0, power && !reads) << said[i];
            }
        }
}

TEST_F(DnvProgram, FencesTwiceMoreForATruncationThatHundredsOfLargeCommitsShare) {
    // Without codes the log is half as long.
    for (const auto& [mode, truncations] : {std::pair("rtx", 3u), {"tx", 1u}}) {
        // The first round takes the chunks that the second one needs.
        const std::string round = "run push_back 1000\\nrun pop_front 1000\\n";
        const auto said = say(mode, "power", round + round, "4096");
        ASSERT_EQ(said.size(), 5u) << mode;
        const answer pushed = answer_of(said[3]);
        EXPECT_EQ(pushed.transactions, 1000u) << said[3];
        EXPECT_EQ(pushed.fences, pushed.transactions + 2 * truncations) << mode << " " << said[3];
    }
}

TEST_F(DnvProgram, SaysHowManyBytesOfThePoolATransactionStoredTo) {
    for (const auto& [mode, word_bytes] : {std::pair("rtx", 16), {"tx", 8}})
        for (const char* level : {"power", "on_power_fail", "process"}) {
            const auto said = say(mode, level, "run write 3\\nrun read 3\\n");
            ASSERT_EQ(said.size(), 3u) << mode << " " << level;
            const std::string metric = " stored_bytes_per_tx B ";
            EXPECT_NE(said[1].find(metric + std::to_string(100 * word_bytes) + " "), std::string::npos) << said[1];
            EXPECT_NE(said[2].find(metric + "0 "), std::string::npos) << said[2];
        }
}

TEST_F(DnvProgram, SaysWhatItDoesNotKnow) {
    const auto said = say("rtx", "process", "run push_front 1\\n");
    ASSERT_EQ(said.size(), 2u);
    EXPECT_EQ(said[1], "error there is no case 'push_front'\n");
}

}  // namespace
