// That what is superfluous in a trace is counted, and nothing else.
#include <crash/plant/hints.hpp>

#include <holdfast/engine/sites.hpp>
#include <holdfast/log/sites.hpp>

#include <gtest/gtest.h>

#include <initializer_list>

namespace holdfast::crash {
namespace {

namespace site = persist::site;

event store(std::uint64_t word, std::uint8_t thread = 0) {
    return {event_kind::store, {}, word, 1, nullptr, thread, 0};
}
event stream(std::uint64_t word) { return {event_kind::stream, site::log_record, word, 1}; }
event write_back(std::uint64_t line, std::uint64_t lines = 1, std::uint8_t thread = 0) {
    return {event_kind::write_back, site::undo_write_back, line, lines, nullptr, thread, 0};
}
event fence(std::uint8_t thread = 0) {
    return {event_kind::fence, site::undo_home_fence, 0, 0, nullptr, thread, 0};
}
event file_word(std::uint64_t word) { return {event_kind::file_word, site::log_group, word, 1}; }
event file_sync() { return {event_kind::file_sync, site::log_checkpoint_home_sync}; }

site_usage usage_of(std::initializer_list<event> events, std::size_t first = 0) {
    site_usage used;
    count_usage({{}, events}, first, used);
    return used;
}

usage write_backs_of(const site_usage& all) { return all.at({site::undo_write_back, event_kind::write_back}); }
usage fences_of(const site_usage& all) { return all.at({site::undo_home_fence, event_kind::fence}); }

TEST(Hints, ACleanTraceHasNothingSuperfluous) {
    const auto all = usage_of({store(0), store(9), write_back(0, 2), fence(), stream(16), fence(), store(0),
                               write_back(0), fence()});
    EXPECT_EQ(write_backs_of(all).calls, 3u);
    EXPECT_TRUE(write_backs_of(all).superfluous.empty());
    EXPECT_EQ(fences_of(all).calls, 3u);
    EXPECT_TRUE(fences_of(all).superfluous.empty());
}

TEST(Hints, AWriteBackWithoutAStoreIsCountedByLine) {
    const auto all = usage_of({store(0), write_back(0, 3), fence(), write_back(0), fence()});
    EXPECT_EQ(write_backs_of(all).calls, 4u);
    EXPECT_EQ(write_backs_of(all).superfluous.at(waste::clean_line), 3u);
    EXPECT_FALSE(write_backs_of(all).superfluous.contains(waste::line_twice));
}

TEST(Hints, ALineWrittenBackTwiceForOneFenceIsCountedEvenIfItWasStoredBetween) {
    const auto all = usage_of({store(0), write_back(0), store(1), write_back(0), fence(), store(0), write_back(0)});
    EXPECT_EQ(write_backs_of(all).superfluous.at(waste::line_twice), 1u);
    EXPECT_FALSE(write_backs_of(all).superfluous.contains(waste::clean_line));
}

TEST(Hints, AFenceOrdersWhatItsOwnThreadSent) {
    const auto all = usage_of({store(0), write_back(0), fence(1), fence(), fence()});
    EXPECT_EQ(fences_of(all).calls, 3u);
    EXPECT_EQ(fences_of(all).superfluous.at(waste::empty_fence), 2u);
}

TEST(Hints, ASyncWithNothingWrittenIsCounted) {
    const auto all = usage_of({file_word(1), file_sync(), file_sync(), file_word(1), file_sync()});
    const usage syncs = all.at({site::log_checkpoint_home_sync, event_kind::file_sync});
    EXPECT_EQ(syncs.calls, 3u);
    EXPECT_EQ(syncs.superfluous.at(waste::empty_sync), 1u);
}

TEST(Hints, WhatIsBeforeTheFirstEventIsSeenButNotCounted) {
    const auto all = usage_of({store(0), write_back(0), fence(), write_back(0), fence()}, 3);
    EXPECT_EQ(write_backs_of(all).calls, 1u);
    EXPECT_EQ(write_backs_of(all).superfluous.at(waste::clean_line), 1u);
    EXPECT_EQ(fences_of(all).calls, 1u);
}

}  // namespace
}  // namespace holdfast::crash
