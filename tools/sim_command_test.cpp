// `holdfast sim` as its users meet it, on a machine with small caches.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace {

using nlohmann::json;

struct sim_run {
    int status = -1;
    std::string text{};  ///< both outputs
};

sim_run run_of(const std::string& arguments) {
    std::FILE* const pipe = ::popen((HOLDFAST_COMMAND " sim " + arguments + " 2>&1").c_str(), "r");
    sim_run made;
    char text[4096];
    while (std::fgets(text, sizeof text, pipe) != nullptr) made.text += text;
    made.status = WEXITSTATUS(::pclose(pipe));
    return made;
}

const std::string small =
    " --footprint 512KiB --operations 500 --set cache.l2.size=64KiB --set cache.dl1.size=4KiB ";

/// The records that a run writes, without the host's.
json records_of(const std::string& arguments) {
    const std::string path = ::testing::TempDir() + "holdfast_sim_" + std::to_string(::getpid()) + ".json";
    const sim_run run = run_of(arguments + small + "--json " + path);
    EXPECT_EQ(run.status, 0) << run.text;
    json all = json::array();
    for (const json& each : json::parse(std::ifstream(path))) {
        if (!each.at("metric").get<std::string>().starts_with("host_")) all.push_back(each);
    }
    std::filesystem::remove(path);
    return all;
}

TEST(SimCommand, WritesARecordForEachNumberAndTheSameOnesEachTime) {
    const json first = records_of("hash --threads 2");
    ASSERT_FALSE(first.empty());
    for (const std::string metric :
         {"verified", "instructions", "cycles", "nvram_reads", "nvram_writes", "energy_pj"}) {
        const auto found = std::count_if(first.begin(), first.end(), [&](const json& each) {
            return each.at("metric") == metric && each.at("suite") == "sim" && each.at("case") == "hash" &&
                   each.at("threads") == 2 && each.at("engine") == "non-pers";
        });
        EXPECT_EQ(found, 1) << metric;
    }
    EXPECT_EQ(first.front().at("metric"), "verified");
    EXPECT_EQ(first.front().at("value"), 1);
    EXPECT_EQ(records_of("hash --threads 2"), first);
}

TEST(SimCommand, SharesOfASweepAreTheSweep) {
    const std::string sweep = "hash sps --threads 1,2 --set controller.drain=marks,idle";
    const json all = records_of(sweep);
    const json one = records_of(sweep + " --shard 1/2");
    const json two = records_of(sweep + " --shard 2/2");
    EXPECT_EQ(one.size() + two.size(), all.size());
    for (const json& each : one) EXPECT_NE(std::find(all.begin(), all.end(), each), all.end());
    for (const json& each : two) EXPECT_NE(std::find(all.begin(), all.end(), each), all.end());
}

TEST(SimCommand, RecordsAreTheSameHoweverManyRunsGoSideBySide) {
    const std::string sweep = "hash sps --threads 2,8 --design fwb,hwl,snf-sw --set log.bytes=64KiB";
    const json one_by_one = records_of(sweep + " --jobs 1");
    EXPECT_GT(one_by_one.size(), 12u * 50u);
    EXPECT_EQ(records_of(sweep + " --jobs 2"), one_by_one);
}

TEST(SimCommand, TheTableLinesUp) {
    const sim_run run = run_of("hash sps --threads 1,8" + small);
    EXPECT_EQ(run.status, 0);
    const std::size_t width = run.text.find("settings");
    ASSERT_NE(width, std::string::npos);
    std::istringstream lines(run.text);
    for (std::string line; std::getline(lines, line);) {
        ASSERT_GT(line.size(), width);
        EXPECT_EQ(line[width - 1], ' ');
        EXPECT_NE(line[width], ' ');
    }
}

TEST(SimCommand, RunsThatAreTooShortForTheirScansAreCounted) {
    const std::string note = "1 of 2 runs began to be measured before their scans had settled";
    EXPECT_NE(run_of("hash --design hwl,fwb" + small).text.find(note), std::string::npos);
    const sim_run long_enough = run_of("hash --design fwb --footprint 512KiB --operations 4000 --set log.bytes=64KiB "
                                       "--set cache.l2.size=64KiB --set cache.dl1.size=4KiB");
    EXPECT_EQ(long_enough.status, 0);
    EXPECT_EQ(long_enough.text.find("settled"), std::string::npos) << long_enough.text;
}

TEST(SimCommand, AWrongSettingIsNamedWithItsValueAndRange) {
    const sim_run ways = run_of("hash --set cache.l2.ways=0");
    EXPECT_EQ(ways.status, 2);
    EXPECT_EQ(ways.text, "holdfast sim: cache.l2.ways is 0, allowed is 1 to 16\n");
    EXPECT_EQ(run_of("hash --threads 9").status, 2);
    EXPECT_EQ(run_of("hash --set nothing=1").status, 2);
    EXPECT_EQ(run_of("hash --shard 3/2").status, 2);
    EXPECT_EQ(run_of("hash --quick --footprint 1MiB").status, 2);
    EXPECT_EQ(run_of("no_workload").status, 2);
    EXPECT_EQ(run_of("hash --config /nowhere/at/all").status, 1);
    EXPECT_EQ(run_of("hash --set core.store_prefetch=maybe").text,
              "holdfast sim: core.store_prefetch is maybe, allowed is true or false\n");
    EXPECT_EQ(run_of("hash --design redo-clwb --set log.commit=instant").text,
              "holdfast sim: log.commit is instant, but redo-clwb has no hardware that logs, allowed is durable\n");
    EXPECT_EQ(run_of("hash --threads 2 --design fwb --set log.commit=instant,durable" + small).status, 0);
    const sim_run design = run_of("hash --design nothing");
    EXPECT_EQ(design.status, 2);
    EXPECT_NE(design.text.find("--design: there is no \"nothing\"; there are non-pers, unsafe-base"), std::string::npos)
        << design.text;
}

