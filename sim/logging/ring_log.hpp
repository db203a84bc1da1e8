// What the hardware knows of one log: its ring from head to tail, what of that is durable, which lines have records in
// it, and which transactions have committed. It does nothing; hardware_log.hpp has the steps.
#pragma once

#include <sim/base/planted.hpp>
#include <sim/logging/log_ring.hpp>

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

namespace holdfast::sim {

class ring_log {
public:
    using position = log_ring::position;
    static constexpr position no_position = ~position{0};

    /// Requires: log_ring::fits(region).
    ring_log(std::uint32_t number, const port::log_region& region)
        : number_(number), ring_(region), slots_(ring_.units()) {}

    std::uint32_t number() const noexcept { return number_; }
    const log_ring& ring() const noexcept { return ring_; }
    position head() const noexcept { return head_; }
    position tail() const noexcept { return tail_; }
    std::uint64_t units() const noexcept { return ring_.units(); }
    /// Units that can be appended without anybody freeing some.
    std::uint64_t room() const noexcept { return units() - (tail_ - head_); }
    /// Where the head is when all that is freed so far has gone.
    position head_to_come() const noexcept { return freed_.empty() ? head_ : std::max(head_, freed_.back().to); }
    void grow(const port::log_region& region) {
        ring_.grow(region, tail_);
        slots_.resize(ring_.units());
    }
    /// Memory has what every line has. `open_from` is the first record of an open transaction: what it stored is there,
    /// too, and recovery may have to undo that.
    void restart(position open_from);

    // Transactions, by their numbers in this log, from 1.
    std::uint64_t begin_transaction() {
        committed_at_.push_back(no_position);
        return ++last_number_;
    }
    /// Its commit record has been appended, if it has records at all.
    void end_transaction(std::uint64_t number, bool has_records) {
        committed_at_[number - first_number_] = has_records ? tail_ : 0;
    }

    // What is appended.
    /// `of_transaction` may have no record yet; a record of `units` follows at the tail.
    void append(const log_record& record, std::uint64_t units, std::uint64_t of_transaction);
    /// A record of this line waits for more stores of its transaction.
    void begin_merging(address line) { lines_[line.value].merging += 1; }
    bool is_merging(address line) const {
        const auto found = lines_.find(line.value);
        return found != lines_.end() && found->second.merging != 0;
    }
    /// A line of the log that waits in the write-combining buffer for its other half.
    struct partial_line {
        address place{};
        time since{};
    };
    void note_combined(address place, std::uint64_t bytes, time at);
    std::optional<partial_line> partial{};

    // What is durable.
    void note_durable(const line_write& what, time at);
    /// The controller has the line now. When may it go; `never`: not before the log is durable up to its records.
    time line_leaves(address line);
    bool may_go(address line) const;
    /// The line is home. False: before a record of it was durable.
    bool line_is_home(address line);

    // Room.
    /// Heads to come.
    struct freed_part {
        position to = 0;
        time at{};
    };
    const std::deque<freed_part>& freed() const noexcept { return freed_; }
    bool may_move_head(position to) const { return to > head_to_come(); }
    /// From `at` on the head is there.
    void free(position to, time at);
    void take_freed() {
        head_ = std::max(head_, freed_.front().to);
        freed_.pop_front();
    }
    /// How many records that recovery may need go when the head is moved without asking.
    std::uint64_t overwrite(position to);

private:
    struct line_facts {
        position newest = 0;  ///< behind the newest record
        position home = 0;    ///< the same of what the NVRAM has
        std::deque<position> leaving{};  ///< of what the controller has accepted, in order
        std::uint32_t merging = 0;       ///< records that wait for more stores to it, of one transaction each
    };
    /// What a place in the ring has.
    struct slot {
        position appended = 0;  ///< and one more; 0: nothing
        position before = 0;    ///< of the lap before, if that is not durable yet
        position durable = 0;
        address line{};
        std::uint64_t transaction = 0;
    };
    bool is_needed(const slot& record) const;

    std::uint32_t number_;
    log_ring ring_;
    std::vector<slot> slots_;
    position tail_ = 0, head_ = 0;
    position durable_ = 0;  ///< all before it is durable
    time durable_at_{};
    std::deque<freed_part> freed_{};
    std::uint64_t last_number_ = 0;
    std::deque<position> committed_at_{};  ///< by number, from `first_number_`: behind the commit record
    std::uint64_t first_number_ = 1;
    std::unordered_map<std::uint64_t, line_facts> lines_{};
};

}  // namespace holdfast::sim
