#include <workload/counted_access.hpp>
#include <workload/hash_array.hpp>
#include <workload/places_test.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/volatile_only.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace holdfast::workload {
namespace {

template <class Place>
class HashArray : public ::testing::Test {
protected:
    /// Groups of three threads in turn, and which ones.
    void work(const hash_array_shape& shape, hash_array_progress& done, std::uint64_t rounds) {
        const auto memory = place.access();
        const hash_array array(memory, root, shape);
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const std::uint64_t thread = i % 3;
            const hash_array_group group = array.draw(thread, ++done.groups[thread]);
            ASSERT_TRUE(memory.atomically([&] { array.apply(group); }));
        }
    }

    void begin_again() {
        const auto memory = place.access();
        ASSERT_TRUE(memory.atomically([&] {
            memory.free(memory.load(&root->entries));
            memory.store(&root->entries, nullptr);
            memory.store(&root->count, 0);
        }));
    }

    Place place;
    hash_array_root* root = place.template make_root<hash_array_root>();
};

using hash_array_places = ::testing::Types<plain_place, pool_place<volatile_only>, pool_place<redo>>;
TYPED_TEST_SUITE(HashArray, hash_array_places);

TYPED_TEST(HashArray, HoldsWhatItsGroupsLeftWhateverTheirSize) {
    for (const std::uint64_t group : {2u, 10u, 30u}) {
        const hash_array_shape shape{.seed = group, .group = group, .write_percent = 70};
        ASSERT_TRUE(hash_array(this->place.access(), this->root, shape).create(1000, 64));
        hash_array_progress done;
        for (int part = 0; part < 5; ++part) {
            this->work(shape, done, 200);
            const hash_array array(this->place.access(), this->root, shape);
            const check_report report = array.check(done);
            ASSERT_TRUE(report.ok()) << report.problem;
            ASSERT_EQ(report.count, 200u * static_cast<unsigned>(part + 1)) << "all groups";
            const hash_array_progress found = array.found();
            for (int thread = 0; thread < 3; ++thread) ASSERT_LE(found.groups[thread], done.groups[thread]);
            EXPECT_TRUE(array.check(found).ok()) << "groups that left nothing need not be known";
        }
        ++done.groups[1];
        const check_report report = hash_array(this->place.access(), this->root, shape).check(done);
        EXPECT_STREQ(report.problem, "a group is torn or lost") << "one that was not done";
        this->begin_again();
    }
}

