// The queue's sorted lists against a look at every write.
#include <sim/memory/write_queue.hpp>

#include <gtest/gtest.h>

#include <random>

namespace holdfast::sim {
namespace {

class WriteQueue : public testing::Test {
protected:
    static constexpr std::uint64_t lines = 40;  // few, so that several writes have the same
    static constexpr std::uint64_t seed = 7;

    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

    void arrive() {
        queued_write write;
        write.what.line = address{below(lines) * line_bytes * (below(2) == 0 ? 1 : 1024)};
        write.from = below(3) == 0 ? port::source::log : port::source::data;
        write.asked = now_ + time{below(50)};
        write.accepted = write.asked + time{below(100)};
        queue_.push(write);
    }
    void send_one() {
        if (queue_.unsent().empty()) return;
        queued_write& write = *queue_.unsent()[below(queue_.unsent().size())];
        write.completes = std::max(now_, write.accepted) + time{below(200)};
        queue_.sent(write);
    }

    void compare(time at) const {
        for (const port::source from : {port::source::data, port::source::log}) {
            std::size_t occupied = 0;
            for (std::size_t age = 0; age < queue_.size(); ++age)
                occupied += queue_[age].from == from && queue_[age].occupies(at) ? 1u : 0u;
            ASSERT_EQ(queue_.occupied(from, at), occupied);
            const std::size_t most = occupied / 2;
            ASSERT_EQ(queue_.occupied_at_most(from, most, at).picoseconds, waited(from, most, at).picoseconds);
        }
        std::size_t not_accepted = 0;
        for (std::size_t age = 0; age < queue_.size(); ++age)
            not_accepted += queue_[age].asked <= at && queue_[age].accepted > at ? 1u : 0u;
        ASSERT_EQ(queue_.not_accepted(at), not_accepted);
    }
    /// One completion after the other.
    time waited(port::source from, std::size_t most, time at) const {
        while (queue_.occupied(from, at) > most) {
            time earliest = never;
            for (std::size_t age = 0; age < queue_.size(); ++age) {
                const queued_write& write = queue_[age];
                if (write.from == from && write.occupies(at)) earliest = std::min(earliest, write.completes);
            }
            if (earliest == never) return at;
            at = earliest;
        }
        return at;
    }
    void compare_ages() const {
        std::vector<const queued_write*> unsent;
        for (std::size_t age = 0; age < queue_.size(); ++age) {
            const queued_write& write = queue_[age];
            if (write.waits()) unsent.push_back(&write);
            bool has_older = false;
            for (std::size_t older = 0; older < age; ++older) has_older |= queue_[older].what.line == write.what.line;
            ASSERT_EQ(queue_.has_older_of_line(write), has_older);
        }
        ASSERT_TRUE(std::equal(unsent.begin(), unsent.end(), queue_.unsent().begin(), queue_.unsent().end()));
        for (const queued_write* const each : unsent) ASSERT_EQ(queue_.unsent_since(each->number), each);
    }

    std::mt19937_64 random_{seed};
    write_queue queue_{16};
    time now_{};
};

TEST_F(WriteQueue, CountsAsALookAtEveryWriteDoes) {
    for (int step = 0; step < 3000; ++step) {
        arrive();
        if (below(3) != 0) send_one();
        if (below(2) == 0) send_one();
        now_ = now_ + time{below(60)};
        queue_.retire(now_, [this](const queued_write& write) { ASSERT_LE(write.completes, now_); });
        compare(now_);
        compare(now_ + time{below(150)});
        compare_ages();
        if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
}

}  // namespace
}  // namespace holdfast::sim
