// That a planted fault's violation is shrunk, replayed and explained, and that text, JSON and page say it.
#include <crash/explain/report_html.hpp>

#include <crash/explain/report_json.hpp>
#include <crash/explain/report_text.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/log/sites.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace holdfast::crash {
namespace {

namespace site = persist::site;

const model& x86 = *model_named("x86");
const fault no_commit_fence{fault::change::left_out, event_kind::fence, site::log_commit_fence};
const fault no_home_write_back{fault::change::left_out, event_kind::write_back, site::log_truncate_home};
const fault no_home_fence{fault::change::left_out, event_kind::fence, site::log_truncate_home_fence};
const fault no_recovery_write_back{fault::change::left_out, event_kind::write_back, site::recovery_home};

std::unique_ptr<subject> subject_named(std::string_view engine, std::string_view name) {
    for (auto& each : all_subjects())
        if (each->engine() == engine && each->name() == name) return std::move(each);
    return nullptr;
}

/// The violations of these operations, as the explorer meets them.
findings explored(subject& what, const fault& planted, const workload& operations, unsigned depth = 0) {
    limits most;
    most.depth = depth;
    most.nested_one_in = 1;
    explorer run(what, x86, most, 1);
    run.plant_everywhere(planted);
    trace recorded = what.record(operations, x86);
    static_cast<void>(plant(planted, recorded));
    run.explore(operations, recorded);
    return run.found();
}

story story_of(subject& what, const fault& planted, const workload& operations) {
    const findings found = explored(what, planted, operations);
    EXPECT_FALSE(found.told.empty()) << planted.name();
    return tell_story(what, x86, scenario_of(what, x86, planted, found.told.back()));
}

TEST(Report, TheReplayLineOfAViolationShowsItAndWithoutTheFaultItDoesNot) {
    for (const std::string_view engine : {"redo", "undo"}) {
        const auto what = subject_named(engine, "hash_map");
        const fault planted = engine == "redo" ? no_commit_fence : fault{fault::change::left_out,
            event_kind::fence, site::undo_record_fence};
        for (const violation& each : explored(*what, planted, {3, 1}).told) {
            scenario line = parse_replay(replay_line(scenario_of(*what, x86, planted, each))).value();
            const replayed again = replay_again(*what, x86, line);
            ASSERT_TRUE(again.told);
            EXPECT_TRUE(again.followed);
            // Of a promise that was broken the image shows what is lost by it.
            if (!each.what.starts_with("acknowledged, and not durable")) {
                EXPECT_EQ(again.told->wrong, each.what);
            }
            line.planted.reset();
            EXPECT_FALSE(replay_again(*what, x86, line).told);
        }
    }
}

TEST(Report, AViolationInsideARecoveryIsReplayedByTheChainOfItsCuts) {
    const auto what = subject_named("redo", "hash_map");
    const findings found = explored(*what, no_recovery_write_back, {0}, 1);
    ASSERT_FALSE(found.told.empty());
    for (const violation& each : found.told) {
        ASSERT_EQ(each.depth, 1u);
        ASSERT_EQ(each.outer.size(), 1u);
        const scenario line = scenario_of(*what, x86, no_recovery_write_back, each);
        const replayed again = replay_again(*what, x86, line);
        ASSERT_TRUE(again.told);
        EXPECT_TRUE(again.followed);
        EXPECT_EQ(again.told->wrong, each.what);
        EXPECT_EQ(again.told->account.traces.size(), 2u);
    }
}

TEST(Report, AnImageThatIsNotThereIsToldFromOneThatIsRight) {
    const auto what = subject_named("redo", "queue");
    const scenario after_the_end{"redo", "queue", "x86", {0}, {}, {{100000, {}}}};
    const replayed none = replay_again(*what, x86, after_the_end);
    ASSERT_TRUE(none.impossible);
    EXPECT_NE(none.impossible->find("the cut is before event 100000"), std::string::npos);
    const scenario no_such_operation{"redo", "queue", "x86", {9}, {}, {{0, {}}}};
    EXPECT_TRUE(replay_again(*what, x86, no_such_operation).impossible);
    const scenario no_such_choice{"redo", "queue", "x86", {0}, {}, {{0, {7}}}};
    const replayed other = replay_again(*what, x86, no_such_choice);
    EXPECT_FALSE(other.impossible);
    EXPECT_FALSE(other.followed);
    EXPECT_FALSE(other.told);
}

std::size_t older_things(subject& what, const scenario& which) {
    image_runner runner(what, x86, which.operations, which.planted, which.schedule);
    const image_verdict verdict = runner.run(which.cuts);
    EXPECT_TRUE(verdict.wrong);
    std::size_t count = 0;
    for (const image_plan& each : verdict.plans) count += each.older.size();
    return count;
}

TEST(Report, ShrinkingKeepsAViolationAndNeverGrows) {
    const auto what = subject_named("redo", "hash_map");
    for (const fault& planted : {no_commit_fence, no_home_write_back, no_home_fence}) {
        const findings found = explored(*what, planted, {4, 2});
        ASSERT_FALSE(found.told.empty());
        for (const violation& each : found.told) {
            const scenario before = scenario_of(*what, x86, planted, each);
            const shrunk after = shrink(*what, x86, before);
            EXPECT_TRUE(after.reproduced);
            EXPECT_TRUE(after.finished);
            EXPECT_EQ(after.smallest.operations, workload{0});
            EXPECT_EQ(shrink(*what, x86, before).smallest, after.smallest) << "the same again";
        }
    }
}

TEST(Report, AmongTheImagesOfOneWorkloadTheEarliestCutThatLosesLeastIsTheSmallest) {
    const auto what = subject_named("redo", "hash_map");
    const findings found = explored(*what, no_commit_fence, {0});
    ASSERT_FALSE(found.told.empty());
    for (const violation& each : found.told) {
        const scenario before = scenario_of(*what, x86, no_commit_fence, each);
        const scenario after = shrink(*what, x86, before).smallest;
        EXPECT_LE(after.cuts.back().event, before.cuts.back().event);
        EXPECT_LE(older_things(*what, after), older_things(*what, before));
        EXPECT_EQ(older_things(*what, after), 1u) << replay_line(before);
    }
}

TEST(Report, ShrinkingStopsWhenItsRecoveriesAreSpentAndStillHasAViolation) {
    const auto what = subject_named("redo", "hash_map");
    const violation found = explored(*what, no_commit_fence, {4, 2}).told.back();
    const shrunk after = shrink(*what, x86, scenario_of(*what, x86, no_commit_fence, found), 3);
    EXPECT_FALSE(after.finished);
    EXPECT_TRUE(replay_again(*what, x86, after.smallest).told);
}

TEST(Report, AMissingFenceIsNamedWithTheStoreThatItLeavesOut) {
    const auto what = subject_named("redo", "hash_map");
    const story told = story_of(*what, no_commit_fence, {0});
    ASSERT_EQ(told.why.lost.size(), 1u);
    const lost_store& lost = told.why.lost.front();
    const auto& events = told.account.traces.back().recorded.events;
    EXPECT_EQ(lost.lacked, lack::stream_fence);
    EXPECT_TRUE(lost.is_decisive);
    EXPECT_EQ(events[lost.event].where, site::log_record);
    ASSERT_TRUE(told.why.too_early);
    EXPECT_EQ(events[*told.why.too_early].where, site::redo_home);
    EXPECT_NE(told.sentence.find("was streamed, but no fence of that thread followed before the store to"),
              std::string::npos)
        << told.sentence;
}

TEST(Report, AMissingWriteBackIsToldFromAMissingFenceAfterIt) {
    const auto what = subject_named("redo", "hash_map");
    const story no_write_back = story_of(*what, no_home_write_back, {0});
    ASSERT_EQ(no_write_back.why.lost.size(), 1u);
    EXPECT_EQ(no_write_back.why.lost.front().lacked, lack::write_back);
    EXPECT_NE(no_write_back.sentence.find("was never written back before"), std::string::npos);
    const story no_fence = story_of(*what, no_home_fence, {0});
    ASSERT_EQ(no_fence.why.lost.size(), 1u);
    const lost_store& lost = no_fence.why.lost.front();
    EXPECT_EQ(lost.lacked, lack::fence);
    const auto& events = no_fence.account.traces.back().recorded.events;
    EXPECT_EQ(events[lost.event].where, site::redo_home);
    ASSERT_TRUE(lost.write_back);
    EXPECT_EQ(events[*lost.write_back].where, site::log_truncate_home);
    EXPECT_NE(no_fence.sentence.find("was written back (log_truncate_home"), std::string::npos) << no_fence.sentence;
}

TEST(Report, AFileWriteWithoutASyncIsNamed) {
    const model& file = *model_named("file");
    std::unique_ptr<subject> what;
    for (auto& each : all_subjects())
        if (each->engine() == "redo" && each->name() == "vector" && each->knows(file)) what = std::move(each);
    ASSERT_TRUE(what);
    const fault planted{fault::change::left_out, event_kind::file_sync, site::log_checkpoint_home_sync};
    trace recorded = what->record({0}, file);
    static_cast<void>(plant(planted, recorded));
    explorer run(*what, file, {}, 1);
    run.explore({0}, recorded);
    ASSERT_FALSE(run.found().told.empty());
    const story told = tell_story(*what, file, scenario_of(*what, file, planted, run.found().told.back()));
    ASSERT_TRUE(told.reproduced);
    ASSERT_EQ(told.why.lost.size(), 1u);
    const lost_store& lost = told.why.lost.front();
    EXPECT_EQ(lost.lacked, lack::file_sync);
    EXPECT_EQ(told.account.traces.back().recorded.events[lost.event].where, site::log_checkpoint_home);
    EXPECT_NE(told.sentence.find("was not followed by a sync of the file before"), std::string::npos)
        << told.sentence;
}

TEST(Report, StoresAndCallsOfTheSeamHaveTheirSourceLines) {
    const auto what = subject_named("redo", "hash_map");
    const story told = story_of(*what, no_home_fence, {0});
    const auto& events = told.account.traces.back().recorded.events;
    const lost_store& lost = told.why.lost.front();
    for (const std::size_t each : {lost.event, *lost.write_back}) {
        const auto lines = told.lines.lines_of(events[each]);
        ASSERT_FALSE(lines.empty()) << place_of(told.lines, events[each]);
        EXPECT_TRUE(lines.front().file.starts_with("holdfast/")) << lines.front().text();
        EXPECT_FALSE(lines.front().file.starts_with("holdfast/persist/")) << lines.front().text();
        EXPECT_GT(lines.front().line, 0u);
    }
    const auto lines = told.lines.lines_of(events[lost.event]);
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const source_line& each) {
        return each.file == "crash/subjects/container_structure.hpp";
    })) << "up to the workload";
}

