// What bayes is made of, each against counts of the records as they are.
#include <workload/gen/records.hpp>
#include <workload/plain_access_test.hpp>
#include <workload/stamp/bayes.hpp>
#include <workload/stamp/run_test.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

namespace holdfast::workload {
namespace {

std::vector<std::uint64_t> records_of(const record_generator& net, std::uint64_t count) {
    std::vector<std::uint64_t> records(count);
    net.records(records.data(), count);
    return records;
}

/// Some of the variables but for `without`, at most `count`.
std::uint64_t draw_variables(random& numbers, std::uint64_t variables, std::uint64_t count, std::uint64_t without) {
    std::uint64_t drawn = 0;
    for (std::uint64_t i = 0; i < count; ++i) drawn |= std::uint64_t{1} << numbers.below(variables);
    return drawn & ~(std::uint64_t{1} << without);
}

TEST(RecordGenerator, ANetHasNoCycleAndNoVariableMoreParentsThanAskedFor) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const record_generator net(seed, 64, 5, 90);
        std::vector<std::uint64_t> parents;
        int most = 0;
        for (std::uint64_t i = 0; i < 64; ++i) {
            parents.push_back(net.parents(i));
            most = std::max(most, std::popcount(parents.back()));
        }
        EXPECT_EQ(most, 5);
        EXPECT_TRUE(bayes_reference(nullptr, 0, 64, 0).is_acyclic(parents.data()));
    }
}

/// But for what depends on the variable.
TEST(RecordGenerator, AVariableDependsOnItsParentsAndOnNothingElse) {
    const record_generator net(1, 8, 1, 100);
    const auto records = records_of(net, 20'000);
    const bayes_reference reference(records.data(), records.size(), 8, 0);
    std::uint64_t ancestors[8]{};
    for (int times = 0; times < 8; ++times)
        for (std::uint64_t i = 0; i < 8; ++i) {
            ancestors[i] |= net.parents(i);
            for (std::uint64_t k = 0; k < 8; ++k)
                if ((ancestors[i] >> k & 1) != 0) ancestors[i] |= ancestors[k];
        }
    for (std::uint64_t i = 0; i < 8; ++i) {
        const std::uint64_t parents = net.parents(i);
        const double with_parents = reference.score(i, parents);
        if (parents != 0) {
            EXPECT_GT(with_parents, reference.score(i, 0) + 10) << i;
        }
        // What explains nothing gains by chance half of one for each combination.
        for (std::uint64_t other = 0; other < 8; ++other) {
            if (other == i || (ancestors[other] >> i & 1) != 0) continue;
            EXPECT_LT(reference.score(i, parents | std::uint64_t{1} << other), with_parents + 10) << i << other;
        }
    }
}

TEST(RecordGenerator, AnotherSeedHasOtherRecords) {
    EXPECT_NE(records_of(record_generator(0, 32, 2, 20), 10), records_of(record_generator(1, 32, 2, 20), 10));
}

/// Of few records and of many, of variables that are nearly always the same, and of one that always is.
TEST(Adtree, CountsWhatThereIs) {
    for (const std::uint64_t count : {1u, 31u, 100u, 3000u}) {
        auto records = records_of(record_generator(count, 16, 3, 50), count);
        for (std::uint64_t& each : records) each |= 1u << 5;
        const adtree tested(records.data(), count, 16);
        random numbers(count);
        for (int i = 0; i < 200; ++i) {
            const std::uint64_t which = draw_variables(numbers, 16, 6, 16);
            const auto variables = static_cast<std::uint64_t>(std::popcount(which));
            std::vector<std::uint32_t> expected(std::size_t{1} << variables), found(expected.size(), 99);
            for (const std::uint64_t record : records) {
                std::uint64_t place = 0;
                for (std::uint64_t k = 0; k < 16; ++k)
                    if ((which >> k & 1) != 0) place = 2 * place + (record >> k & 1);
                ++expected[place];
            }
            tested.count(which, found.data());
            ASSERT_EQ(found, expected) << count << " " << which;
        }
    }
}

TEST(BayesScore, IsWhatTheRecordsSay) {
    const auto records = records_of(record_generator(3, 64, 4, 50), 300);
    const bayes_score tested(records.data(), records.size(), 64, 2);
    EXPECT_DOUBLE_EQ(tested.per_parent(), std::log(300.0));
    const bayes_reference reference(records.data(), records.size(), 64, tested.per_parent());
    random numbers(1);
    for (int i = 0; i < 300; ++i) {
        const std::uint64_t variable = numbers.below(64);
        const std::uint64_t count = numbers.below(bayes_score::parents_max + 1);
        const std::uint64_t parents = draw_variables(numbers, 64, count, variable);
        ASSERT_NEAR(tested.of(variable, parents), reference.score(variable, parents), 1e-8) << i;
    }
}

TEST(BayesReference, FindsCycles) {
    const bayes_reference reference(nullptr, 0, 4, 0);
    const std::uint64_t none[]{0, 1, 3, 7}, one[]{8, 1, 2, 4}, short_one[]{0, 4, 2, 0};
    EXPECT_TRUE(reference.is_acyclic(none));
    EXPECT_FALSE(reference.is_acyclic(one));
    EXPECT_FALSE(reference.is_acyclic(short_one));
}

TEST(BayesReference, LearnsWhereRecordsComeFrom) {
    const record_generator net(2, 12, 1, 60);
    const auto records = records_of(net, 5000);
    const bayes_reference reference(records.data(), records.size(), 12, std::log(5000.0));
    std::vector<std::uint64_t> learned(12), from(12);
    reference.learn(learned.data(), 2);
    for (std::uint64_t i = 0; i < 12; ++i) from[i] = net.parents(i);
    EXPECT_TRUE(reference.is_acyclic(learned.data()));
    EXPECT_GE(reference.score(learned.data()), reference.score(from.data()) - 1e-6);
}

/// Its check looks at cycles, numbers of parents and scores. With these seeds there are edges that must not be turned
/// around any more when their turn has come.
TEST(Bayes, NetsOfManyInputsAreRight) {
    bool turned = false;
    for (std::uint64_t seed = 48; seed < 53; ++seed)
        for (const std::uint64_t parents_max : {2u, 3u, 4u}) {
            const ::testing::ScopedTrace trace(__FILE__, __LINE__, std::to_string(seed));
            const bayes_parameters given{.variables = 24, .records = 1000, .input_parents_max = 3,
                                         .input_parent_percent = 60, .parents_max = parents_max, .seed = seed};
            test::plain_memory memory;
            const test::stamp_outcome outcome = test::run_stamp(test::plain_access(memory), given, 1);
            EXPECT_EQ(memory.live_blocks, 0) << "blocks were lost";
            // Where an edge is turned around there is a transaction more than three for each task.
            turned = turned || (outcome.transactions - given.variables - 1) % 3 != 0;
        }
    EXPECT_TRUE(turned);
}

}  // namespace
}  // namespace holdfast::workload
