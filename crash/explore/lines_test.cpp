// What the mechanisms of lines stand, and what they do not.
#include <crash/explore/explore.hpp>
#include <crash/subjects/subjects_lines.hpp>

#include <gtest/gtest.h>

#include <string_view>

namespace holdfast::crash {
namespace {

findings explore_two_operations(subject& what, std::string_view model) {
    limits few;
    few.images_of_a_cut = 64;
    explorer run(what, *model_named(model), few, 1);
    for_each_workload(what.universe(), 2, [&](const workload& operations) { run.explore(operations); });
    return run.found();
}

TEST(Lines, WhereALineMayTearOneIndexDoesNotHold) {
    const auto what = buffer_where_lines_tear();
    EXPECT_GT(explore_two_operations(*what, "x86-torn").violations, 0u);
    EXPECT_EQ(explore_two_operations(*what, "x86").violations, 0u) << "and where it may not, it does";
}

TEST(Lines, WhereALineMayTearSummedCopiesHold) {
    std::vector<std::unique_ptr<subject>> all;
    add_subjects_of_lines(all);
    for (const auto& what : all) {
        if (what->engine() != "lines" || !what->knows(*model_named("x86-torn"))) continue;
        const findings found = explore_two_operations(*what, "x86-torn");
        EXPECT_EQ(found.violations, 0u) << what->name();
        EXPECT_GT(found.images, 1000u) << what->name();
    }
}

}  // namespace
}  // namespace holdfast::crash