report_row row_of(subject& what, const fault& planted) {
    const findings found = explored(what, planted, {0});
    return {std::string(what.engine()), std::string(what.name()), "x86", planted, found, 1.0,
            stories_of(what, x86, planted, found)};
}

TEST(Report, ViolationsThatShrinkToTheSameAreToldOnce) {
    const auto what = subject_named("redo", "hash_map");
    const report_row row = row_of(*what, no_commit_fence);
    EXPECT_EQ(row.found.told.size(), 5u);
    EXPECT_EQ(row.stories.size(), 1u);
}

TEST(Report, TheTextHasWhatAPersonNeedsToSeeItAgain) {
    const auto what = subject_named("redo", "hash_map");
    const story told = row_of(*what, no_commit_fence).stories.front();
    const std::string text = text_of(told);
    for (const std::string& wanted :
         {told.wrong, told.sentence, std::string("without the fence log_commit_fence"), std::string("assign key 0"),
          "holdfast crash --replay '" + replay_line(told.smallest) + "'"})
        EXPECT_NE(text.find(wanted), std::string::npos) << wanted << "\n" << text;
    const std::string all = long_text_of(told);
    EXPECT_NE(all.find("---- cut ----"), std::string::npos);
    EXPECT_NE(all.find("something older"), std::string::npos);
    EXPECT_NE(all.find("log_truncate_sequence"), std::string::npos);
}

