// That the explorer finds what is left out.
#include <crash/plant/hunt.hpp>

#include <holdfast/dnv/planted.hpp>
#include <holdfast/engine/planted.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/powerfail/planted.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::crash {
namespace {

namespace site = persist::site;

constexpr auto left_out = fault::change::left_out;
constexpr auto weakened = fault::change::weakened;

const model& x86 = *model_named("x86");
const model& file = *model_named("file");

std::unique_ptr<subject> subject_named(std::string_view engine, std::string_view name, const model& how) {
    for (auto& each : all_subjects())
        if (each->engine() == engine && each->name() == name && each->knows(how)) return std::move(each);
    return nullptr;
}

struct commit_path {
    std::vector<std::string_view> engines;
    std::vector<fault> faults;
};

/// What a commit, or bringing it home, cannot do without. (The order of a reused segment behind the
/// truncation point needs laps of several threads to show.)
const std::vector<commit_path> commit_paths{
    {{"redo"},
     {{weakened, event_kind::stream, site::log_record},
      {left_out, event_kind::fence, site::log_commit_fence},
      {left_out, event_kind::write_back, site::log_truncate_home},
      {left_out, event_kind::fence, site::log_truncate_home_fence}}},
    {{"undo", "undo_paper"},
     {{weakened, event_kind::stream, site::log_record},
      {left_out, event_kind::fence, site::undo_record_fence},
      {left_out, event_kind::write_back, site::undo_write_back},
      {left_out, event_kind::fence, site::undo_home_fence},
      {left_out, event_kind::fence, site::undo_commit_fence}}},
};

TEST(Hunt, EveryFaultOnTheWayOfACommitIsCaughtInEveryContainer) {
    for (const auto& what : all_subjects()) {
        // Many interleavings of each workload: `holdfast crash --mutants` has the time.
        const bool is_interleaved = what->name().starts_with("threads") || what->name().starts_with("combining");
        if (is_interleaved || what->is_for_lives()) continue;
        for (const commit_path& path : commit_paths) {
            if (!what->knows(x86) || std::ranges::find(path.engines, what->engine()) == path.engines.end()) continue;
            for (const fault& each : path.faults)
                EXPECT_TRUE(is_caught(*what, x86, each, 1))
                    << what->engine() << " " << what->name() << " " << each.name();
        }
    }
}

// (An old salt that survives shows only under a commit after the recovery.)
TEST(Hunt, AFaultOnTheWayOfARecoveryIsCaughtByCuttingIt) {
    const std::vector<fault> faults{{left_out, event_kind::write_back, site::recovery_home},
                                    {left_out, event_kind::fence, site::recovery_home_fence},
                                    {left_out, event_kind::write_back, site::log_truncate_sequence},
                                    {left_out, event_kind::fence, site::log_truncate_sequence_fence}};
    for (const std::string_view engine : {"redo", "undo"}) {
        const auto what = subject_named(engine, "hash_map", x86);
        for (const fault& each : faults)
            EXPECT_TRUE(is_caught(*what, x86, each, 1)) << engine << " " << each.name();
    }
}

struct call_fault {
    std::string_view engine;
    const model& how;
    fault what;
};

TEST(Hunt, ACallThatACommitLacksIsSeenInItsAcknowledgementWithoutAnyImage) {
    const std::vector<call_fault> faults{
        {"redo", x86, {left_out, event_kind::fence, site::log_commit_fence}},
        {"undo", x86, {left_out, event_kind::fence, site::undo_commit_fence}},
        {"undo", x86, {left_out, event_kind::write_back, site::undo_write_back}},
        {"softwrap", x86, {left_out, event_kind::fence, site::log_commit_fence}},
        {"redo", file, {weakened, event_kind::file_range_sync, site::log_group}}};
    for (const call_fault& each : faults) {
        const auto what = subject_named(each.engine, "hash_map", each.how);
        effort only_promises;
        only_promises.longest = 1;
        only_promises.only_promises = true;
        catch_report told;
        const bool caught = is_caught(*what, each.how, each.what, 1, only_promises, &told);
        EXPECT_TRUE(caught) << each.engine << " " << each.what.name();
        EXPECT_TRUE(told.what.starts_with("acknowledged, and not durable: ")) << told.what;
    }
}

TEST(Hunt, WhatAGroupOfSeveralThreadsMustNotDoIsCaught) {
    const auto what = subject_named("redo", "combining", x86);
    effort most;
    most.depth = 0;
    most.runs = 40'000;
    for (const planted_fault* each : {&planted::combined_record_torn, &planted::result_before_fence,
                                      &planted::wrong_part_rolled_back, &planted::overwritten_part_kept})
        EXPECT_TRUE(is_caught(*what, x86, {fault::change::in_code, {}, {}, each}, 1, most)) << each->name;
}

struct dnv_fault {
    std::string_view name;
    const model& how;
    const planted_fault* what;
};

TEST(Hunt, WhatADnvPoolMustNotDoWithFlippedBitsAndFirstBlocksWithoutCodesIsCaught) {
    const auto& kill = *model_named("kill");
    const dnv_fault faults[] = {{"flips", kill, &planted::mended_code_first},
                                {"damages", kill, &planted::damage_entered_late},
                                {"damages", x86, &planted::damage_entered_without_record},
                                {"first_unprotected", kill, &planted::unprotected_header_summed_late},
                                {"first_unprotected", kill, &planted::unprotected_chunk_not_zeroed}};
    const effort most{.longest = 1, .depth = 0};
    if (!has_dnv_subjects()) GTEST_SKIP() << "there are no atomic blocks";
    for (const dnv_fault& each : faults) {
        const auto what = subject_named("dnv", each.name, each.how);
        ASSERT_NE(what, nullptr) << each.name;
        const fault planted{fault::change::in_code, {}, {}, each.what};
        EXPECT_TRUE(is_caught(*what, each.how, planted, 1, most)) << planted.name();
    }
}

TEST(Hunt, WhatASaveThatIsResumedAndAnOpeningAfterASaveMustNotDoIsCaught) {
    const auto& power_fail = *model_named("power-fail");
    if (!has_dnv_subjects()) GTEST_SKIP() << "there are no atomic blocks";
    const auto what = subject_named("dnv", "list", power_fail);
    ASSERT_NE(what, nullptr);
    const effort most{.longest = 1, .images_of_a_cut = 12, .runs = 20'000};
    for (const planted_fault* each :
         {&planted::seal_not_taken_back, &planted::log_not_adopted, &planted::armed_before_recovered}) {
        const fault planted{fault::change::in_code, {}, {}, each};
        EXPECT_TRUE(is_caught(*what, power_fail, planted, 1, most)) << planted.name();
    }
}

}  // namespace
}  // namespace holdfast::crash
