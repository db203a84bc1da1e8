// Numbers that are drawn while a commit holds its locks are in the order of effects: random programs on threads that
// take turns.
#include <holdfast/stm/numbers_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace holdfast::stm {
namespace {

using namespace holdfast::stm::test;

operation load(unsigned word, std::uint64_t value) { return {false, word, value}; }
operation store(unsigned word, std::uint64_t value) { return {true, word, value}; }

attempt numbered(std::uint64_t number, std::vector<operation> operations) {
    return {0, 1, 9, true, std::move(operations), number};
}

TEST(StmNumbersChecker, RefusesANumberAboveThatOfACommitThatOverwroteWhatWasRead) {
    const attempt reader_first[]{numbered(1, {load(0, 0), store(1, 10)}), numbered(2, {store(0, 1)})};
    const attempt writer_first[]{numbered(2, {load(0, 0), store(1, 10)}), numbered(1, {store(0, 1)})};
    const attempt last = numbered(0, {load(0, 1), load(1, 10)});
    EXPECT_TRUE(numbers_explain({reader_first[0], reader_first[1], last}));
    EXPECT_FALSE(numbers_explain({writer_first[0], writer_first[1], last}));
}

TEST(StmNumbersChecker, RefusesNumbersThatDoNotLeadToWhatIsThere) {
    EXPECT_FALSE(numbers_explain(
        {numbered(1, {store(0, 2)}), numbered(2, {store(0, 1)}), numbered(0, {load(0, 2)})}));
}

template <class A>
class StmNumbers : public ::testing::Test {};
struct numbered_names {
    template <class A>
    static std::string GetName(int) {
        return std::string(A::name);
    }
};
using numbered_algorithms = ::testing::Types<numbered_values, numbered_versions>;
TYPED_TEST_SUITE(StmNumbers, numbered_algorithms, numbered_names);

TYPED_TEST(StmNumbers, AreInTheOrderOfEffects) {
    std::string what;
    const auto found = first_seed_misnumbered<TypeParam>(1, at_full_length() ? 100'000 : 4'000, &what);
    EXPECT_FALSE(found.has_value()) << "seed " << found.value_or(0) << "\n" << what;
}

/// As in a signal handler that interrupts the home there.
TYPED_TEST(StmNumbers, AForkBehindACommitKeepsWhatItStoredForItsHome) {
    static word at = 0;
    auto& own = TypeParam::of_this_thread();
    own.begin({.restart = [] { std::abort(); }});
    own.store(&at, 7, 0xFF);
    ASSERT_TRUE(own.commit());
    const pid_t child = ::fork();
    if (child == 0) std::_Exit(0);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(own.committed_writes().size(), 1u);
    own.conclude();
}

TEST(StmNumbersOfValue, HaveNoHoles) {
    scheduled_programs<numbered_values> programs;
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        numbered_home::last = 0;
        std::uint64_t commits = 0;
        for (const attempt& each : programs.run(seed)) commits += each.committed && each.number != 0 ? 1 : 0;
        ASSERT_EQ(commits, numbered_home::last) << "seed " << seed;
    }
}

}  // namespace
}  // namespace holdfast::stm
