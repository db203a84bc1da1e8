// Opacity: every value that any attempt loaded is explained by one serial order. Random small programs on threads that
// take turns; first the checker itself, with histories whose answer is known.
#include <holdfast/stm/scheduled_test.hpp>

#include <cstdlib>

namespace holdfast::stm {
namespace {

using namespace holdfast::stm::test;

operation load(unsigned word, std::uint64_t value) { return {false, word, value}; }
operation store(unsigned word, std::uint64_t value) { return {true, word, value}; }

bool is_opaque(const history& all) { return opacity_checker(all, memory_state{}).is_opaque(); }

TEST(OpacityChecker, AcceptsConcurrentTransactionsInEitherOrder) {
    EXPECT_TRUE(is_opaque({{0, 1, 9, true, {load(0, 7), store(1, 3)}}, {1, 2, 8, true, {load(1, 0), store(0, 7)}}}));
    EXPECT_TRUE(is_opaque({{0, 1, 9, true, {load(0, 0), store(1, 3)}}, {1, 2, 8, true, {load(1, 3), store(0, 7)}}}));
}

TEST(OpacityChecker, RefusesALostUpdate) {
    EXPECT_FALSE(is_opaque({{0, 1, 9, true, {load(0, 0), store(0, 3)}}, {1, 2, 8, true, {load(0, 0), store(0, 7)}}}));
}

TEST(OpacityChecker, RefusesWriteSkew) {
    EXPECT_FALSE(is_opaque({{0, 1, 9, true, {load(0, 0), load(1, 0), store(0, 3)}},
                            {1, 2, 8, true, {load(0, 0), load(1, 0), store(1, 7)}}}));
}

TEST(OpacityChecker, RefusesAMixedStateEvenInAnAttemptThatCameToNothing) {
    const attempt writer{0, 1, 9, true, {store(0, 3), store(1, 4)}};
    EXPECT_FALSE(is_opaque({writer, {1, 2, 8, false, {load(0, 3), load(1, 0)}}}));
    EXPECT_FALSE(is_opaque({writer, {1, 2, 8, true, {load(0, 0), load(1, 4)}}}));
    EXPECT_TRUE(is_opaque({writer, {1, 2, 8, false, {load(0, 3), load(1, 4)}}}));
    EXPECT_TRUE(is_opaque({writer, {1, 2, 8, false, {load(0, 0), load(1, 0)}}}));
}

TEST(OpacityChecker, RefusesAValueOfAnAttemptThatCameToNothing) {
    EXPECT_FALSE(is_opaque({{0, 1, 9, false, {store(0, 3)}}, {1, 2, 8, true, {load(0, 3)}}}));
}

TEST(OpacityChecker, RefusesAnOldStateAfterRealTimeHasPassed) {
    const attempt writer{0, 1, 2, true, {store(0, 3)}};
    EXPECT_FALSE(is_opaque({writer, {1, 3, 4, true, {load(0, 0)}}}));
    EXPECT_FALSE(is_opaque({writer, {1, 3, 4, false, {load(0, 0)}}}));
    EXPECT_FALSE(is_opaque({{1, 1, 2, false, {load(0, 3)}}, {0, 3, 4, true, {store(0, 3)}}}));
}

TEST(OpacityChecker, RefusesAttemptsThatSeeTimeGoBackwards) {
    const attempt writer{0, 1, 9, true, {store(0, 3)}};
    EXPECT_FALSE(is_opaque({writer, {1, 2, 3, false, {load(0, 3)}}, {2, 4, 5, false, {load(0, 0)}}}));
    EXPECT_TRUE(is_opaque({writer, {1, 2, 3, false, {load(0, 0)}}, {2, 4, 5, false, {load(0, 3)}}}));
}

TEST(OpacityChecker, AnAttemptSeesItsOwnStores) {
    EXPECT_TRUE(is_opaque({{0, 1, 2, false, {store(0, 3), load(0, 3)}}}));
    EXPECT_FALSE(is_opaque({{0, 1, 2, false, {store(0, 3), load(0, 0)}}}));
}

template <class A>
class StmOpacity : public ::testing::Test {};
TYPED_TEST_SUITE(StmOpacity, algorithms, algorithm_names);

TYPED_TEST(StmOpacity, RandomProgramsHaveOpaqueHistories) {
#if defined(HOLDFAST_FEW_PLACES)
    constexpr std::uint64_t usual = 200;
#else
    constexpr std::uint64_t usual = 5'000;
#endif
    std::uint64_t first = 1;
    std::uint64_t count = at_full_length() ? 100'000 : usual;
    // A seed from the environment repeats one program.
    if (const char* seed = std::getenv("HOLDFAST_SEED")) {
        first = std::strtoull(seed, nullptr, 10);
        count = 1;
    }
    std::string what;
    const auto found = first_seed_not_opaque<TypeParam>(first, count, &what);
    EXPECT_FALSE(found.has_value()) << "HOLDFAST_SEED=" << found.value_or(0) << "\n" << what;
}

TYPED_TEST(StmOpacity, ProgramsThatStoreHomeAtOnceHaveOpaqueHistories) {
    const write_sets_are_large_from second_word(1);
#if defined(HOLDFAST_FEW_PLACES)
    constexpr std::uint64_t usual = 200;
#else
    constexpr std::uint64_t usual = 5'000;
#endif
    std::string what;
    const auto found = first_seed_not_opaque<TypeParam>(1, at_full_length() ? 100'000 : usual, &what);
    EXPECT_FALSE(found.has_value()) << "seed " << found.value_or(0) << "\n" << what;
    EXPECT_FALSE(first_seed_torn<TypeParam>(at_full_length() ? 100'000 : 1'000).has_value());
}

#ifndef HOLDFAST_STM_TEST_ALGORITHMS
TEST(StmOpacityOfValue, ProgramsWhoseThreadsTakeThemselvesForTheOnlyOneHaveOpaqueHistories) {
    const each_thread_seems_alone every;
    std::string what;
    const auto found = first_seed_not_opaque<value>(1, at_full_length() ? 100'000 : 5'000, &what);
    EXPECT_FALSE(found.has_value()) << "seed " << found.value_or(0) << "\n" << what;
    EXPECT_FALSE(first_seed_torn<value>(at_full_length() ? 100'000 : 1'000).has_value());
}
#endif

TYPED_TEST(StmOpacity, APrivatiserMeetsNeitherReadersThatAreLateNorLateStores) {
    const auto found = first_seed_torn<TypeParam>(at_full_length() ? 100'000 : 2'000);
    EXPECT_FALSE(found.has_value()) << "seed " << found.value_or(0);
}

TYPED_TEST(StmOpacity, AProgramRepeatsExactly) {
    scheduled_programs<TypeParam> programs;
    const std::string first = text_of(programs.run(11));
    programs.run(12);
    EXPECT_EQ(text_of(programs.run(11)), first);
    EXPECT_NE(text_of(programs.run(12)), first);
}

}  // namespace
}  // namespace holdfast::stm
