// Brings lines home behind the transactions that stored to them, so that a log's records may be overwritten.
//
// Each thread keeps a queue of its transactions in DRAM: sequence number, and lines stored to. What no log needs any
// more is a number, the head: all transactions up to it are home, of all threads. One head for all logs, since a record
// that is replayed must not meet a newer one of its word that is gone already.
//
// 1. Behind its commit a thread writes back the lines of its transactions that are older than half the log. So there
//    is no rate to be set: a log that is half full lets as much go home as is appended.
// 2. The fence of the next commit waits for these, too; then they count as home.
// 3. When less than a quarter of its log is free, a thread looks at what is home of all others, and streams the new
//    head in front of its records. The fence of this commit waits for it; then room is free up to it.
// 4. A thread that has no room at all writes back what is in the queues of all threads: another one may wait for a lock
//    which this one holds, or may have ended.
#pragma once

#include <sim/guest/planted_fault.hpp>
#include <sim/guest/publish.hpp>
#include <sim/guest/record_ring.hpp>
#include <sim/guest/threads.hpp>

namespace holdfast::guest {

/// What other threads see of one.
struct alignas(64) pacer_lane {
    std::uint64_t is_committing;  ///< from before its number is drawn until its lines are in the queue
    std::uint64_t drawn;          ///< the number that was drawn last
    std::uint64_t last;           ///< the number of the last transaction in the queue
    std::uint64_t queued;         ///< where the queue ends, in entries over all laps
    std::uint64_t home;           ///< all its transactions up to this number are home
    std::uint64_t home_entry;     ///< and so are the entries before this one
    const std::uint64_t* queue;
    // By whoever helped, on a line of its own.
    alignas(64) std::uint64_t helped;
    std::uint64_t helped_entry;
};

/// All zero at first.
struct pacer_state {
    alignas(64) std::uint64_t drawn;  ///< how many numbers; with one log for all, records
    alignas(64) lock helping;
    pacer_lane lanes[most_threads];
};
inline pacer_state pacing;

/// Of one thread. All zero before create.
class home_pacer {
public:
    void create(std::uint32_t thread) noexcept {
        thread_ = thread;
        is_central_ = software_logs.logs < software_logs.threads;
        first_number_ = is_central_ ? software_logs.first_record(0) : 1;
        head_ = next_head_ = first_number_ - 1;
        queue_ = static_cast<std::uint64_t*>(allocate_volatile(software_logs.records * sizeof(std::uint64_t)));
        mask_ = software_logs.records - 1;
        mine().queue = queue_;
    }

    /// Draws the number of a transaction that takes `records` of the log, a multiple of a line's, when there is room
    /// for them. With one log for all the number is the place of its first record.
    std::uint64_t begin_commit(std::uint64_t records) noexcept {
        if (records > software_logs.records) give_up("the transaction is longer than its log");
        if (!is_central_) make_room(appended_ + records);
        mine().is_committing = 1;
        const std::uint64_t number = draw(is_central_ ? records : 1);
        publish(mine().drawn, number);
        header_ = queued_++;
        number_ = number;
        appended_ = is_central_ ? number + records : appended_ + records;
        records_ = records;
        if (is_central_) make_room(appended_);
        return number;
    }
    /// Behind a fence: what was written back and streamed before it is durable.
    void fenced() noexcept {
        pacer_lane& lane = mine();
        if (lane.home != written_) {
            lane.home_entry = written_entry_;
            publish(lane.home, written_);
        }
        if (head_ == next_head_) return;
        head_ = next_head_;
        while (free_entry_ != queued_before_commit() && number_in(entry(free_entry_)) <= head_) {
            freed_ = place_behind(freed_, entry(free_entry_));
            free_entry_ = behind(free_entry_);
        }
        // Who helped may have been faster.
        if (written_entry_ < free_entry_) {
            written_entry_ = free_entry_;
            written_place_ = freed_;
        }
    }
    /// Stores the words, and takes their lines.
    void store(const word_set& words) noexcept {
        std::uint64_t* const queue = queue_;
        const std::uint64_t mask = mask_;
        std::uint64_t end = queued_, last_line = 0;
        for (const word_set::entry& each : words) {
            const std::uint64_t line = each.address & ~63ull;
            *reinterpret_cast<std::uint64_t*>(each.address) = each.value;
            if (line == last_line) continue;
            queue[end++ & mask] = line;
            last_line = line;
        }
        queued_ = end;
    }
    void end_commit() noexcept {
        entry(header_) = header_of(number_, records_, queued_ - header_ - 1);
        pacer_lane& lane = mine();
        publish(lane.queued, queued_);
        publish(lane.last, number_);
        publish(lane.is_committing, 0);
        header_ = queued_;
    }
    /// Step 1.
    void write_old_lines_back() noexcept {
        while (written_entry_ != queued_) {
            const std::uint64_t header = entry(written_entry_);
            const std::uint64_t place = is_central_ ? number_in(header) : written_place_;
            if (appended_ - place <= software_logs.records / 2) return;
            const std::uint64_t end = behind(written_entry_);
            while (++written_entry_ != end) write_back(entry(written_entry_));
            written_ = number_in(header);
            written_place_ = place_behind(written_place_, header);
        }
    }

private:
    // An entry is a line, or the header of a transaction: number, records in lines, lines behind it.
    static constexpr std::uint64_t is_header = 1;
    static constexpr unsigned lines_shift = 1, records_shift = 13, number_shift = 23;
    static std::uint64_t header_of(std::uint64_t number, std::uint64_t records, std::uint64_t lines) noexcept {
        return number << number_shift | records / sim::software_records_in_line << records_shift |
               lines << lines_shift | is_header;
    }
    static std::uint64_t number_in(std::uint64_t header) noexcept { return header >> number_shift; }
    static std::uint64_t records_in(std::uint64_t header) noexcept {
        return (header >> records_shift & 1023) * sim::software_records_in_line;
    }
    static std::uint64_t lines_in(std::uint64_t header) noexcept { return header >> lines_shift & 4095; }

