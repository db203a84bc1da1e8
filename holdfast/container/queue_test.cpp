#include <holdfast/container/queue.hpp>

#include <holdfast/container/places_test.hpp>
#include <holdfast/container/string.hpp>

#include <workload/random.hpp>

#include <deque>
#include <iterator>
#include <ranges>

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
        EXPECT_EQ(this->pool().usage().allocated_blocks, 1u);
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

TEST(QueueTypes, AreWhatTheyClaim) {
    using Q = queue<int, redo>;
    static_assert(sizeof(Q) == 32);
    static_assert(std::forward_iterator<Q::iterator> && std::forward_iterator<Q::const_iterator>);
    static_assert(std::ranges::forward_range<Q> && std::convertible_to<Q::iterator, Q::const_iterator>);
    static_assert(!std::is_copy_constructible_v<Q> && !std::is_copy_assignable_v<Q>);
}

}  // namespace
}  // namespace holdfast::test
