#include <crash/record/recorder_test_support.hpp>

#include <holdfast/engine/sites.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/persist/seam.hpp>

#include <thread>

namespace holdfast::crash {
namespace {

namespace site = persist::site;

class Recorder : public RecorderTest {
protected:
    persist::line_path lines_;
};

TEST_F(Recorder, SeesStoresThatNobodyAnnounces) {
    *word(3) = 9;
    recorder seen(pool());
    *static_cast<volatile std::uint64_t*>(word(1)) = 5;
    *reinterpret_cast<volatile std::uint8_t*>(word(700)) = 7;
    std::memset(word(520), 1, 24);
    const trace recorded = seen.take().value();
    EXPECT_EQ(recorded.before[3], 9u);
    ASSERT_EQ(recorded.events.size(), 5u);
    EXPECT_EQ(recorded.events[0].place, 1u);
    EXPECT_EQ(recorded.events[0].value, 5u);
    EXPECT_NE(recorded.events[0].code, nullptr);
    EXPECT_EQ(recorded.events[1].place, 700u);
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(recorded.events[2 + i].value, 0x0101010101010101u);
    for (const event& each : recorded.events) {
        EXPECT_EQ(each.kind, event_kind::store);
        EXPECT_FALSE(each.where);
    }
    *word(2) = 1;  // the memory is as free as before
}

TEST_F(Recorder, AStoreAcrossTwoPagesIsWhole) {
    recorder seen(pool());
    const std::uint64_t value = ~std::uint64_t{0};
    std::memcpy(bytes_ + 4092, &value, sizeof value);
    const trace recorded = seen.take().value();
    ASSERT_EQ(recorded.events.size(), 2u);
    EXPECT_EQ(recorded.events[0].value, 0xFFFFFFFF00000000u);
    EXPECT_EQ(recorded.events[1].value, 0x00000000FFFFFFFFu);
}

TEST_F(Recorder, NamesWhatTheSeamDoesByItsPlaces) {
    recorder seen(pool());
    seen.operation_begins();
    persist::store_word(word(0), 1, 0xFF, site::undo_home);
    persist::write_back(lines_, word(0), 8, site::undo_write_back);
    const std::uint64_t streamed[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    persist::stream(lines_, word(8), streamed, sizeof streamed, site::log_record);
    persist::fence(lines_, site::log_commit_fence);
    seen.operation_done();
    const trace recorded = seen.take().value();
    ASSERT_EQ(recorded.events.size(), 13u);
    EXPECT_EQ(recorded.events[0].kind, event_kind::operation_begins);
    EXPECT_EQ(recorded.events[1].where, site::undo_home);
    EXPECT_EQ(recorded.events[2].kind, event_kind::write_back);
    for (std::uint64_t i = 0; i < 8; ++i) {
        EXPECT_EQ(recorded.events[3 + i].kind, event_kind::stream);
        EXPECT_EQ(recorded.events[3 + i].place, 8 + i);
        EXPECT_EQ(recorded.events[3 + i].where, site::log_record);
    }
    EXPECT_EQ(recorded.events[11].kind, event_kind::fence);
    EXPECT_EQ(recorded.events[12].kind, event_kind::operation_done);
}

TEST_F(Recorder, AStoreThatChangesNothingIsNotSeen) {
    *word(5) = 1;
    recorder seen(pool());
    *static_cast<volatile std::uint64_t*>(word(5)) = 1;
    EXPECT_TRUE(seen.take().value().events.empty());
}

TEST_F(Recorder, AStoreOfAThreadThatItDoesNotKnowIsAnError) {
    recorder seen(pool());
    std::thread([this] { *static_cast<volatile std::uint64_t*>(word(5)) = 1; }).join();
    EXPECT_EQ(*word(5), 1u) << "the program goes on";
    const auto recorded = seen.take();
    ASSERT_FALSE(recorded);
    EXPECT_NE(recorded.error().text().find("in another thread"), std::string::npos) << recorded.error().text();
}

}  // namespace
}  // namespace holdfast::crash
