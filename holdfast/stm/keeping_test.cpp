// Transactions that mix words that outlive the process with ordinary ones: random programs on threads that take turns,
// with small write sets and with such as are large from the first word on.
#include <holdfast/stm/keeping_test.hpp>

namespace holdfast::stm {
namespace {

using namespace holdfast::stm::test;

template <class A>
class StmKeeping : public ::testing::Test {
protected:
    void expect_kept() {
#if defined(HOLDFAST_FEW_PLACES)
        constexpr std::uint64_t usual = 200;
#else
        constexpr std::uint64_t usual = 4'000;
#endif
        std::string what;
        const auto found = first_seed_not_kept<A>(at_full_length() ? 100'000 : usual, &what);
        EXPECT_FALSE(found.has_value()) << "seed " << found.value_or(0) << "\n" << what;
    }
};
struct keeping_names {
    template <class A>
    static std::string GetName(int) {
        return std::string(A::name);
    }
};
using keeping_algorithms = ::testing::Types<keeping_values, keeping_versions>;
TYPED_TEST_SUITE(StmKeeping, keeping_algorithms, keeping_names);

TYPED_TEST(StmKeeping, CommitsAloneStoreToWordsThatAreKeptAndLogThemBefore) { this->expect_kept(); }

TYPED_TEST(StmKeeping, SoTheyDoWhereOrdinaryWordsAreStoredToAtOnce) {
    const write_sets_are_large_from first_word(1);
    this->expect_kept();
}

/// Ordinary words are home at once, kept ones are not; and all of it is taken back.
TYPED_TEST(StmKeeping, ALargeTransactionStoresOrdinaryWordsAtOnceAndPutsThemBack) {
    static line lines[40];
    for (line& each : lines)
        for (word& one : each.words) one = 1;
    TypeParam& own = TypeParam::of_this_thread();
    for (const bool commits : {false, true}) {
        keeping_home::wrong = 0;
        own.begin({.restart = [] { std::abort(); }});
        for (line& each : lines)
            for (word& one : each.words) own.store(&one, 7, 0xFF);
        // The write set has become large with the fifth line, and most of it is kept.
        EXPECT_EQ(lines[39].words[0], 1u);
        if (commits) ASSERT_TRUE(own.commit());
        else own.roll_back();
        EXPECT_EQ(keeping_home::wrong, 0u);
        for (line& each : lines)
            for (word& one : each.words) ASSERT_EQ(one, commits ? 7u : 1u);

        own.begin({.restart = [] { std::abort(); }});
        for (line& each : lines) {
            own.store(&each.words[0], 9, 0xFF);
            own.store(&each.words[1], 9, 0xFF);
            own.store(&each.words[2], 9, 0xFF);
        }
        EXPECT_EQ(lines[39].words[0], 9u) << "most of it is not kept";
        EXPECT_EQ(lines[39].words[2], commits ? 7u : 1u);
        EXPECT_EQ(own.load(&lines[0].words[2]), 9u);
        EXPECT_EQ(own.load(&lines[39].words[0]), 9u);
        own.roll_back();
        for (line& each : lines)
            for (word& one : each.words) ASSERT_EQ(one, commits ? 7u : 1u);
    }
}

/// What it stored home, and what its commit still has to log.
TYPED_TEST(StmKeeping, AnIrrevocableTransactionKeepsWhatItStoredBefore) {
    static line lines[40];
    TypeParam& own = TypeParam::of_this_thread();
    own.begin({.restart = [] { std::abort(); }});
    for (line& each : lines) {
        own.store(&each.words[0], 3, 0xFF);
        own.store(&each.words[1], 3, 0xFF);
        own.store(&each.words[5], 3, 0xFF);
    }
    ASSERT_TRUE(own.become_irrevocable());
    for (line& each : lines) {
        own.store(&each.words[1], 4, 0xFF);
        own.store(&each.words[6], 4, 0xFF);
    }
    EXPECT_EQ(lines[39].words[1], 4u);
    EXPECT_EQ(lines[39].words[5], 0u);
    ASSERT_TRUE(own.commit());
    EXPECT_EQ(keeping_home::wrong, 0u);
    for (const line& each : lines) {
        EXPECT_EQ(each.words[0], 3u);
        EXPECT_EQ(each.words[1], 4u);
        EXPECT_EQ(each.words[5], 3u);
        EXPECT_EQ(each.words[6], 4u);
    }
}

}  // namespace
}  // namespace holdfast::stm
