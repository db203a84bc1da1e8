// That several lives of a pool show what one does not, and that a line leads there again.
#include <crash/explain/image_runner.hpp>

#include <crash/explain/replay.hpp>
#include <crash/explore/explore.hpp>
#include <holdfast/pool/planted.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace holdfast::crash {
namespace {

const model& file = *model_named("file");

std::unique_ptr<subject> subject_named(std::string_view engine, std::string_view name, const model& how) {
    for (auto& each : all_subjects())
        if (each->engine() == engine && each->name() == name && each->knows(how)) return std::move(each);
    return nullptr;
}

fault in_code(const planted_fault& code) { return {fault::change::in_code, {}, {}, &code}; }

/// Operations of the workload `lives`.
constexpr unsigned append = 0;
constexpr unsigned change = 1;
constexpr unsigned free_all = 2;

/// A first life that logs changes of a large block and frees it, and a second that takes its pages again.
findings two_lives(subject& what, const std::optional<fault>& planted) {
    limits few;
    few.images_of_a_cut = 4;
    few.lives = 2;
    few.told_lives = {{append}};
    few.stop_at_first = true;
    std::optional<planted_here> here;
    if (planted) here.emplace(*planted);
    explorer run(what, file, few, 1);
    run.explore({change, free_all});
    run.explore({append, change, free_all, append});
    return run.found();
}

TEST(Lives, FreshPagesThatALogOfTheLifeBeforeNamesAreFoundDamagedAndTheReplayLineLeadsThere) {
    const auto planted = in_code(planted::named_pages_taken_for_clean);
    for (const std::string_view engine : {"redo", "softwrap", "softwrap_lat"}) {
        const auto what = subject_named(engine, "lives", file);
        const findings found = two_lives(*what, planted);
        ASSERT_GT(found.violations, 0u) << engine;
        EXPECT_EQ(found.first_life, 2u) << engine;
        EXPECT_FALSE(found.exhaustive);
        const scenario met = scenario_of(*what, file, planted, found.told.front());
        const auto read = parse_replay(replay_line(met));
        ASSERT_TRUE(read.has_value()) << read.error().text();
        EXPECT_EQ(*read, met);
        image_runner again(*what, file, read->operations, read->planted, read->schedule);
        EXPECT_TRUE(again.run(read->cuts).wrong.has_value()) << engine << " " << replay_line(met);
    }
}

TEST(Lives, WithoutAFaultNothingIsWrong) {
    for (const std::string_view engine : {"redo", "softwrap", "softwrap_lat"}) {
        const auto what = subject_named(engine, "lives", file);
        const findings found = two_lives(*what, {});
        EXPECT_EQ(found.violations, 0u) << engine << " " << found.told.front().what;
        EXPECT_GT(found.nested_cuts, found.cuts) << "the second life is cut, too";
        EXPECT_GT(found.promises, 0u);
    }
}

TEST(Lives, ALifeInAReplayLineNeedsACutBeforeIt) {
    EXPECT_FALSE(parse_replay("redo:lives:file:ops=0:life=1:cut=3:choices=").has_value());
    EXPECT_FALSE(parse_replay("redo:lives:file:ops=0:cut=3:choices=:life=1").has_value());
    const auto read = parse_replay("redo:lives:file:ops=0:cut=3:killed:life=1*2:cut=9:choices=2");
    ASSERT_TRUE(read.has_value()) << read.error().text();
    EXPECT_EQ(read->cuts.front().life, (workload{1, 1}));
}

}  // namespace
}  // namespace holdfast::crash