TEST(SimCommand, AnOutputThatCannotBeWrittenIsFoundBeforeTheRun) {
    for (const std::string option : {"--json", "--trace"}) {
        const sim_run run = run_of("hash" + small + option + " /nowhere/at/all");
        EXPECT_EQ(run.status, 1);
        EXPECT_EQ(run.text.rfind("holdfast: the directory is missing: /nowhere/at/all: ", 0), 0u) << run.text;
    }
}

TEST(SimCommand, KeysAreAllAsFrequentOrFewOfThem) {
    const json records = records_of("hash --keys uniform,zipf");
    const auto number_of = [&](const std::string& metric, const std::string& keys) {
        const auto found = std::find_if(records.begin(), records.end(), [&](const json& each) {
            return each.at("metric") == metric && each.at("params").at("keys") == keys;
        });
        return found == records.end() ? -1.0 : found->at("value").get<double>();
    };
    for (const std::string keys : {"uniform", "zipf"}) EXPECT_EQ(number_of("verified", keys), 1) << keys;
    EXPECT_LT(number_of("l2_read_misses", "zipf"), number_of("l2_read_misses", "uniform"));
    const sim_run none = run_of("ssca2 --keys zipf");
    EXPECT_EQ(none.status, 2);
    EXPECT_EQ(none.text, "holdfast sim: --keys is zipf, but ssca2 draws no keys, allowed is uniform\n");
}

TEST(SimCommand, TheFootprintOfThePaperIsToldAndMayBeAskedFor) {
    const json records = records_of("hash ssca2");
    for (const auto& [workload, bytes] : {std::pair{"hash", 256 << 20}, std::pair{"ssca2", 16 << 20}}) {
        const auto found = std::find_if(records.begin(), records.end(), [&](const json& each) {
            return each.at("case") == workload && each.at("metric") == "paper_footprint_bytes";
        });
        ASSERT_NE(found, records.end());
        EXPECT_EQ(found->at("value"), bytes);
    }
    const sim_run run = run_of("ssca2 --footprint paper --operations 100");
    EXPECT_EQ(run.status, 0);
    EXPECT_NE(run.text.find("16 MiB"), std::string::npos) << run.text;
}

TEST(SimCommand, ATraceIsAPageThatShowsTheWindow) {
    const std::string path = ::testing::TempDir() + "holdfast_sim_" + std::to_string(::getpid()) + ".html";
    const sim_run run = run_of("hash --threads 2" + small + "--trace-window 3000..3400 --trace " + path);
    ASSERT_EQ(run.status, 0) << run.text;
    std::stringstream page;
    page << std::ifstream(path).rdbuf();
    for (const char* const each :
         {"<!DOCTYPE html>", "hash, int elements", "cycles 3000 to 3400", "From 1200 ns to 1360",
          "hart 1, core 1: instructions", "core 0: DL1", "L2", "NVRAM bank 7", ">0 cycles<"}) {
        EXPECT_NE(page.str().find(each), std::string::npos) << each;
    }
    std::filesystem::remove(path);
}

TEST(SimCommand, ATraceIsOfOneRunAndOfAWindowThatItHas) {
    const std::string path = ::testing::TempDir() + "holdfast_sim_never_" + std::to_string(::getpid()) + ".html";
    const std::string trace = " --trace " + path;
    EXPECT_EQ(run_of("hash sps" + trace).text,
              "holdfast sim: --trace shows one run, but 2 are selected\n");
    for (const std::string window : {"7", "7..", "..7", "7..7", "8..7", "1..200000", "a..b", "1..2x", "-1..2"}) {
        const sim_run run = run_of("hash" + trace + " --trace-window=" + window);
        EXPECT_EQ(run.status, 2) << window;
        EXPECT_NE(run.text.find("--trace-window is " + window + ", allowed is FROM..TO"), std::string::npos);
    }
    const sim_run late = run_of("hash" + small + trace + " --trace-window 900000000..900000010");
    EXPECT_EQ(late.status, 1);
    EXPECT_NE(late.text.find("900000000 cycles"), std::string::npos) << late.text;
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SimCommand, APrintedConfigurationIsAConfigurationFile) {
    const std::string path = ::testing::TempDir() + "holdfast_sim_" + std::to_string(::getpid()) + ".txt";
    const sim_run printed = run_of("hash --core small --set core.load_queue=7 --print-config");
    ASSERT_EQ(printed.status, 0);
    std::ofstream(path) << printed.text;
    EXPECT_EQ(run_of("hash --config " + path + " --print-config").text, printed.text);
    std::filesystem::remove(path);
}

}  // namespace
