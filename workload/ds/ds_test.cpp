// Each structure against a standard container, by random operations of which each is a transaction.
#include <workload/ds/bitmap.hpp>
#include <workload/ds/heap.hpp>
#include <workload/ds/map.hpp>
#include <workload/ds/pair.hpp>
#include <workload/ds/queue.hpp>
#include <workload/ds/vector.hpp>
#include <workload/plain_access_test.hpp>
#include <workload/random.hpp>

#include <holdfast/stm/atomically.hpp>
#include <holdfast/stm/value.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <vector>

namespace holdfast::workload {
namespace {

/// Ordinary memory with a count of blocks.
struct plain_home {
    static constexpr int operations = 1'000'000;
    using access_type = test::plain_access;
    access_type access() { return access_type(memory); }
    void expect_no_blocks() const { EXPECT_EQ(memory.live_blocks, 0) << "blocks were lost"; }
    test::plain_memory memory;
};

/// Transactional memory. The sanitizers of other builds find lost blocks.
struct transactional_home {
    static constexpr int operations = 1'000'000;
    using access_type = stm::stm_access<stm::value>;
    access_type access() { return {}; }
    void expect_no_blocks() const {}
};

/// HOLDFAST_SEED, or another one each time.
std::uint64_t seed_of_this_run() {
    const char* const wanted = std::getenv("HOLDFAST_SEED");
    if (wanted != nullptr) return std::strtoull(wanted, nullptr, 10);
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

template <class Home>
class Structures : public ::testing::Test {
protected:
    Structures() : numbers(seed), memory(home.access()) {}

    /// Runs f() as a transaction.
    template <class F>
    void atomically(F&& f) {
        ASSERT_TRUE(memory.atomically(f));
    }
    std::uint64_t draw() { return numbers.next(); }
    /// Whether the next operation adds: for a thousand of them mostly so, for the next thousand mostly not.
    bool adds(int i) { return (numbers.below(4) != 0) == (i / 1000 % 2 == 0); }

    const std::uint64_t seed = seed_of_this_run();
    const ::testing::ScopedTrace trace{__FILE__, __LINE__, "HOLDFAST_SEED=" + std::to_string(seed)};
    Home home;
    random numbers;
    typename Home::access_type memory;
};

using homes = ::testing::Types<plain_home, transactional_home>;
TYPED_TEST_SUITE(Structures, homes);

TYPED_TEST(Structures, AQueueBehavesLikeADeque) {
    queue_root<std::uint64_t> root{};
    const queue<typename TypeParam::access_type, std::uint64_t> tested(this->memory, &root);
    std::deque<std::uint64_t> model;
    for (int i = 0; i < TypeParam::operations; ++i) {
        std::uint64_t value = this->draw();
        if (this->adds(i)) {
            this->atomically([&] { tested.push(value); });
            model.push_back(value);
        } else {
            bool found = false;
            this->atomically([&] { found = tested.pop(value); });
            ASSERT_EQ(found, !model.empty());
            if (!found) continue;
            ASSERT_EQ(value, model.front());
            model.pop_front();
        }
        ASSERT_EQ(tested.count(), model.size());
    }
    std::deque<std::uint64_t> left;
    tested.each([&](std::uint64_t value) { left.push_back(value); });
    EXPECT_EQ(left, model);
    this->atomically([&] { tested.dispose(); });
    EXPECT_TRUE(tested.empty());
    this->home.expect_no_blocks();
}

TYPED_TEST(Structures, AVectorBehavesLikeAVector) {
    vector_root<std::uint64_t> root{};
    const vector<typename TypeParam::access_type, std::uint64_t> tested(this->memory, &root);
    std::vector<std::uint64_t> model;
    for (int i = 0; i < TypeParam::operations; ++i) {
        std::uint64_t value = this->draw();
        const bool changes = !model.empty() && this->numbers.below(3) == 0;
        if (changes) {
            const std::uint64_t at = this->numbers.below(model.size());
            std::uint64_t before = 0;
            this->atomically([&] {
                before = tested.at(at);
                tested.set(at, value);
            });
            ASSERT_EQ(before, model[at]);
            model[at] = value;
        } else if (this->adds(i)) {
            this->atomically([&] { tested.push_back(value); });
            model.push_back(value);
        } else {
            bool found = false;
            this->atomically([&] { found = tested.pop_back(value); });
            ASSERT_EQ(found, !model.empty());
            if (!found) continue;
            ASSERT_EQ(value, model.back());
            model.pop_back();
        }
        ASSERT_EQ(tested.count(), model.size());
    }
    this->atomically([&] { tested.dispose(); });
    EXPECT_TRUE(tested.empty());
    this->home.expect_no_blocks();
}

struct smaller {
    bool operator()(std::uint64_t a, std::uint64_t b) const { return a < b; }
};

TYPED_TEST(Structures, AHeapBehavesLikeAPriorityQueue) {
    vector_root<std::uint64_t> root{};
    const heap<typename TypeParam::access_type, std::uint64_t, smaller> tested(this->memory, &root, smaller{});
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> model;
    for (int i = 0; i < TypeParam::operations; ++i) {
        std::uint64_t value = this->numbers.below(1000);  // so that some are equal
        if (this->adds(i)) {
            this->atomically([&] { tested.push(value); });
            model.push(value);
        } else {
            bool found = false;
            this->atomically([&] { found = tested.pop(value); });
            ASSERT_EQ(found, !model.empty());
            if (!found) continue;
            ASSERT_EQ(value, model.top());
            model.pop();
        }
        std::uint64_t first = 0;
        ASSERT_EQ(tested.first(first), !model.empty());
        if (!model.empty()) {
            ASSERT_EQ(first, model.top());
        }
        if (i % 10'000 == 0) {
            ASSERT_EQ(tested.check().problem, nullptr);
        }
    }
    EXPECT_EQ(tested.check().count, model.size());
    this->atomically([&] { tested.dispose(); });
    EXPECT_TRUE(tested.empty());
    this->home.expect_no_blocks();
}

TYPED_TEST(Structures, ABitmapBehavesLikeAVectorOfBools) {
    bitmap_root root{};
    const bitmap tested(this->memory, &root);
    const std::uint64_t bits = 1000 + this->numbers.below(100);
    this->atomically([&] { tested.create(bits); });
    ASSERT_EQ(tested.bits(), bits);
    std::vector<bool> model(bits);
    for (int i = 0; i < TypeParam::operations; ++i) {
        const std::uint64_t bit = this->numbers.below(bits);
        const bool sets = this->adds(i);
        bool was = false, changed = false;
        std::uint64_t clear = 0;
        this->atomically([&] {
            was = tested.test(bit);
            clear = tested.find_clear(bit);
            changed = sets ? tested.set(bit) : tested.reset(bit);
        });
        ASSERT_EQ(was, model[bit]);
        ASSERT_EQ(changed, was != sets);
        std::uint64_t expected = bit;
        while (expected < bits && model[expected]) ++expected;
        ASSERT_EQ(clear, expected);
        model[bit] = sets;
    }
    EXPECT_EQ(tested.count(), static_cast<std::uint64_t>(std::count(model.begin(), model.end(), true)));
    this->atomically([&] { tested.dispose(); });
    this->home.expect_no_blocks();
}

TYPED_TEST(Structures, AMapOfPairsBehavesLikeAMap) {
    using entry = pair<std::int64_t, std::uint64_t>;
    rbtree_uncounted_root root{};
    const map<typename TypeParam::access_type, entry*> tested(this->memory, &root);
    std::map<std::int64_t, std::uint64_t> model;
    const auto remove = [&](std::int64_t key) {
        bool found = false;
        entry* kept = nullptr;
        this->atomically([&] {
            found = tested.get(key, kept);
            if (!found) return;
            EXPECT_EQ(load_pair(this->memory, kept).first, key);
            EXPECT_TRUE(tested.remove(key));
            this->memory.free(kept);
        });
        return found;
    };
    for (int i = 0; i < TypeParam::operations; ++i) {
        const auto key = static_cast<std::int64_t>(this->numbers.below(500)) - 250;
        if (!this->adds(i)) {
            ASSERT_EQ(remove(key), model.erase(key) == 1);
            continue;
        }
        const std::uint64_t value = this->draw();
        bool inserted = false;
        this->atomically([&] {
            inserted = !tested.contains(key);
            if (inserted) tested.insert(key, make_pair(this->memory, key, value));
        });
        ASSERT_EQ(inserted, model.emplace(key, value).second);
        if (i % 10'000 == 0) {
            ASSERT_EQ(tested.check().problem, nullptr);
        }
    }
    EXPECT_EQ(tested.check().count, model.size());
    auto expected = model.begin();
    tested.each([&](std::int64_t key, const entry* kept) {
        EXPECT_EQ(key, expected->first);
        EXPECT_EQ(load_pair(this->memory, kept).second, (expected++)->second);
    });
    std::int64_t key = 0;
    entry* kept = nullptr;
    while (tested.first(key, kept)) {
        ASSERT_EQ(key, model.begin()->first);
        ASSERT_TRUE(remove(key));
        model.erase(model.begin());
    }
    EXPECT_TRUE(model.empty());
    this->home.expect_no_blocks();
}

TEST(Heap, ACheckFindsAnElementThatIsBeforeTheOneAboveIt) {
    std::uint64_t places[]{2, 3, 1};
    vector_root<std::uint64_t> root{places, 3, 3};
    test::plain_memory memory;
    const heap<test::plain_access, std::uint64_t, smaller> tested(test::plain_access(memory), &root, smaller{});
    EXPECT_FALSE(tested.check().ok());
    places[2] = 2;
    EXPECT_TRUE(tested.check().ok());
}

}  // namespace
}  // namespace holdfast::workload
