// Records survive being written and read, and the paper's ratios are found in them.
#include <bench/contest/record.hpp>
#include <bench/external.hpp>
#include <bench/figures/paper_ratios.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::bench {
namespace {

record time_of(const std::string& case_name, const std::string& engine, std::uint64_t delay_ns, double ns) {
    const parameters params{{"level", std::string("power")}, {"medium", std::string("nvram")}, {"delay_ns", delay_ns}};
    return {"bounded-buffer", case_name, engine, 1, params, "ns_per_tx", "ns", ns, ns - 1, ns + 1, 9};
}

TEST(Records, AreReadAsTheyWereWritten) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    const std::string path = here.path() + "/records.json";
    report written;
    written.add(time_of("scenario1", "line", 700, 1000.25));
    written.add(time_of("floor", "none", 0, 200));
    written.write_json(path);
    const auto found = read_records(path);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].case_name, "scenario1");
    EXPECT_EQ(found[0].params, written.records()[0].params);
    EXPECT_EQ(found[0].value, 1000.25);
    EXPECT_EQ(found[1].engine, "none");
    EXPECT_EQ(found[1].runs, 9u);
}

TEST(Records, AFileThatHoldsNoneIsRefusedByName) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    const std::string path = here.path() + "/records.json";
    std::ofstream(path) << "[{\"suite\": 1}]";
    try {
        read_records(path);
        FAIL() << "it was read";
    } catch (const failure& reason) {
        EXPECT_EQ(reason.reason().code, errc::invalid_argument);
        EXPECT_EQ(reason.reason().path, path);
    }
}

/// Two records of suite sps as another program may have written them: other order, more of them than are asked for.
std::string external_file(const persist::test::scratch_directory& here, const std::string& value) {
    const std::string path = here.path() + "/external.json";
    std::ofstream(path) << R"([{"suite":"sps","case":"swap","engine":"quadra","threads":1,"params":{"delay_ns":0,)"
                        << R"("medium":"nvram","swaps":1,"level":"power"},"metric":"ns_per_tx","unit":"ns","value":)"
                        << value << R"(,"min":1,"max":9,"runs":9},{"suite":"hash","case":"get","engine":"quadra",)"
                        << R"("threads":1,"params":{},"metric":"ns_per_tx","unit":"ns","value":1,"min":1,"max":1,)"
                        << R"("runs":9}])";
    return path;
}

record swap_of(const std::string& engine, std::uint64_t swaps) {
    const parameters params{
        {"level", std::string("power")}, {"medium", std::string("nvram")}, {"delay_ns", 0u}, {"swaps", swaps}};
    return {"sps", "swap", engine, 1, params, "ns_per_tx", "ns", 200, 190, 210, 9};
}

TEST(ExternalRecords, StandBesideOursOfTheSameCaseAndParametersAlone) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    const auto external = read_external({external_file(here, "150")}, "sps");
    ASSERT_EQ(external.size(), 1u);
    EXPECT_EQ(external[0].engine, "quadra (external)");
    EXPECT_TRUE(external_beside(external, {swap_of("redo", 64)}).empty());
    const auto beside = external_beside(external, {swap_of("redo", 64), swap_of("redo", 1)});
    ASSERT_EQ(beside.size(), 1u);
    EXPECT_EQ(beside[0].value, 150);
    EXPECT_EQ(beside[0].params, swap_of("redo", 1).params) << "in our order";
}

TEST(ExternalRecords, AreNoRecordsOfTheRun) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    report all;
    all.set_external(read_external({external_file(here, "150")}, "sps"));
    all.add(swap_of("redo", 1));
    all.write_json(here.path() + "/records.json");
    EXPECT_EQ(read_records(here.path() + "/records.json").size(), 1u);
}

TEST(ExternalRecords, AreRefusedByNameWhenNothingCanBeComparedWithThem) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    const auto refused = [&](const std::vector<std::string>& paths, const std::string& suite) -> std::string {
        try {
            read_external(paths, suite);
        } catch (const failure& reason) {
            EXPECT_EQ(reason.reason().code, errc::invalid_argument);
            return reason.reason().text();
        }
        return "taken";
    };
    const std::string path = external_file(here, "150");
    EXPECT_NE(refused({path}, "btree").find("no external record of this suite: " + path), std::string::npos);
    external_file(here, "0");
    EXPECT_NE(refused({path}, "sps").find("above 0 ns"), std::string::npos);
    std::ofstream(path) << R"([{"suite":"sps","case":"swap","engine":"quadra","threads":1,"params":{"level":"power"},)"
                        << R"("metric":"ns_per_tx","unit":"ns","value":1,"min":1,"max":1,"runs":9}])";
    EXPECT_NE(refused({path}, "sps").find("expected medium"), std::string::npos) << refused({path}, "sps");
}

TEST(PaperRatios, CompareWithLineOnTheSameMediumOrOnDram) {
    std::vector<record> all;
    for (const std::uint64_t delay_ns : {0u, 700u, 800u}) {
        all.push_back(time_of("scenario1", "line", delay_ns, 200 + static_cast<double>(delay_ns)));
        all.push_back(time_of("scenario1", "libpmemobj", delay_ns, 900 + static_cast<double>(delay_ns)));
    }
    EXPECT_EQ(delays_of(all), (std::vector<std::uint64_t>{0, 700, 800}));
    unsigned found = 0;
    for (const auto& one : paper_ratios(all)) {
        EXPECT_EQ(one.ours.has_value(), one.case_name == "scenario1") << one.case_name << " was not measured";
        if (!one.ours) continue;
        ++found;
        if (one.medium == paper_medium::not_interleaved) {
            EXPECT_DOUBLE_EQ(*one.ours, one.over_dram ? 1000.0 / 200 : 1700.0 / 1000);
        }
    }
    EXPECT_EQ(found, 5u) << "two of line, three of libpmemobj";
}

TEST(PaperRatios, StandInTheRecordsBesideOurs) {
    report all;
    for (const std::uint64_t delay_ns : {0u, 700u, 800u})
        all.add(time_of("scenario1", "line", delay_ns, 200 + static_cast<double>(delay_ns)));
    conclude_bounded_buffer(all);
    EXPECT_EQ(value_of(all.records(), "scenario1", "line", "power", 700, "times_dram"), 4.5);
    EXPECT_EQ(value_of(all.records(), "scenario1", "line", "power", 700, "paper_times_dram"), 4.6);
    EXPECT_EQ(value_of(all.records(), "scenario1", "line", "power", 0, "times_dram"), std::nullopt);
}

}  // namespace
}  // namespace holdfast::bench
