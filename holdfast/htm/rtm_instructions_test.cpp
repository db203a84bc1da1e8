// Whether hardware transactions are used, and the stamps of a thread.
#include <holdfast/htm/rtm_instructions.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast::htm {
namespace {

constexpr processor_facts all_well{true, false, true, true, true};

TEST(RtmInstructions, AreUsedWhereEverythingIsThere) { EXPECT_EQ(find_obstacle(all_well), nullptr); }

TEST(RtmInstructions, EachConditionThatIsMissingIsNamedByASentence) {
    const auto sentence_without = [](auto change) {
        processor_facts facts = all_well;
        change(facts);
        const char* const found = find_obstacle(facts);
        return std::string(found == nullptr ? "" : found);
    };
    using std::string;
    EXPECT_NE(sentence_without([](auto& facts) { facts.has_rtm = false; }).find("has no hardware transactions"),
              string::npos);
    EXPECT_NE(sentence_without([](auto& facts) { facts.always_aborts = true; }).find("RTM_ALWAYS_ABORT"), string::npos);
    EXPECT_NE(sentence_without([](auto& facts) { facts.has_rdtscp = false; }).find("no rdtscp"), string::npos);
    EXPECT_NE(sentence_without([](auto& facts) { facts.has_invariant_tsc = false; }).find("not invariant"),
              string::npos);
    EXPECT_NE(sentence_without([](auto& facts) { facts.empty_ones_commit = false; }).find("none committed"),
              string::npos);
}

TEST(RtmInstructions, OneAnswerIsGivenForThisMachine) {
    EXPECT_EQ(hardware::is_available(), obstacle_here() == nullptr);
    if (!hardware::is_available()) {
        EXPECT_EQ(std::string(obstacle_here()).back(), '.');
    }
}

TEST(RtmInstructions, StampsOfAThreadGrowAndNowIsBelowTheNext) {
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t before = hardware::stamp();
        const std::uint64_t now = hardware::now();
        const std::uint64_t now_before_loads = hardware::now_before_loads();
        const std::uint64_t next = hardware::stamp();
        ASSERT_LE(before, now);
        ASSERT_LE(now, now_before_loads);
        ASSERT_LT(now_before_loads, next);
    }
}

TEST(RtmInstructions, TakingTheFallbackIsForOneAtATime) {
    word held = 0;
    EXPECT_FALSE(hardware::is_taken(held));
    EXPECT_TRUE(hardware::take(held));
    EXPECT_TRUE(hardware::is_taken(held));
    EXPECT_FALSE(hardware::take(held));
}

TEST(RtmInstructions, ACodeIsReadBackFromItsStatus) {
    EXPECT_EQ(status::code_of(status::of_code(status::log_full)), status::log_full);
    EXPECT_NE(status::of_code(status::rolled_back) & status::by_program, 0u);
    EXPECT_EQ(status::of_code(status::rolled_back) & status::retry, 0u);
}

}  // namespace
}  // namespace holdfast::htm
