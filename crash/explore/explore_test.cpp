// That the explorer finds nothing where nothing is wrong, and the same with the same seed.
#include <crash/explore/explore.hpp>
#include <crash/subjects/chosen_pairs_test_support.hpp>

#include <holdfast/base/test_run.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/sites.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {
namespace {

namespace site = persist::site;

constexpr auto left_out = fault::change::left_out;

const model& x86 = *model_named("x86");

std::unique_ptr<subject> subject_named(std::string_view engine, std::string_view name) {
    for (auto& each : all_subjects())
        if (each->engine() == engine && each->name() == name) return std::move(each);
    return nullptr;
}

/// A short run leaves what a wider model contains to that one.
bool is_tried(const subject& what, const model& how) {
    if (!what.knows(how) || what.is_for_lives()) return false;
    // More of them are the command's, which is run as a test too: all of dnv's, whose images take long.
    if (what.engine() == "dnv") return what.name() == "list" && how.name == "x86";
    return test::at_full_length() || how.within.empty() || !what.knows(*model_named(how.within));
}

TEST(Explore, OneOperationIsExploredAndNothingIsWrong) {
    const std::vector<std::unique_ptr<subject>> subjects = all_subjects();
    chosen_pairs chosen(subjects);
    for (const auto& what : subjects) {
        if (!chosen.takes(*what)) continue;
        for (const model& how : models) {
            if (!is_tried(*what, how)) continue;
            limits few;
            few.images_of_a_cut = 24;
            explorer run(*what, how, few, 1);
            for_each_workload(what->universe(), 1, [&](const workload& operations) { run.explore(operations); });
            EXPECT_EQ(run.found().violations, 0u)
                << what->engine() << " " << what->name() << " " << how.name << ": " << run.found().told.front().what;
            EXPECT_GT(run.found().images, what->universe());
            EXPECT_GE(run.found().runs, run.found().images);
        }
    }
}

TEST(Explore, DrawnInterleavingsOfDnvPoolsAreExploredAndNothingIsWrong) {
    std::mt19937_64 random(test::seed_of_run());
    for (auto& what : all_subjects())
        for (const model& how : models) {
            const bool is_wanted = how.within.empty() && (test::at_full_length() || !how.is_file);
            if (what->engine() != "dnv" || !what->name().starts_with("threads") || !is_wanted) continue;
            limits few;
            few.images_of_a_cut = 3;
            explorer run(*what, how, few, random());
            for (unsigned drawn = 0; drawn < (test::at_full_length() ? 200u : 2u); ++drawn) {
                workload operations(2 + random() % 2);
                for (unsigned& each : operations) each = static_cast<unsigned>(random() % what->universe());
                const std::size_t schedule = random() % what->schedules(operations, how);
                run.explore(operations, what->record(operations, how, schedule), schedule);
            }
            ASSERT_EQ(run.found().violations, 0u)
                << what->name() << " " << how.name << ": " << run.found().told.front().what;
            std::printf("%s %s: %llu images\n", std::string(what->name()).c_str(), std::string(how.name).c_str(),
                        static_cast<unsigned long long>(run.found().images));
        }
}

/// What every image of up to two operations, with damage in many places, leads to.
findings damage_everywhere(const fault& planted) {
    const auto& how = *model_named("file");
    std::unique_ptr<subject> what;
    for (auto& each : all_subjects())
        if (each->engine() == "redo" && each->name() == "queue" && each->knows(how)) what = std::move(each);
    limits most;
    most.depth = 0;
    most.damaged_one_in = 1;
    most.damaged_places = 500;
    const planted_here in_code(planted);
    explorer run(*what, how, most, 1);
    for_each_workload(what->universe(), 2, [&](const workload& operations) { run.explore(operations); });
    return run.found();
}

TEST(Explore, DamagedMetadataIsToldOrDoesNoHarm) {
    const findings found = damage_everywhere({});
    EXPECT_GT(found.damaged, 5'000u);
    EXPECT_EQ(found.unnoticed, std::vector<std::string>{});
    EXPECT_EQ(found.violations, 0u);
    EXPECT_EQ(found.damaged_records, 0u) << "on a file homes are written by a checkpoint alone";
}

TEST(Explore, ADamagedRecordThatIsBelievedIsSeenToDoHarm) {
    fault believed;
    believed.code = &planted::checksum_ignored;
    EXPECT_GT(damage_everywhere(believed).damaged_records, 0u);
}

TEST(Explore, TheSameSeedFindsTheSame) {
    const auto what = subject_named("redo", "string");
    limits few;
    few.images_of_a_cut = 50;
    const workload long_texts{1, 1};
    const auto explore = [&](std::uint64_t seed) {
        trace recorded = what->record(long_texts, x86);
        plant({left_out, event_kind::fence, site::log_commit_fence}, recorded);
        explorer run(*what, x86, few, seed);
        run.explore(long_texts, recorded);
        EXPECT_FALSE(run.found().exhaustive);
        std::vector<choices> made;
        for (const violation& each : run.found().told) made.push_back(each.made);
        return std::pair(run.found().images, made);
    };
    const auto first = explore(7);
    EXPECT_FALSE(first.second.empty());
    EXPECT_EQ(explore(7), first);
    EXPECT_NE(explore(8), first) << "a drawn image is drawn";
}

TEST(Explore, AnImageCountsOnceHoweverOftenItsWorkloadIsRecorded) {
    const auto what = subject_named("redo", "queue");
    limits outermost;
    outermost.depth = 0;
    explorer run(*what, x86, outermost, 1);
    run.explore({0, 1});
    const auto once = run.found();
    EXPECT_GT(once.images, 10u);
    run.explore({0, 1});
    EXPECT_EQ(run.found().images, once.images);
    EXPECT_GT(run.found().runs, once.runs);
}

TEST(Explore, AllWorkloadsAreMadeOnce) {
    std::set<workload> all;
    for_each_workload(3, 3, [&](const workload& each) { EXPECT_TRUE(all.insert(each).second); });
    EXPECT_EQ(all.size(), 3u + 9u + 27u);
}

}  // namespace
}  // namespace holdfast::crash
