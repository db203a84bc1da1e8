// One log of undo or redo for all threads, whose tail they move atomically.
//
// A transaction takes whole lines: undo one when it needs one, redo all at once. Each such part begins with a mark that
// has the transaction's number, which is the place of its first part, and how many records it has in earlier parts. So
// recovery sees whose records follow, and whether one is missing. Places are counted over all laps.
//
// 1. A thread announces a place that is not behind the one that it will get, before it takes that; then this one.
// 2. It waits until no announced place is a whole ring before the end of what it took. So what is written tells that
//    all before the ring's beginning then has retired, and recovery needs no head.
// 3. When the mark that retires its records is durable it takes the announcement back.
// Who takes its first part leaves a quarter of the ring to those that need more, or these might wait for themselves.
#pragma once

#include <sim/guest/publish.hpp>
#include <sim/guest/record_ring.hpp>
#include <sim/guest/threads.hpp>

namespace holdfast::guest {

/// All zero at first.
struct central_tail {
    alignas(64) std::uint64_t taken;  ///< records, by all threads
    struct alignas(64) announcement {
        std::uint64_t place;  ///< 0: the thread has no transaction in the log
    } open[most_threads];
};
inline central_tail tail_of_all;

/// What one thread has of it; the same functions as software_log. All zero before create.
class central_log {
public:
    void create(std::uint32_t thread) noexcept {
        ring_.create(0);
        thread_ = thread;
    }
    void append(std::uint64_t target, std::uint64_t value) noexcept {
        if (left_ == 0) take(sim::software_records_in_line);
        --left_;
        ++count_;
        ring_.append(target, value);
    }
    /// All words, and the mark that commits them. There is room for the one that retires them.
    void append(const word_set& words) noexcept {
        constexpr std::uint64_t marks = 3, in_line = sim::software_records_in_line;
        const std::uint64_t records = words.size() + 1;
        take((words.size() + marks + in_line - 1) / in_line * in_line);
        left_ -= records;
        count_ += records;
        ring_.append(words, software_record::commit_of(words.size()), 0);
    }
    void retire() noexcept { append(software_record::retired, 0); }
    /// Behind the fence: the records may be overwritten.
    void release() noexcept {
        publish(mine().place, 0);
        number_ = count_ = left_ = 0;
    }
    bool is_empty() const noexcept { return number_ == 0; }

private:
    central_tail::announcement& mine() const noexcept { return tail_of_all.open[thread_]; }

    void take(std::uint64_t records) noexcept {
        const std::uint64_t first = software_logs.first_record(0);
        const bool begins = number_ == 0;
        if (begins) publish(mine().place, first + seen(tail_of_all.taken));  // 1
        const std::uint64_t place = first + __atomic_fetch_add(&tail_of_all.taken, records, __ATOMIC_ACQ_REL);
        if (begins) publish(mine().place, number_ = place);
        const std::uint64_t ring = software_logs.records;
        await(place + records, begins ? ring - ring / 4 : ring);  // 2
        ring_.seek(place);
        ring_.append(software_record::begun_behind(count_), number_);
        left_ = records - 1;
    }
    void await(std::uint64_t end, std::uint64_t most) const noexcept {
        if (end > number_ + most) give_up("the transaction is longer than its log");
        if (end <= oldest_open() + most) return;
        begin_spinning();
        while (end > oldest_open() + most) {}
        end_spinning();
    }
    std::uint64_t oldest_open() const noexcept {
        std::uint64_t oldest = number_;
        for (const central_tail::announcement& each : tail_of_all.open) {
            const std::uint64_t place = seen(each.place);
            if (place != 0 && place < oldest) oldest = place;
        }
        return oldest;
    }

    record_ring ring_;
    std::uint32_t thread_;
    std::uint64_t number_;  ///< of the open transaction; 0: it has no record yet
    std::uint64_t count_;   ///< of its records
    std::uint64_t left_;    ///< places that it took and has not used
};

}  // namespace holdfast::guest
