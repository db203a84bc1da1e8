#include <crash/cut/medium.hpp>

#include <holdfast/engine/sites.hpp>
#include <holdfast/log/sites.hpp>

#include <gtest/gtest.h>

#include <set>

namespace holdfast::crash {
namespace {

namespace site = persist::site;

const model& x86 = *model_named("x86");

event store(std::uint64_t word, std::uint64_t value) { return {event_kind::store, {}, word, value}; }
event stream(std::uint64_t word, std::uint64_t value) { return {event_kind::stream, site::log_record, word, value}; }
event write_back(std::uint64_t line) { return {event_kind::write_back, site::undo_write_back, line, 1}; }
event fence() { return {event_kind::fence, site::log_commit_fence}; }

medium after(const model& how, const std::vector<event>& events, std::size_t words = 32) {
    medium made(how, std::vector<std::uint64_t>(words));
    for (const event& each : events) made.apply(each);
    return made;
}

/// Every image that a cut may leave, as the values of the first two words.
std::set<std::pair<std::uint64_t, std::uint64_t>> first_two_words(const medium& left) {
    const auto units = left.uncertain();
    std::set<std::pair<std::uint64_t, std::uint64_t>> images;
    std::vector<std::size_t> chosen(units.size());
    for (bool more = true; more;) {
        auto words = left.durable();
        for (std::size_t i = 0; i < units.size(); ++i) {
            std::size_t index = chosen[i] * units[i].words();
            for (unsigned word = 0; word < 8; ++word)
                if ((units[i].mask >> word & 1u) != 0) words[units[i].granule * 8 + word] = units[i].versions[index++];
        }
        images.emplace(words[0], words[1]);
        more = false;
        for (std::size_t i = 0; i < units.size() && !more; ++i) {
            more = ++chosen[i] < units[i].count();
            if (!more) chosen[i] = 0;
        }
    }
    return images;
}

TEST(Medium, OnX86ALineHoldsAPrefixOfItsStores) {
    const auto left = after(x86, {store(0, 1), store(1, 2)});
    EXPECT_EQ(first_two_words(left), (std::set<std::pair<std::uint64_t, std::uint64_t>>{{0, 0}, {1, 0}, {1, 2}}));
    const auto torn = after(*model_named("x86-torn"), {store(0, 1), store(1, 2)});
    EXPECT_EQ(first_two_words(torn).size(), 4u) << "and word by word where write-backs tear";
}

TEST(Medium, LinesAreIndependent) {
    const auto left = after(x86, {store(0, 1), store(8, 2), store(16, 3)});
    ASSERT_EQ(left.uncertain().size(), 3u);
    for (const unit& each : left.uncertain()) EXPECT_EQ(each.count(), 2u);
}

TEST(Medium, AWriteBackIsCompleteOnlyWithTheFence) {
    EXPECT_EQ(after(x86, {store(0, 1), write_back(0)}).uncertain().size(), 1u);
    const auto done = after(x86, {store(0, 1), write_back(0), fence()});
    EXPECT_TRUE(done.uncertain().empty());
    EXPECT_EQ(done.durable()[0], 1u);
    EXPECT_EQ(after(x86, {store(0, 1), fence()}).uncertain().size(), 1u) << "a fence alone writes nothing back";
    const auto later = after(x86, {store(0, 1), write_back(0), store(1, 2), fence()});
    EXPECT_EQ(first_two_words(later), (std::set<std::pair<std::uint64_t, std::uint64_t>>{{1, 0}, {1, 2}}));
}

TEST(Medium, WordsOfAStreamArriveInAnyOrderUntilTheFence) {
    EXPECT_EQ(first_two_words(after(x86, {stream(0, 1), stream(1, 2)})).size(), 4u);
    EXPECT_TRUE(after(x86, {stream(0, 1), stream(1, 2), fence()}).uncertain().empty());
    EXPECT_EQ(after(*model_named("eadr"), {stream(0, 1), store(8, 2)}).uncertain().size(), 1u)
        << "a stream waits outside the caches, whoever keeps those";
}

TEST(Medium, AKillLosesNothing) {
    const auto left = after(*model_named("kill"), {store(0, 1), stream(1, 2)});
    EXPECT_EQ(first_two_words(left), (std::set<std::pair<std::uint64_t, std::uint64_t>>{{1, 2}}));
}

TEST(Medium, EqualContentsAreOneAndTheHashIsThatOfTheWords) {
    EXPECT_EQ(after(x86, {store(0, 1), store(0, 0)}).uncertain().front().count(), 2u);
    const auto one = after(x86, {store(0, 7), write_back(0), fence()});
    const auto other = after(x86, {store(0, 5), store(0, 7), write_back(0), fence()});
    EXPECT_EQ(one.durable_hash(), other.durable_hash());
    EXPECT_NE(one.durable_hash(), after(x86, {}).durable_hash());
}

}  // namespace
}  // namespace holdfast::crash