    pacer_lane& mine() const noexcept { return pacing.lanes[thread_]; }
    std::uint64_t& entry(std::uint64_t number) const noexcept { return queue_[number & mask_]; }
    std::uint64_t behind(std::uint64_t header) const noexcept { return header + 1 + lines_in(entry(header)); }
    std::uint64_t place_behind(std::uint64_t place, std::uint64_t header) const noexcept {
        return place + records_in(header);
    }
    std::uint64_t queued_before_commit() const noexcept { return header_; }

    static void write_back(std::uint64_t line) noexcept {
        if (planted != planted_fault::no_write_back) write_back_line(reinterpret_cast<const void*>(line));
    }

    /// One thread needs no atomic operation, which would wait for its earlier fence.
    std::uint64_t draw(std::uint64_t count) noexcept {
        const std::uint64_t own = own_drawn_;
        own_drawn_ += count;
        if (software_logs.threads == 1) pacing.drawn = own_drawn_;
        if (software_logs.threads == 1) return first_number_ + own;
        const std::uint64_t drawn = __atomic_fetch_add(&pacing.drawn, count, __ATOMIC_ACQ_REL);
        return first_number_ + (planted == planted_fault::numbers_of_threads ? own : drawn);
    }

    /// Behind the last record that there is room for.
    std::uint64_t limit() const noexcept { return (is_central_ ? head_ + 1 : freed_) + software_logs.records; }
    /// Steps 3 and 4. Records up to `end` are wanted.
    void make_room(std::uint64_t end) noexcept {
        if (end + software_logs.records / 4 <= limit()) return;
        move_head();
        if (end <= limit()) return;
        begin_spinning();
        while (true) {
            fence_persists();
            fenced();
            if (end <= limit()) break;
            write_all_back();
            move_head();
        }
        end_spinning();
    }
    void move_head() noexcept {
        const std::uint64_t home = home_of_all();
        if (home <= next_head_) return;
        next_head_ = home;
        if (planted == planted_fault::no_head) return;
        store_non_temporal(reinterpret_cast<std::uint64_t*>(sim::software_log_layout::head_of(thread_).value), home);
    }

    /// Up to which number all transactions are home. Who has drawn a smaller number than the next one is committing, or
    /// has its lines in the queue.
    std::uint64_t home_of_all() const noexcept {
        std::uint64_t home = first_number_ + seen(pacing.drawn) - 1;
        for (const pacer_lane& each : pacing.lanes) {
            if (planted == planted_fault::head_of_one_thread && &each != &mine()) continue;
            const bool is_committing = seen(each.is_committing) != 0;
            const std::uint64_t drawn = seen(each.drawn);
            const std::uint64_t last = seen(each.last);
            const std::uint64_t own = seen(each.home);
            const std::uint64_t helped = seen(each.helped);
            const std::uint64_t of_it = own > helped ? own : helped;
            if (last > of_it && of_it < home) home = of_it;
            const std::uint64_t before = drawn > last ? drawn - 1 : last;
            if (is_committing && before < home) home = before;
        }
        return home;
    }

    /// Step 4. What a thread overwrites meanwhile in its queue is home already.
    static void write_all_back() noexcept {
        std::uint64_t last[most_threads], end[most_threads];
        pacing.helping.acquire();
        for (std::uint32_t i = 0; i < most_threads; ++i) {
            const pacer_lane& of = pacing.lanes[i];
            last[i] = seen(of.last);
            end[i] = seen(of.queued);
            const std::uint64_t home = seen(of.home_entry);
            for (std::uint64_t at = home > of.helped_entry ? home : of.helped_entry; at < end[i]; ++at) {
                const std::uint64_t found = of.queue[at & (software_logs.records - 1)];
                if ((found & is_header) == 0) write_back(found);
            }
        }
        fence_persists();
        for (std::uint32_t i = 0; i < most_threads; ++i) {
            pacer_lane& of = pacing.lanes[i];
            of.helped_entry = end[i];
            publish(of.helped, last[i]);
        }
        pacing.helping.release();
    }

    std::uint32_t thread_;
    bool is_central_;
    std::uint64_t* queue_;
    std::uint64_t mask_;  ///< the log has as many records as the queue has entries, a power of two
    std::uint64_t first_number_;
    std::uint64_t own_drawn_;  ///< how many numbers this thread drew
    std::uint64_t appended_;   ///< to the log, in records
    std::uint64_t freed_;      ///< of the thread's own log: the records before it may be overwritten
    std::uint64_t head_;       ///< durable
    std::uint64_t next_head_;  ///< streamed
    std::uint64_t queued_, free_entry_, written_entry_;
    std::uint64_t written_;        ///< the number of the last transaction that was written back
    std::uint64_t written_place_;  ///< in the thread's own log
    // Of the transaction that commits.
    std::uint64_t header_, number_, records_;
};

}  // namespace holdfast::guest
