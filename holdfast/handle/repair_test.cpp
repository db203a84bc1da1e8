// Repairing pools whose damage leads to an older state rather than to none. (Corruption of every byte class:
// container/corruption_test.cpp.)
#include <holdfast/engine/engine_test_support.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/handle/check.hpp>
#include <holdfast/handle/repair.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace holdfast {
namespace {

using namespace holdfast::test;

struct counter {
    redo::field<std::uint64_t> value;
};

std::vector<char> read(const std::string& path) {
    std::vector<char> bytes(std::filesystem::file_size(path));
    std::FILE* file = std::fopen(path.c_str(), "r");
    EXPECT_EQ(std::fread(bytes.data(), 1, bytes.size(), file), bytes.size());
    std::fclose(file);
    return bytes;
}

void write(const std::string& path, const std::vector<char>& bytes) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    EXPECT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    std::fclose(file);
}

TEST(Repair, RecordsOfAClosedPoolAreNotAppliedWhenItsTruncationPointIsLost) {
    constexpr std::uint64_t commits = 50;
    test_pool<redo> made;
    auto* root = made->root<counter>("counter").value();
    for (std::uint64_t i = 1; i <= commits; ++i) made->atomically([&] { root->value = i; }).value();
    made->close().value();

    // The truncation point, and the end of the records: those that are left say what was before.
    auto bytes = read(made.path());
    const auto at = [&](std::uint64_t offset) { return bytes.begin() + static_cast<std::ptrdiff_t>(offset); };
    const std::uint64_t first_segment = format::log_offset + format::log_header_bytes;
    std::fill(at(format::log_offset), at(first_segment), char{0});
    std::fill_n(at(first_segment + 20 * 64), 40 * 64, char{0});
    write(made.path(), bytes);
    write(made.path() + ".repairing", {'m', 'i', 'n', 'e'});

    const contents_checker nothing_known = [](const auto&, const auto&) { return std::nullopt; };
    const auto report = repair_pool(made.path(), nothing_known);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_TRUE(report->all_saved());
    EXPECT_FALSE(report->backup.empty());
    EXPECT_TRUE(std::filesystem::remove(made.path() + ".repairing")) << "a file of the user's";
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(made.path()).parent_path()))
        EXPECT_FALSE(entry.path().string().starts_with(made.path() + ".repairing")) << entry.path();
    made.kill();
    EXPECT_EQ(made->root<counter>("counter").value()->value, commits);
    std::filesystem::remove(report->backup);
}

TEST(Repair, ACopyThatOpeningRefusesAsTornIsNotCalledSound) {
    const persist::test::scratch_directory scratch("/dev/shm");
    create_options options;
    options.durability = level::process;
    const contents_checker nothing_known = [](const auto&, const auto&) { return std::nullopt; };
    {
        auto pool = redo::pool::create(scratch.file("pool"), options).value();
        std::filesystem::copy_file(scratch.file("pool"), scratch.file("copy"));
        pool.abandon();
    }
    ASSERT_EQ(redo::pool::open(scratch.file("copy"), options).error().code, errc::not_durable);
    EXPECT_FALSE(check_pool(scratch.file("copy"), nothing_known).value().sound());
    EXPECT_TRUE(check_pool(scratch.file("pool"), nothing_known).value().sound()) << "it was only killed";
}

TEST(Repair, WhatNoMendedCopyHelpsKeepsItsFile) {
    const persist::test::scratch_directory scratch("/dev/shm");
    create_options options;
    options.durability = level::process;
    const contents_checker nothing_known = [](const auto&, const auto&) { return std::nullopt; };
    const std::string copy = scratch.file("copy");
    {
        auto pool = redo::pool::create(scratch.file("pool"), options).value();
        std::filesystem::copy_file(scratch.file("pool"), copy);
        pool.abandon();
    }
    const auto file_at = [&] { return persist::file::open(copy, persist::file::access::read_only)->place()->inode; };
    const auto inode = file_at();
    const auto report = repair_pool(copy, nothing_known);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_TRUE(report->steps.empty());
    EXPECT_FALSE(report->all_saved());
    EXPECT_TRUE(report->backup.empty());
    EXPECT_EQ(file_at(), inode);
}

TEST(Repair, SuperblocksThatNameNoPlaceForAHeapAreNotMended) {
    test_pool<redo> made;
    made->close().value();
    edit_superblocks(made.path(), [](auto& block) { block.zones[0].bytes = 0; });
    const auto before = read(made.path());
    const contents_checker nothing_known = [](const auto&, const auto&) { return std::nullopt; };
    const auto report = repair_pool(made.path(), nothing_known);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, errc::corrupt);
    EXPECT_EQ(read(made.path()), before);
}

}  // namespace
}  // namespace holdfast
