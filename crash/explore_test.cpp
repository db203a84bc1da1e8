// That the explorer finds nothing where nothing is wrong, and finds what is left out.
#include <crash/explore.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::crash {
namespace {

using persist::site;

const model& x86 = *model_named("x86");

std::unique_ptr<subject> subject_named(std::string_view engine, std::string_view name) {
    for (auto& each : all_subjects())
        if (each->engine() == engine && each->name() == name) return std::move(each);
    return nullptr;
}

struct commit_path {
    std::string_view engine;
    std::vector<fault> faults;
};

/// What a commit, or bringing it home, cannot do without. (The order of a reused segment behind the
/// truncation point needs laps of several threads to show.)
const std::vector<commit_path> commit_paths{
    {"redo",
     {{event_kind::stream, site::log_record},
      {event_kind::fence, site::log_commit_fence},
      {event_kind::write_back, site::log_truncate_home},
      {event_kind::fence, site::log_truncate_home_fence}}},
    {"undo",
     {{event_kind::stream, site::log_record},
      {event_kind::fence, site::undo_record_fence},
      {event_kind::write_back, site::undo_write_back},
      {event_kind::fence, site::undo_home_fence},
      {event_kind::fence, site::undo_commit_fence}}},
    {"undo_paper",
     {{event_kind::stream, site::log_record},
      {event_kind::fence, site::undo_record_fence},
      {event_kind::write_back, site::undo_write_back},
      {event_kind::fence, site::undo_home_fence},
      {event_kind::fence, site::undo_commit_fence}}},
};

TEST(Explore, EveryFaultOnTheWayOfACommitIsCaughtInEveryContainer) {
    for (const commit_path& path : commit_paths)
        for (const std::string_view container : {"hash_map", "btree_map", "vector", "queue", "string"}) {
            const auto what = subject_named(path.engine, container);
            for (const fault& each : path.faults)
                EXPECT_TRUE(is_caught(*what, x86, each, 1)) << path.engine << " " << container << " " << each.name();
        }
}

// (An old salt that survives shows only under a commit after the recovery.)
TEST(Explore, AFaultOnTheWayOfARecoveryIsCaughtByCuttingIt) {
    const std::vector<fault> faults{{event_kind::write_back, site::recovery_home},
                                    {event_kind::fence, site::recovery_home_fence},
                                    {event_kind::write_back, site::log_truncate_sequence},
                                    {event_kind::fence, site::log_truncate_sequence_fence}};
    for (const std::string_view engine : {"redo", "undo"}) {
        const auto what = subject_named(engine, "hash_map");
        for (const fault& each : faults)
            EXPECT_TRUE(is_caught(*what, x86, each, 1)) << engine << " " << each.name();
    }
}

TEST(Explore, OneOperationIsExploredToTheEndAndNothingIsWrong) {
    for (auto& what : all_subjects())
        for (const model& how : models) {
            explorer run(*what, how, {}, 1);
            for_each_workload(what->universe(), 1, [&](const workload& operations) { run.explore(operations); });
            EXPECT_EQ(run.found().violations, 0u)
                << what->engine() << " " << what->name() << " " << how.name << ": " << run.found().told.front().what;
            EXPECT_GT(run.found().images, what->universe());
            EXPECT_GE(run.found().runs, run.found().images);
        }
}

TEST(Explore, TheSameSeedFindsTheSame) {
    const auto what = subject_named("redo", "string");
    limits few;
    few.images_of_a_cut = 50;
    std::vector<std::uint64_t> images;
    for (int i = 0; i < 2; ++i) {
        explorer run(*what, x86, few, 7);
        run.explore({1, 2});
        EXPECT_FALSE(run.found().exhaustive);
        images.push_back(run.found().runs);
    }
    EXPECT_EQ(images[0], images[1]);
}

TEST(Explore, AllWorkloadsAreMadeOnce) {
    std::set<workload> all;
    for_each_workload(3, 3, [&](const workload& each) { EXPECT_TRUE(all.insert(each).second); });
    EXPECT_EQ(all.size(), 3u + 9u + 27u);
}

}  // namespace
}  // namespace holdfast::crash