TYPED_TEST(HashArray, AGroupWithoutOneOfItsStoresIsFound) {
    const hash_array_shape shape{.seed = 8, .group = 10, .write_percent = 100};
    const auto memory = this->place.access();
    ASSERT_TRUE(hash_array(memory, this->root, shape).create(100'000));
    hash_array_progress done;
    this->work(shape, done, 300);
    const hash_array array(memory, this->root, shape);
    // The array is large: hardly two groups have stored to the same place.
    const hash_array_group group = array.draw(2, 50);
    for (std::uint64_t i = 0; i < group.count; ++i) {
        std::uint64_t* const home = memory.load(&this->root->entries) + group.places[i];
        ASSERT_EQ(memory.load(home), group.stamp);
        ASSERT_TRUE(memory.atomically([&] { memory.store(home, 0); }));
        EXPECT_STREQ(array.check(done).problem, "a group is torn or lost") << "element " << i;
        ASSERT_TRUE(memory.atomically([&] { memory.store(home, group.stamp); }));
    }
    EXPECT_TRUE(array.check(done).ok());
}

using words = std::vector<std::uint64_t>;

/// A small array whose groups overlap much, and what its groups leave in each order that there is.
class every_order {
public:
    every_order(std::uint64_t seed, std::uint64_t threads, std::uint64_t each)
        : shape_{.seed = seed, .group = 3, .write_percent = 70}, threads_(threads) {
        for (std::uint64_t thread = 0; thread < threads; ++thread) done_.groups[thread] = each;
        hash_array_progress begun;
        enter(words(elements), begun);
    }

    /// Single stores of the threads' groups in a random order, in each thread's own.
    words torn(random& numbers) {
        words made(elements);
        hash_array_progress begun;
        std::vector<std::uint64_t> in_group(threads_);
        for (std::uint64_t left = threads_ * done_.groups[0] * shape_.group; left > 0; --left) {
            std::uint64_t thread = numbers.below(threads_);
            while (begun.groups[thread] == done_.groups[thread]) thread = (thread + 1) % threads_;
            const hash_array_group group = on(made).draw(thread, begun.groups[thread] + 1);
            const std::uint64_t element = in_group[thread]++;
            if (group.stores(element)) made[group.places[element]] = group.stamp;
            if (in_group[thread] < shape_.group) continue;
            in_group[thread] = 0;
            ++begun.groups[thread];
        }
        return made;
    }

    bool leaves(const words& array) const { return left_.contains(array); }
    bool is_right(words array) { return on(array).check(done_).ok(); }
    std::uint64_t any_stamp(random& numbers) const {
        return numbers.below(done_.groups[0] + 2) * hash_array_most_threads + numbers.below(threads_ + 1);
    }

    static constexpr std::uint64_t elements = 5;

private:
    hash_array<plain_access> on(words& array) {
        root_ = {array.data(), array.size()};
        return {plain_access(), &root_, shape_};
    }

    void enter(const words& before, hash_array_progress& begun) {
        bool any = false;
        for (std::uint64_t thread = 0; thread < threads_; ++thread) {
            if (begun.groups[thread] == done_.groups[thread]) continue;
            any = true;
            words after = before;
            const auto array = on(after);
            array.apply(array.draw(thread, ++begun.groups[thread]));
            enter(after, begun);
            --begun.groups[thread];
        }
        if (!any) left_.insert(before);
    }

    hash_array_shape shape_;
    std::uint64_t threads_;
    hash_array_progress done_;
    hash_array_root root_{};
    std::set<words> left_;
};

TEST(HashArrayCheck, AcceptsExactlyWhatSomeOrderOfWholeGroupsLeaves) {
    random numbers(1);
    std::uint64_t accepted = 0;
    std::uint64_t refused = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        every_order orders(seed, 2 + seed % 2, 2 + seed / 2 % 2);
        for (int i = 0; i < 100; ++i) {
            words array = orders.torn(numbers);
            if (i % 2 == 1) array[numbers.below(array.size())] = orders.any_stamp(numbers);
            const bool expected = orders.leaves(array);
            ASSERT_EQ(orders.is_right(array), expected) << "seed " << seed << ", array " << i;
            ++(expected ? accepted : refused);
        }
    }
    EXPECT_GT(accepted, 500u);
    EXPECT_GT(refused, 500u);
}

TEST(HashArrayCheck, SaysWhatIsWrongWithAnElement) {
    const hash_array_shape shape{.seed = 2, .group = 2};
    words elements(50);
    hash_array_root root{elements.data(), elements.size()};
    const hash_array array(plain_access(), &root, shape);
    hash_array_progress done;
    const hash_array_group group = array.draw(5, 1);
    array.apply(group);
    EXPECT_STREQ(array.check(done).problem, "an element is of a group that was not done");
    done.groups[5] = 1;
    EXPECT_TRUE(array.check(done).ok());
    EXPECT_EQ(array.found().groups[5], 1u);
    std::uint64_t other = 0;
    while (elements[other] != 0) ++other;
    elements[other] = group.stamp;
    EXPECT_STREQ(array.check(done).problem, "an element is of a group that does not store there");
    elements[other] = 7;
    EXPECT_STREQ(array.check(done).problem, "an element has the stamp of no group");
}

TEST(HashArrayCost, AGroupAccessesItsElementsAndNothingElse) {
    words elements(1 << 16);
    hash_array_root root{elements.data(), elements.size()};
    std::uint64_t stored = 0;
    for (const std::uint64_t percent : {0u, 40u, 100u}) {
        const hash_array_shape shape{.seed = 4, .group = 20, .write_percent = percent};
        access_counts counts;
        const hash_array array(counted_access<plain_access>(plain_access(), counts), &root, shape);
        counts = {};
        for (std::uint64_t i = 1; i <= 500; ++i) array.apply(array.draw(0, i));
        EXPECT_EQ(counts.loads + counts.stores, 500u * 20);
        EXPECT_NEAR(static_cast<double>(counts.stores), 100.0 * static_cast<double>(percent), 250);
        stored = counts.stores;
    }
    EXPECT_EQ(stored, 500u * 20) << "at 100 percent nothing is loaded";
    std::uint64_t full = 0;
    for (const std::uint64_t each : elements) full += each != 0 ? 1 : 0;
    // Places are spread evenly: n stores leave 65536 * (1 - exp(-n / 65536)) of them full.
    EXPECT_NEAR(static_cast<double>(full), 65536 * (1 - std::exp(-10'000.0 / 65536)), 100);
}

}  // namespace
}  // namespace holdfast::workload
