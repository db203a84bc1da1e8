#include <holdfast/persist/record_way.hpp>

#include <holdfast/persist/counters.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

namespace holdfast::persist {
namespace {

struct alignas(64) line {
    std::array<std::byte, 64> bytes;
};

std::vector<line> filled(std::size_t lines) {
    std::vector<line> made(lines);
    unsigned next = 1;
    for (line& each : made)
        for (std::byte& byte : each.bytes) byte = static_cast<std::byte>(next = next * 1'664'525u + 1'013'904'223u);
    return made;
}

bool equal(const std::vector<line>& one, const std::vector<line>& other) {
    return std::ranges::equal(one, other, {}, &line::bytes, &line::bytes);
}

std::uint32_t choose(record_way wanted, const line_path& path, std::vector<line>& scratch) {
    return choose_streamed_from(wanted, path, std::as_writable_bytes(std::span(scratch)));
}

TEST(RecordWay, WhatIsAskedForIsChosenUnmeasured) {
    std::vector<line> nothing;
    EXPECT_EQ(choose(record_way::streamed, {}, nothing), 0u);
    EXPECT_EQ(choose(record_way::written_back, {}, nothing), never_streamed);
}

TEST(RecordWay, MeasuringLeavesEveryByteAndCountsNothing) {
    for (const std::size_t lines : {1u, 1000u, 12'800u, 20'000u}) {
        std::vector<line> scratch = filled(lines);
        const std::vector<line> before = scratch;
        const counters counted = thread_counters();
        const std::uint32_t found = choose(record_way::measured, {}, scratch);
        EXPECT_TRUE(equal(scratch, before)) << lines << " lines";
        EXPECT_EQ(thread_counters(), counted);
        // Any of the sizes that are measured, all or none.
        EXPECT_TRUE(found == 0 || found == 256 || found == 1024 || found == never_streamed) << found;
    }
}

TEST(RecordWay, RecordsAreStreamedFromTheFirstSizeOnThatWritingBackDoesNotMakeClearlyCheaper) {
    using sizes = std::vector<record_times>;
    EXPECT_EQ(streamed_from(sizes{{64, 100, 96}, {256, 100, 50}, {1024, 100, 50}}), 0u);
    EXPECT_EQ(streamed_from(sizes{{64, 100, 94}, {256, 100, 96}, {1024, 100, 50}}), 256u);
    EXPECT_EQ(streamed_from(sizes{{64, 100, 94}, {256, 100, 94}, {1024, 100, 200}}), 1024u);
    EXPECT_EQ(streamed_from(sizes{{64, 100, 94}, {256, 100, 94}, {1024, 100, 94}}), never_streamed);
}

TEST(RecordWay, WithoutPlacesToMeasureRecordsAreStreamed) {
    std::vector<line> little = filled(12'000);
    EXPECT_EQ(choose(record_way::measured, {}, little), 0u);
}

TEST(RecordWay, NothingIsWrittenBackWhereTheCachesAreInsideTheDomain) {
    std::vector<line> scratch = filled(100);
    for (const auto way : {record_way::measured, record_way::streamed, record_way::written_back})
        EXPECT_EQ(choose(way, {.write_back_needed = false}, scratch), 0u) << name_of(way);
}

TEST(RecordWay, EachHasAName) {
    for (const auto way : {record_way::measured, record_way::streamed, record_way::written_back})
        EXPECT_EQ(record_way_named(name_of(way)), way);
    EXPECT_FALSE(record_way_named("cached").has_value());
}

}  // namespace
}  // namespace holdfast::persist
