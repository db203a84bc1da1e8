// The queue's source in every schedule with few preemptions, and in random ones; and each of its repairs left out.
#include <holdfast/base/test_run.hpp>
#include <holdfast/htm/queue_programs_test.hpp>

#include <gtest/gtest.h>

#include <cstdio>

namespace holdfast::htm {
namespace {

using namespace holdfast::htm::test;
using holdfast::test::at_full_length;


/// Plants a fault while it lives.
struct with_fault {
    explicit with_fault(queue_fault which) { explored_atomics::planted = which; }
    ~with_fault() { explored_atomics::planted = queue_fault::nothing; }
};

void expect_right(const program_shape& shape, unsigned most_preemptions) {
    std::uint64_t states = 0;
    EXPECT_EQ(explored(shape, most_preemptions, &states), "");
    EXPECT_GT(states, 1'000u);
    std::printf("%u writers of %u transactions, %zu slots, withdrawn %llx: %llu states\n", shape.writers,
                shape.transactions, shape.ring, static_cast<unsigned long long>(shape.withdrawn),
                static_cast<unsigned long long>(states));
}

TEST(BlueRedQueue, RetiresInStampOrderInEveryScheduleOfTwoThreadsWithTwoTransactions) {
    for (const std::uint64_t withdrawn : {0u, 1u, 2u})
        expect_right({2, 2, 2, withdrawn}, at_full_length() ? machine::every_schedule : 3);
    for (const std::uint64_t withdrawn : {0u, 1u, 2u})
        if (withdrawn == 0 || at_full_length()) expect_right({2, 2, 4, withdrawn}, at_full_length() ? 4 : 3);
}

TEST(BlueRedQueue, RetiresInStampOrderInEveryScheduleOfThreeThreadsWithOneTransaction) {
    for (const std::uint64_t withdrawn : {0u, 1u}) expect_right({3, 1, 2, withdrawn}, at_full_length() ? 4 : 3);
    for (const std::uint64_t withdrawn : {0u, 1u})
        if (withdrawn == 0 || at_full_length()) expect_right({3, 1, 4, withdrawn}, at_full_length() ? 4 : 3);
}

TEST(BlueRedQueue, RetiresInStampOrderWhereTwoThreadsTryToRetire) { expect_right({2, 1, 2, 0, 2}, 3); }

const program_shape random_shape{4, 6, 8, 0, 2};

TEST(BlueRedQueue, RetiresInStampOrderInRandomSchedules) {
    const std::uint64_t first = at_full_length() ? holdfast::test::seed_of_run() : 1;
    const std::uint64_t count = at_full_length() ? 100'000 : 1'000;
    for (std::uint64_t seed = first; seed != first + count; ++seed)
        ASSERT_EQ(run_at_random(random_shape, seed), "") << "seed " << seed;
}

/// What goes wrong with the present fault, in the first program in which something does.
std::string first_violation() {
    const program_shape shapes[] = {{2, 1, 2}, {2, 1, 2, 0, 2}, {2, 2, 2}};
    for (const program_shape& each : shapes) {
        const std::string found = explored(each, 3);
        if (!found.empty()) return found;
    }
    return "";
}

struct named_fault {
    queue_fault which;
    const char* sentence;
};
constexpr named_fault faults[] = {
#define HOLDFAST_QUEUE_NAMED(name, sentence) {queue_fault::name, sentence},
    HOLDFAST_QUEUE_FAULTS(HOLDFAST_QUEUE_NAMED)
#undef HOLDFAST_QUEUE_NAMED
};

TEST(BlueRedQueue, GoesWrongWithoutAnyOfTheRepairs) {
    EXPECT_EQ(first_violation(), "");
    for (const named_fault& each : faults) {
        const with_fault planted(each.which);
        const std::string found = first_violation();
        EXPECT_NE(found, "") << each.sentence;
        std::printf("%s:\n  %.100s\n", each.sentence, found.c_str());
    }
}

}  // namespace
}  // namespace holdfast::htm