TEST(Report, TheJsonHasBothTheViolationFoundAndTheSmallest) {
    const auto what = subject_named("redo", "hash_map");
    const report_row row = row_of(*what, no_commit_fence);
    const auto record = json_of({row}).at(0);
    EXPECT_EQ(record.at("fault"), "fence@log_commit_fence");
    EXPECT_EQ(record.at("violations"), row.found.violations);
    const auto& told = record.at("told").at(0);
    EXPECT_EQ(told.at("lost").at(0).at("site"), "log_record");
    EXPECT_EQ(told.at("lost").at(0).at("lacked"), "streamed, no fence");
    EXPECT_EQ(told.at("before").at("site"), "redo_home");
    for (const char* each : {"found", "smallest"}) {
        const auto line = parse_replay(told.at(each).at("replay").get<std::string>());
        ASSERT_TRUE(line);
        EXPECT_TRUE(replay_again(*what, x86, *line).told);
    }
    EXPECT_NE(told.at("found").at("replay"), told.at("smallest").at("replay"));
}

/// Whether every element that is opened is closed, in order. `wrong` names the first that is not.
bool is_well_formed(std::string_view page, std::string& wrong) {
    std::vector<std::string> open;
    for (std::size_t at = page.find('<'); at != std::string_view::npos; at = page.find('<', at + 1)) {
        const std::size_t end = page.find('>', at);
        wrong = page.substr(at, 60);
        if (end == std::string_view::npos) return false;
        const std::string_view tag = page.substr(at + 1, end - at - 1);
        if (std::count(tag.begin(), tag.end(), '\'') % 2 != 0) return false;
        if (tag.starts_with("!") || tag.ends_with("/")) continue;
        const bool closes = tag.starts_with("/");
        const std::string name(tag.substr(closes ? 1 : 0, tag.find_first_of(" \n") - (closes ? 1 : 0)));
        if (!closes) {
            open.push_back(name);
        } else if (open.empty() || open.back() != name) {
            return false;
        } else {
            open.pop_back();
        }
    }
    wrong = open.empty() ? "" : open.back();
    return open.empty();
}

