// Records survive being written and read, and the paper's ratios are found in them.
#include <bench/contest/record.hpp>
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
