// The queue on real threads: a small ring, transactions that withdraw, one thread that retires or all of them.
#include <holdfast/base/test_run.hpp>
#include <holdfast/htm/blue_red_queue.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>
#include <vector>

namespace holdfast::htm {
namespace {

using holdfast::test::at_full_length;

struct transaction {
    std::uint64_t stamp = 0;
    std::uint64_t number = 0;  ///< of its thread's
    unsigned thread = 0;
    std::atomic<bool> retired{true};
};
using queue = blue_red_queue<transaction>;

/// Threads that begin, withdraw or end, and retire; what they find wrong is counted.
class running_queue {
public:
    running_queue(std::size_t slots, unsigned threads, bool all_retire)
        : ring_(slots), queue_({ring_.data(), slots}), all_retire_(all_retire), ended_(threads), retired_(threads) {}

    /// `more()` says whether a thread begins another transaction.
    template <class More>
    void run(std::uint64_t seed, More more) {
        std::vector<std::thread> all;
        running_ = static_cast<unsigned>(ended_.size());
        for (unsigned each = 0; each < ended_.size(); ++each)
            all.emplace_back([=, this] { write(each, seed + each, more); });
        if (!all_retire_)
            all.emplace_back([this] {
                while (running_ != 0)
                    if (!retire_some()) std::this_thread::yield();
            });
        for (std::thread& each : all) each.join();
        while (retire_some()) continue;
    }
    void expect_right() {
        EXPECT_EQ(disordered_, 0u);
        EXPECT_EQ(retired_twice_, 0u);
        EXPECT_EQ(ended_, retired_);
        EXPECT_EQ(queue_.span(), 0u);
        EXPECT_GT(withdrawn_, 0u);
    }
    std::uint64_t turned_away() const { return turned_away_; }
    std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t each : retired_) sum += each;
        return sum;
    }

private:
    static constexpr unsigned payloads = 64;  ///< of each thread

    template <class More>
    void write(unsigned thread, std::uint64_t seed, More more) {
        std::mt19937_64 random(seed);
        std::vector<transaction> own(payloads);
        std::uint64_t number = 0;
        while (more(number)) {
            std::optional<std::uint64_t> id;
            while (!(id = queue_.notify_start())) {
                turned_away_.fetch_add(1, std::memory_order_relaxed);
                if (!all_retire_ || !retire_some()) std::this_thread::yield();
            }
            if (*id < queue_.observed_min()) ++disordered_;
            const std::uint64_t drawn = random();
            if (drawn % 16 == 0) std::this_thread::yield();
            if (drawn % 4 == 1) {
                queue_.withdraw(*id);
                ++withdrawn_;
                ++number;
                continue;
            }
            transaction& each = own[number % payloads];
            while (!each.retired) retire_or_yield();
            each.retired = false;
            each.thread = thread;
            each.number = ++number;
            each.stamp = clock_.fetch_add(1);
            if (drawn % 32 == 2) std::this_thread::yield();
            queue_.notify_end(*id, each.stamp);
            if (drawn % 32 == 3) std::this_thread::yield();
            ++ended_[thread];
            queue_.commit(*id, &each);
            if (all_retire_) retire_some();
        }
        for (transaction& each : own)
            while (!each.retired) retire_or_yield();
        --running_;
    }
    void retire_or_yield() {
        if (!all_retire_ || !retire_some()) std::this_thread::yield();
    }
    /// What f touches is not atomic: calls of it follow each other.
    bool retire_some() {
        const bool any = queue_.try_retire([this](transaction* each) {
            disordered_ += each->stamp < last_stamp_;
            last_stamp_ = each->stamp;
            retired_twice_ += each->retired;
            disordered_ += each->number <= last_number_[each->thread];
            last_number_[each->thread] = each->number;
            ++retired_[each->thread];
            each->retired = true;
        });
        return any;
    }

    std::vector<queue::slot> ring_;
    queue queue_;
    const bool all_retire_;
    std::atomic<std::uint64_t> clock_{1};
    std::atomic<unsigned> running_{0};
    std::atomic<std::uint64_t> turned_away_{0};
    std::atomic<std::uint64_t> withdrawn_{0};
    std::atomic<std::uint64_t> disordered_{0};
    std::vector<std::uint64_t> ended_;
    // Of the thread in try_retire.
    std::vector<std::uint64_t> retired_;
    std::uint64_t last_stamp_ = 0;
    std::uint64_t last_number_[16] = {};
    std::uint64_t retired_twice_ = 0;
};

void run_for_a_while(std::size_t slots, unsigned threads, bool all_retire, std::chrono::minutes at_most) {
    const std::uint64_t seed = holdfast::test::seed_of_run();
    running_queue tried(slots, threads, all_retire);
    if (at_full_length()) {
        const auto end = std::chrono::steady_clock::now() + at_most;
        tried.run(seed, [end](std::uint64_t) { return std::chrono::steady_clock::now() < end; });
    } else {
        tried.run(seed, [](std::uint64_t number) { return number < 20'000; });
    }
    tried.expect_right();
    std::printf("%llu retired, %llu times no room\n", static_cast<unsigned long long>(tried.total()),
                static_cast<unsigned long long>(tried.turned_away()));
}

TEST(BlueRedQueueThreads, RetireInStampOrderThroughSixteenSlots) {
    run_for_a_while(16, 8, false, std::chrono::minutes(10));
}
TEST(BlueRedQueueThreads, RetireInStampOrderWhereEachTriesToRetire) {
    run_for_a_while(16, 4, true, std::chrono::minutes(2));
}

}  // namespace
}  // namespace holdfast::htm