TEST(Report, ThePageIsWellFormedAndNeedsNothingElse) {
    const auto redo = subject_named("redo", "hash_map");
    const auto undo = subject_named("undo", "btree_map");
    std::vector<report_row> rows{row_of(*redo, no_commit_fence),
                                 row_of(*undo, {fault::change::left_out, event_kind::fence, site::undo_home_fence})};
    rows[0].stories[0].operations = {"insert <\"key\" & 'value'>"};
    const std::string page = html_of(rows);
    std::string wrong;
    EXPECT_TRUE(is_well_formed(page, wrong)) << wrong;
    EXPECT_NE(page.find("insert &lt;&quot;key&quot; &amp; &#39;value&#39;&gt;"), std::string::npos);
    for (const char* each : {"src=", "href=", "url(", "<script", "@import"})
        EXPECT_EQ(page.find(each), std::string::npos) << each;
    const std::string name_space = "http://www.w3.org/2000/svg";
    for (std::size_t at = page.find("://"); at != std::string::npos; at = page.find("://", at + 1))
        EXPECT_EQ(page.substr(at - 4, name_space.size()), name_space);
}

TEST(Report, WhatIsWiderThanAPageScrollsByItself) {
    const auto what = subject_named("redo", "hash_map");
    const std::string page = html_of({row_of(*what, no_commit_fence)});
    const auto times = [&](std::string_view text) {
        std::size_t found = 0;
        for (std::size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++found;
        return found;
    };
    EXPECT_EQ(times("<table>"), 3u);
    EXPECT_EQ(times("<div class='wide'><table>"), 3u);
    EXPECT_EQ(times("<svg"), 2u);
    EXPECT_EQ(times("<div class='picture'><svg"), 2u);
    EXPECT_NE(page.find(".wide{overflow-x:auto}.picture{overflow-x:auto"), std::string::npos);
}

TEST(Report, TheTimelineHasAMarkForEachThing) {
    const auto what = subject_named("undo", "btree_map");
    const fault planted{fault::change::left_out, event_kind::fence, site::undo_home_fence};
    const std::string page = html_of({row_of(*what, planted)});
    for (const char* each : {"class='mark thread0'", "class='mark lost'", "class='fence'", "class='cut'",
                             "class='operation thread0 open'", "class='span lost'", "class='cell kept'",
                             "class='read kept'", "undo_write_back", "written back, no fence"})
        EXPECT_NE(page.find(each), std::string::npos) << each;
}

TEST(Report, ACleanRunIsOneTableAndNoTimeline) {
    const auto what = subject_named("redo", "queue");
    explorer run(*what, x86, {}, 1);
    run.explore({0});
    const std::string page = html_of({{"redo", "queue", "x86", {}, run.found(), 1.0, {}}});
    EXPECT_NE(page.find("None is wrong."), std::string::npos);
    EXPECT_EQ(page.find("<section>"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::crash
