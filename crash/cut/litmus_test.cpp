// The models against cases that others published, or that follow from the rules that they published, worked by
// hand. Sources, reasons, and the same table for readers: docs/crash/litmus.md, which this test holds to it.
#include <crash/cut/litmus_test_support.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace holdfast::crash {
namespace {

struct litmus {
    std::string_view source;
    std::string_view model;
    std::vector<std::string> threads;
    std::string_view observed;
    std::string_view allowed;        ///< by the source: all of them, and no other
    std::string_view admitted = "";  ///< what our model is weaker by, as the page gives reasons for
    cuts where = cuts::anywhere;
};

constexpr std::string_view all_of_two = "00 01 10 11";
constexpr std::string_view x_before_y = "00 10 11";
constexpr std::string_view all_of_three = "000 001 010 011 100 101 110 111";

const std::vector<litmus> cases{
    // One thread on x86: what orders a line's way to the medium, and what does not.
    {"Px86", "x86", {"x=1; y=1"}, "x y", all_of_two},
    {"Px86", "x86", {"x=1; x'=1"}, "x x'", x_before_y},
    {"Px86", "x86", {"x=1; x=2"}, "x", "0 1 2"},
    {"Px86", "x86", {"x=1; wb x; y=1"}, "x y", all_of_two},
    {"Px86", "x86", {"x=1; wb x; fence; y=1"}, "x y", x_before_y},
    {"Px86", "x86", {"x=1; fence; y=1"}, "x y", all_of_two},
    {"Px86", "x86", {"wb x; x=1; fence; y=1"}, "x y", all_of_two},
    {"Px86", "x86", {"x=1; wb y; fence; y=1"}, "x y", all_of_two},
    {"Px86", "x86", {"x=1; wb x'; fence; y=1"}, "x y", x_before_y},
    {"Px86", "x86", {"x=1; wb x; x=2; fence; y=1"}, "x y", "00 10 11 20 21"},
    {"Px86", "x86", {"x=1; wb x; fence; x=2; y=1"}, "x y", "00 10 11 20 21"},
    {"Px86", "x86", {"x=1; x'=1; wb x; fence; y=1"}, "x x' y", "000 100 110 111"},
    {"Px86", "x86", {"x=1; wb x; y=1; wb y; fence; z=1"}, "x y z", "000 010 100 110 111"},
    {"Ex86", "x86", {"nt x=1; y=1"}, "x y", all_of_two},
    {"Ex86", "x86", {"nt x=1; fence; y=1"}, "x y", x_before_y},
    {"Ex86", "x86", {"nt x=1; nt x'=1"}, "x x'", all_of_two},
    {"Ex86", "x86", {"nt x=1; x=2; wb x; fence"}, "x", "2", "", cuts::end},
    {"Ex86", "x86", {"x=1; wb x; nt x=2; fence"}, "x", "2", "", cuts::end},
    // Two threads on x86.
    {"Px86", "x86", {"x=1", "if x==1; y=1"}, "x y", all_of_two},
    {"Px86", "x86", {"x=1", "if x==1; x'=1"}, "x x'", x_before_y},
    {"Px86", "x86", {"x=1; wb x; fence; y=1", "if y==1; z=1"}, "x y z", "000 100 101 110 111"},
    {"Px86", "x86", {"x=1", "if x==1; wb x; fence; y=1"}, "x y", x_before_y},
    {"Px86", "x86", {"x=1; wb x", "if x==1; fence; y=1"}, "x y", all_of_two},
    {"Px86", "x86", {"x=1; wb x", "if x==1; wb x; fence; y=1"}, "x y", x_before_y},
    {"Px86", "x86", {"x=1; wb x; fence", "x=2; wb x; fence"}, "x", "1 2", "", cuts::end},
    {"PTSO", "x86", {"x=1; wb x; fence; y=1", "if y==1; wb y; fence; z=1"}, "x y z", "000 100 110 111"},
    // What x86 forbids and the model admits.
    {"Px86", "x86", {"x=1; clflush x; y=1"}, "x y", x_before_y, "01"},
    {"Px86", "x86", {"x=1; wb x; rmw z; y=1"}, "x y", x_before_y, "01"},
    {"Ex86", "x86", {"x=1; nt x=2; fence"}, "x", "2", "1", cuts::end},
    {"Px86", "x86-torn", {"x=1; x'=1"}, "x x'", x_before_y, "01"},
    // Caches that survive.
    {"eADR", "eadr", {"x=1; y=1"}, "x y", x_before_y},
    {"eADR", "eadr", {"x=1", "if x==1; y=1"}, "x y", x_before_y},
    {"eADR", "eadr", {"nt x=1; y=1"}, "x y", all_of_two},
    {"eADR", "eadr", {"nt x=1; x=2; fence"}, "x", "2", "", cuts::end},
    {"kernel", "kill", {"x=1; nt y=1; z=1"}, "x y z", "000 100 110 111"},
    // Armv8: fence is DSB, wb is DC CVAP.
    {"PArm", "arm", {"x=1; x'=1"}, "x x'", all_of_two},
    {"PArm", "arm", {"x=1; x=2"}, "x", "0 1 2"},
    {"PArm", "arm", {"x=1; fence; x'=1"}, "x x'", x_before_y},
    {"PArm", "arm", {"x=1; wb x; fence; y=1"}, "x y", x_before_y},
    {"PArm", "arm", {"x=1; wb x; y=1"}, "x y", all_of_two},
    {"PArm", "arm", {"x=1; fence; y=1"}, "x y", all_of_two},
    {"PArm", "arm", {"x=1", "if x==1; wb x; fence; y=1"}, "x y", x_before_y},
    {"PArm", "arm", {"x=1; wb x", "if x==1; fence; y=1"}, "x y", all_of_two},
    {"PArm", "arm", {"x=1", "if x==1; x'=1"}, "x x'", x_before_y, "01"},
    // pmemcheck: a store is persistent, or DIRTY or FLUSHED at the end.
    {"pmemcheck", "x86", {"x=1"}, "x", "0 1", "", cuts::end},
    {"pmemcheck", "x86", {"x=1; wb x"}, "x", "0 1", "", cuts::end},
    {"pmemcheck", "x86", {"x=1; wb x; fence"}, "x", "1", "", cuts::end},
    {"pmemcheck", "x86", {"x=1; fence; wb x"}, "x", "0 1", "", cuts::end},
    {"pmemcheck", "x86", {"x=1; wb x; x=2; fence"}, "x", "1 2", "", cuts::end},
    {"Ex86", "x86", {"nt x=1"}, "x", "0 1", "", cuts::end},
    {"Ex86", "x86", {"nt x=1; fence"}, "x", "1", "", cuts::end},
    // pmreorder: what its engines make of the stores (a, b, c) since the last flush and fence.
    {"ReorderFull", "x86", {"x=1; y=1; z=1"}, "x y z", all_of_three, "", cuts::end},
    {"ReorderFull", "x86-torn", {"x=1; x'=1; x''=1"}, "x x' x''", all_of_three, "", cuts::end},
    {"ReorderFull", "x86", {"x=1; wb x; fence; y=1; z=1"}, "x y z", "100 101 110 111", "", cuts::end},
    {"ReorderAccumulative", "x86", {"x=1; x'=1; x''=1"}, "x x' x''", "000 100 110 111", "", cuts::end},
    {"NoReorderDoCheck", "kill", {"x=1; y=1; z=1"}, "x y z", "111", "", cuts::end},
    // Files.
    {"ALICE", "file", {"write x=1; write y=1"}, "x y", all_of_two},
    {"ALICE", "file", {"write x=1,y=1"}, "x y", all_of_two},
    {"ALICE", "file", {"write x=1; sync; write y=1"}, "x y", x_before_y},
    {"ALICE", "file", {"write x=1; write x'=1"}, "x x'", x_before_y},
    {"ALICE", "file", {"write x=1; write x=2"}, "x", "0 1 2"},
    {"ALICE", "file", {"size 2; write y=1"}, "y size", "-1 02 12", "", cuts::end},
    {"ALICE", "file", {"size 2; write y=1; sync"}, "y size", "12", "", cuts::end},
    {"ALICE", "file", {"write x=1; publish; dirsync"}, "x name", "01 11", "", cuts::end},
    {"CrashMonkey", "file", {"write x=1; sync; publish"}, "x name", "10 11", "", cuts::end},
    {"CrashMonkey", "file", {"write x=1; sync; publish; dirsync"}, "x name", "11", "", cuts::end},
};

states set_of(std::string_view text) {
    const auto each = split(text, ' ');
    return {each.begin(), each.end()};
}

std::string joined(const states& all) {
    std::string text;
    for (const std::string& each : all) text += (text.empty() ? "" : " ") + each;
    return text;
}

/// The case as a row of the page.
std::string row_of(const litmus& what, const states& found) {
    std::string program;
    for (const std::string& each : what.threads) program += (program.empty() ? "`" : " ‖ `") + each + "`";
    std::string text = "| " + std::string(what.source) + " | " + std::string(what.model) + " | " + program;
    text += what.where == cuts::end ? " then cut" : "";
    text += " | " + std::string(what.observed) + " | " + std::string(what.allowed) + " | " + joined(found) + " |";
    return text + (what.admitted.empty() ? " agrees |" : " admits " + std::string(what.admitted) + " |");
}

TEST(Litmus, TheModelsAllowWhatTheLiteratureAllowsAndNothingElseButWhatIsListed) {
    for (const litmus& each : cases) {
        const model* how = model_named(each.model);
        ASSERT_NE(how, nullptr) << each.model;
        const states found = litmus_program(*how, each.threads, each.observed, each.where).run();
        const states allowed = set_of(each.allowed);
        const states admitted = set_of(each.admitted);
        EXPECT_TRUE(std::ranges::includes(found, allowed)) << "excludes what may happen: " << row_of(each, found);
        states listed = allowed;
        listed.insert(admitted.begin(), admitted.end());
        EXPECT_EQ(listed.size(), allowed.size() + admitted.size()) << row_of(each, found);
        EXPECT_EQ(found, listed) << row_of(each, found);
        std::puts(row_of(each, found).c_str());
    }
}

TEST(Litmus, AWiderModelAllowsWhateverTheOneWithinItDoes) {
    std::size_t compared = 0;
    for (const litmus& each : cases) {
        const model* how = model_named(each.model);
        ASSERT_NE(how, nullptr) << each.model;
        const model* wider = model_named(how->within);
        ASSERT_EQ(wider == nullptr, how->within.empty()) << how->within;
        if (wider == nullptr) continue;
        const states narrow = litmus_program(*how, each.threads, each.observed, each.where).run();
        const states wide = litmus_program(*wider, each.threads, each.observed, each.where).run();
        EXPECT_TRUE(std::ranges::includes(wide, narrow)) << row_of(each, wide);
        ++compared;
    }
    EXPECT_GT(compared, 30u);
}

TEST(Litmus, ThePageListsEveryCase) {
    std::ifstream file(HOLDFAST_TEST_DIRECTORY "/../../docs/crash/litmus.md");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    std::size_t rows = 0;
    for (const std::string_view end : {"| agrees |\n", "| admits "})
        for (std::size_t at = page.find(end); at != std::string::npos; at = page.find(end, at + 1)) ++rows;
    EXPECT_EQ(rows, cases.size());
    for (const litmus& each : cases) {
        states found = set_of(each.allowed);
        const states admitted = set_of(each.admitted);
        found.insert(admitted.begin(), admitted.end());
        EXPECT_NE(page.find(row_of(each, found) + "\n"), std::string::npos) << row_of(each, found);
    }
}

}  // namespace
}  // namespace holdfast::crash
