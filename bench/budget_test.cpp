// The budgets: write-backs, fences, bytes and syncs of fixed operations, counted by the seam and
// compared with budgets.txt, so that nobody makes a commit dearer without saying so.
// HOLDFAST_UPDATE_GOLDEN=1 writes the file anew; its change is then part of the change under review.
#include <bench/budget_test.hpp>

#include <holdfast/persist/storage.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace holdfast::bench::test {
namespace {

const std::string golden_path = std::string(HOLDFAST_TEST_DIRECTORY) + "/budgets.txt";

const std::vector<std::string> heading{
    "# Sums over so many operations, each a transaction, after as many to warm up.",
    "# checkpoint: bringing home everything above it.",
    "# engine       level   medium structure operation  times wr.backs fences streamed written syncs"};

bool is_about_files(const std::string& line) { return line.find(" file ") != std::string::npos; }

std::vector<std::string> count_all(bool with_files) {
    const persist::test::scratch_directory in_memory("/dev/shm");
    const persist::test::scratch_directory on_disk(std::filesystem::current_path().string());
    ledger all;
    const auto count = [&](void (*engine)(ledger&), const std::string& medium, level durability) {
        all.medium = medium;
        all.durability = durability;
        // Each waits for the device there.
        all.operations = medium == "file" ? 16 : 64;
        all.directory = medium == "file" ? on_disk.path() : in_memory.path();
        engine(all);
    };
#define HOLDFAST_COUNT(engine) \
    if (engine::description.recovers) count(count_##engine, "nvram", level::power);
    HOLDFAST_ENGINES(HOLDFAST_COUNT)
#undef HOLDFAST_COUNT
    count(count_line, "nvram", level::power);
    if (with_files) count(count_redo, "file", level::power);
#define HOLDFAST_COUNT(engine) count(count_##engine, "nvram", level::process);
    HOLDFAST_ENGINES(HOLDFAST_COUNT)
#undef HOLDFAST_COUNT
    count(count_line, "nvram", level::process);
    return all.lines;
}

std::vector<std::string> read_golden(bool with_files) {
    std::vector<std::string> lines;
    std::ifstream in(golden_path);
    for (std::string line; std::getline(in, line);)
        if (!line.starts_with('#') && (with_files || !is_about_files(line))) lines.push_back(line);
    return lines;
}

std::string difference(const std::vector<std::string>& expected, const std::vector<std::string>& found) {
    const std::set<std::string> before(expected.begin(), expected.end());
    const std::set<std::string> after(found.begin(), found.end());
    std::string text = heading.back() + "\n";
    for (const auto& line : expected)
        if (!after.contains(line)) text += "- " + line + "\n";
    for (const auto& line : found)
        if (!before.contains(line)) text += "+ " + line + "\n";
    return text;
}

TEST(Budget, EveryOperationCostsExactlyWhatTheGoldenFileSays) {
    const auto here = persist::discover(std::filesystem::current_path().string());
    ASSERT_TRUE(here);
    const bool with_files = here->kind == persist::medium::file;
    const auto found = count_all(with_files);
    const char* const update = std::getenv("HOLDFAST_UPDATE_GOLDEN");
    if (update != nullptr && std::string_view(update) == "1") {
        ASSERT_TRUE(with_files) << "run it in a directory on an ordinary file system";
        std::ofstream out(golden_path);
        for (const auto& line : heading) out << line << "\n";
        for (const auto& line : found) out << line << "\n";
        ASSERT_TRUE(out.good()) << golden_path;
        return;
    }
    const auto expected = read_golden(with_files);
    EXPECT_TRUE(expected == found) << "budgets changed (HOLDFAST_UPDATE_GOLDEN=1 accepts that):\n"
                                   << difference(expected, found);
}

TEST(Budget, TheCountsAreTheSameEveryTime) { EXPECT_EQ(count_all(false), count_all(false)); }

}  // namespace
}  // namespace holdfast::bench::test
