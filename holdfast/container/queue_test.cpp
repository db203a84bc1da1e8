#include <holdfast/container/queue.hpp>

#include <holdfast/container/places_test.hpp>
#include <holdfast/container/string.hpp>

#include <workload/random.hpp>

#include <deque>
#include <iterator>
#include <ranges>
#include <utility>

namespace holdfast::test {
namespace {

template <class Place>
class Queue : public container_test<Place> {
public:
    template <class T>
    using queue_of = queue<T, typename Place::engine>;
    using text = string<typename Place::engine>;

    /// Random pushes and pops, more pushes in odd phases, in kept and dropped transactions.
    template <class T, class Make, class Read>
    void run_model(Make make, Read read) {
        using value = decltype(make(0));
        std::deque<value> model;
        workload::random numbers(9);
        for (int round = 0; round < 200; ++round) {
            SCOPED_TRACE(round);
            auto& q = this->template root<queue_of<T>>();
            const std::deque<value> before = model;
            const bool keep = numbers.below(3) != 0;
            const auto change = [&] {
                for (std::uint64_t n = numbers.below(30); n < 30; ++n) {
                    if (numbers.below(10) < (round / 40 % 2 == 0 ? 7u : 3u)) {
                        const value made = make(numbers.below(10000));
                        q.push(made);
                        model.push_back(made);
                        EXPECT_EQ(read(q.back()), made);
                    } else if (numbers.below(12) == 0) {
                        change_middle<T>(q, model, numbers, read);
                    } else if (!model.empty()) {
                        EXPECT_EQ(read(q.front()), model.front());
                        q.pop();
                        model.pop_front();
                    }
                }
                if (!keep) throw change_of_mind();
            };
            if (keep) {
                this->pool().atomically(change).value();
            } else {
                EXPECT_THROW(static_cast<void>(this->pool().atomically(change)), change_of_mind);
                model = before;
            }
            compare<T>(model, read);
            if (round % 10 == 9) this->come_back(static_cast<std::uint64_t>(round / 10));
        }
        compare<T>(model, read);
        auto& q = this->template root<queue_of<T>>();
        q.erase_some(3);
        q.clear();
        EXPECT_TRUE(q.empty());
        EXPECT_LE(this->pool().usage().allocated_blocks, 2u);
    }

    /// Removes from the middle, or moves all to another queue and back.
    template <class T, class Model, class Read>
    void change_middle(queue_of<T>& q, Model& model, workload::random& numbers, Read read) {
        if (numbers.below(3) == 0) {
            auto& other = *this->pool().template root<queue_of<T>>("other").value();
            EXPECT_EQ(q == other, model.empty());
            other = std::move(q);
            EXPECT_TRUE(q.empty());
            swap(q, other);
            EXPECT_TRUE(other.empty());
        } else if (numbers.below(2) == 0) {
            const std::uint64_t asked = numbers.below(4);
            const auto leaves = [&](const auto& each) { return each.size() % 4 == asked; };
            const auto written = [](const auto& value) {
                if constexpr (requires { value.size(); }) return std::string(value);
                else return std::string(value % 40, 'n');
            };
            EXPECT_EQ(erase_if(q, [&](const auto& each) { return leaves(written(read(each))); }),
                      std::erase_if(model, [&](const auto& each) { return leaves(written(each)); }));
        } else {
            const std::uint64_t first = numbers.below(model.size() + 1);
            const std::uint64_t last = first + numbers.below(model.size() + 1 - first);
            const auto at = q.erase(std::next(q.begin(), static_cast<std::ptrdiff_t>(first)),
                                    std::next(q.begin(), static_cast<std::ptrdiff_t>(last)));
            EXPECT_EQ(at, std::next(q.begin(), static_cast<std::ptrdiff_t>(first)));
            model.erase(model.begin() + static_cast<std::ptrdiff_t>(first),
                        model.begin() + static_cast<std::ptrdiff_t>(last));
        }
    }

    template <class T, class Model, class Read>
    void compare(const Model& model, Read read) {
        const auto& q = this->template root<queue_of<T>>();
        Model contents;
        for (const auto& each : q) contents.push_back(read(each));
        ASSERT_EQ(contents, model);
        ASSERT_EQ(q.size(), model.size());
        const auto checked = q.check();
        ASSERT_TRUE(checked.has_value()) << checked.error().text();
        ASSERT_TRUE(this->files.audit(q));
    }
};
TYPED_TEST_SUITE(Queue, places, place_names);

TYPED_TEST(Queue, BehavesLikeAStandardQueueThroughRollbacksAndReopening) {
    this->template run_model<std::uint64_t>([](std::uint64_t n) { return n; },
                                            [](const auto& element) { return element.get(); });
}

TYPED_TEST(Queue, OfStringsBehavesLikeAStandardQueue) {
    this->template run_model<typename TestFixture::text>(
        [](std::uint64_t n) { return std::string(n % 40, 'q') + std::to_string(n); },
        [](const auto& element) { return element.str(); });
}

TEST(QueueTypes, HaveTheStandardIteratorsAndAreNotCopyConstructible) {
    using Q = queue<int, redo>;
    static_assert(sizeof(Q) == 32);
    static_assert(std::forward_iterator<Q::iterator> && std::forward_iterator<Q::const_iterator>);
    static_assert(std::ranges::forward_range<Q> && std::convertible_to<Q::iterator, Q::const_iterator>);
    static_assert(!std::is_copy_constructible_v<Q> && !std::is_copy_assignable_v<Q>);
}

}  // namespace
}  // namespace holdfast::test
