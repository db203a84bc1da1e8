// `holdfast ecc` as its users meet it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

struct ecc_run {
    int status = -1;
    std::string text{};  ///< both outputs
};

ecc_run run_of(const std::string& arguments) {
    std::FILE* const pipe = ::popen((HOLDFAST_COMMAND " ecc " + arguments + " 2>&1").c_str(), "r");
    ecc_run made;
    char text[4096];
    while (std::fgets(text, sizeof text, pipe) != nullptr) made.text += text;
    made.status = WEXITSTATUS(::pclose(pipe));
    return made;
}

/// The one record of a campaign that keeps the promise.
json record_of(const std::string& arguments) {
    const std::string path = ::testing::TempDir() + "holdfast_ecc_" + std::to_string(::getpid()) + ".json";
    const ecc_run run = run_of("inject " + arguments + " --json " + path);
    EXPECT_EQ(run.status, 0) << run.text;
    const json all = json::parse(std::ifstream(path));
    std::filesystem::remove(path);
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
}

TEST(EccCommand, ACampaignLeavesOneRecordWhichItsSeedRepeats) {
    const json first = record_of("--bits 5 --trials 20000 --seed 3 --jobs 2");
    for (const char* count : {"refused", "wrong", "undetected"}) EXPECT_EQ(first.at(count), 0) << count;
    for (const char* count : {"trials", "repaired"}) EXPECT_EQ(first.at(count), 20000) << count;
    EXPECT_EQ(record_of("--bits 5 --trials 20000 --seed 3 --jobs 1"), first);
}

TEST(EccCommand, EveryPatternOfThreeFlipsIsPutRight) {
    const json record = record_of("--bits 3 --exhaustive --seed 1");
    EXPECT_EQ(record.at("trials"), 341376);
    EXPECT_EQ(record.at("repaired"), 341376);
    EXPECT_EQ(record.at("exhaustive"), true);
}

TEST(EccCommand, AWrongRepairOfEightFlipsIsCountedAndNoFailure) {
    const json record = record_of("--bits 8 --trials 100000 --seed 26");
    EXPECT_EQ(record.at("wrong"), 1) << "seven in ten million are";
    EXPECT_EQ(record.at("undetected"), 0);
}

TEST(EccCommand, AnExplanationShowsTheFlipsBelowTheirBits) {
    // Zeros are valid; what is found has bits 63, 32 and 0 of W and bit 40 of E.
    const ecc_run run = run_of("explain 0x8000000100000001 10000000000");
    EXPECT_EQ(run.status, 0) << run.text;
    const auto lines = lines_of(run.text);
    std::vector<std::string> marked, values;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        if (lines[i + 1].rfind("flipped ", 0) != 0 || lines[i + 1].find('.') == std::string::npos) continue;
        values.push_back(lines[i]);
        marked.push_back(lines[i + 1]);
    }
    ASSERT_EQ(marked.size(), 2u) << run.text;
    for (std::size_t i = 0; i < marked.size(); ++i) {
        ASSERT_EQ(values[i].size(), marked[i].size());
        for (std::size_t at = 10; at < values[i].size(); ++at) {
            const char expected = values[i][at] == '1' ? '^' : values[i][at] == '0' ? '.' : ' ';
            EXPECT_EQ(marked[i][at], expected) << run.text;
        }
    }
    EXPECT_NE(run.text.find("flipped in W  63, 32, 0\n"), std::string::npos) << run.text;
    EXPECT_NE(run.text.find("flipped in E  40\n"), std::string::npos) << run.text;
    EXPECT_NE(run.text.find("right W       0x0000000000000000\n"), std::string::npos) << run.text;
}

TEST(EccCommand, TheRulerNamesTheBitBelowIt) {
    const ecc_run run = run_of("explain 8000000000000000 0");
    const auto lines = lines_of(run.text);
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        if (lines[i].rfind("bit ", 0) != 0) continue;
        // A number begins where a group does.
        for (std::size_t at = 10; at < lines[i].size(); ++at) {
            const bool number_begins = lines[i][at] != ' ' && lines[i][at - 1] == ' ';
            const bool group_begins = lines[i + 1][at] != ' ' && lines[i + 1][at - 1] == ' ';
            EXPECT_TRUE(!number_begins || group_begins) << run.text;
        }
    }
}

TEST(EccCommand, WhatIsRefusedIsExplainedAndFails) {
    const ecc_run far = run_of("explain 0xffffffff 0x0123456789abcdef");
    EXPECT_EQ(far.status, 1);
    EXPECT_NE(far.text.find("Refused: no pattern of at most 7 flips explains it."), std::string::npos) << far.text;
    const ecc_run intact = run_of("explain 0 0");
    EXPECT_EQ(intact.status, 0);
    EXPECT_NE(intact.text.find("nothing to repair"), std::string::npos) << intact.text;
}

TEST(EccCommand, WrongUsageIsRefused) {
    EXPECT_EQ(run_of("").status, 2);
    EXPECT_EQ(run_of("inject").status, 2);
    EXPECT_EQ(run_of("inject --bits 0").status, 2);
    EXPECT_EQ(run_of("inject --bits 129").status, 2);
    EXPECT_EQ(run_of("inject --bits 4 --exhaustive").status, 2);
    EXPECT_EQ(run_of("inject --bits 3 --exhaustive --trials 5").status, 2);
    EXPECT_EQ(run_of("explain 0").status, 2);
    EXPECT_EQ(run_of("explain 0 0x10000000000000000").status, 2);
    EXPECT_EQ(run_of("explain 0 nonsense").status, 2);
    EXPECT_EQ(run_of("inject --bits 3 --trials 10 --json /nowhere/at/all").status, 1);
}

}  // namespace
