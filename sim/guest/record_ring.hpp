// A log in the NVRAM: a ring of records, which are streamed to it one behind the other.
#pragma once

#include <sim/base/software_log.hpp>
#include <sim/guest/heap.hpp>
#include <sim/guest/operations.hpp>
#include <sim/guest/word_set.hpp>

namespace holdfast::guest {

using sim::software_record;

/// Where the logs are; read_parameters knows.
inline sim::software_log_layout software_logs;

/// All of them, by whoever needs one first.
inline void map_software_logs() noexcept {
    static lock one_at_a_time;
    static bool are_mapped = false;
    one_at_a_time.acquire();
    if (!are_mapped) map_memory(sim::software_log_layout::begin.value, software_logs.all_bytes());
    are_mapped = true;
    one_at_a_time.release();
}

class record_ring {
public:
    void create(std::uint32_t log) noexcept {
        map_software_logs();
        begin_ = reinterpret_cast<std::uint64_t*>(software_logs.of(log).value);
        end_ = begin_ + software_logs.records * words_in_record;
        lap_shift_ = 0;
        while (std::uint64_t{1} << lap_shift_ < software_logs.records) ++lap_shift_;
        seek(software_logs.first_record(log));
    }
    /// Records are counted over all laps.
    void seek(std::uint64_t record) noexcept {
        lap_ = record >> lap_shift_;
        next_ = begin_ + (record & (software_logs.records - 1)) * words_in_record;
    }
    void append(std::uint64_t target, std::uint64_t value) noexcept {
        std::uint64_t* const record = next_;
        store_non_temporal(record, value);
        store_non_temporal(record + 1, software_record::made(target, lap_));
        next_ = record + words_in_record;
        if (next_ == end_) begin_lap();
    }
    /// Of each word its address and value, and a mark behind them.
    void append(const word_set& words, std::uint64_t mark, std::uint64_t value) noexcept {
        const place last = append_each(words);
        next_ = last.next;
        lap_ = last.lap;
        append(mark, value);
    }
    /// The next record begins a line.
    void end_line() noexcept {
        constexpr std::uint64_t in_line = 63;
        next_ = reinterpret_cast<std::uint64_t*>((reinterpret_cast<std::uintptr_t>(next_) + in_line) & ~in_line);
        if (next_ == end_) begin_lap();
    }

private:
    static constexpr std::uint64_t words_in_record = sizeof(software_record) / sizeof(std::uint64_t);

    struct place {
        std::uint64_t* next;
        std::uint64_t lap;
    };
    /// Streamed stores make the compiler forget what is in memory, so the place is kept in registers.
    place append_each(const word_set& words) const noexcept {
        place at{next_, lap_};
        std::uint64_t* const end = end_;
        for (const word_set::entry& each : words) {
            const std::uint64_t target = each.address;
            store_non_temporal(at.next, each.value);
            store_non_temporal(at.next + 1, software_record::made(target, at.lap));
            at.next += words_in_record;
            if (at.next == end) at = {begin_, at.lap + 1};
        }
        return at;
    }
    void begin_lap() noexcept {
        next_ = begin_;
        ++lap_;
    }

    std::uint64_t* begin_;
    std::uint64_t* end_;
    std::uint64_t* next_;
    std::uint64_t lap_;
    unsigned lap_shift_;
};

}  // namespace holdfast::guest
