// HWL: undo and redo logging by the caches (the paper, III-B, III-D, IV-B and IV-C), attached through the ports alone.
//
//   1. A store of a transaction is about to change its line: its old and its new value make a record.
//   2. The record enters the FIFO log buffer; the store waits for a place there.
//   3. It leaves the buffer for the log's tail, past the caches and in order. A line of the log that is not full leaves
//      the write-combining buffer at the next commit, or after a time.
//   4. Its line changes, and may travel down the caches. Safe: the controller, the last gate before NVRAM, holds it
//      until the log is durable up to its newest record. Faithful: it goes, and is counted if it was too early.
//   5. tx_commit makes a commit record. Instant: it is done when that is in the buffer. Durable: when it, and all
//      before it, are at the persist point.
//   6. The head moves when somebody says that what is before it is home, never past the first record of a transaction
//      that is open. Scans say so (force_write_back.hpp), or the program, by log_truncate, behind line write-backs:
//      then the head moves when a quarter of the ring is left, after the controller's queue has gone to the array,
//      since a line that was written back may still wait there. Safe: an append for which there is no room waits for
//      that, and if nobody can free any the log stops there: nothing is overwritten, and the run is an error.
//      Faithful: it goes on, and is counted if it overwrote a record that recovery may need.
//   7. log_grow puts one more region behind the tail (log_ring.hpp). The link to it is durable before a record is in
//      it, since recovery would not look there.
// A transaction is told by the number in its hart's register, so it may go on upon another hart.
#pragma once

#include <sim/base/planted.hpp>
#include <sim/base/result.hpp>
#include <sim/logging/log_config.hpp>
#include <sim/logging/log_ring.hpp>
#include <sim/memory/memory_system.hpp>

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

namespace holdfast::sim {

struct log_counters {
    std::uint64_t records = 0;         ///< of stores
    std::uint64_t commit_records = 0;
    std::uint64_t bytes = 0;           ///< that were appended
    std::uint64_t stores_outside = 0;  ///< of NVRAM in no transaction: not logged
    time buffer_wait{};                ///< of stores and commits, for a place in the buffer
    time room_wait{};                  ///< for a place in the log
    time commit_wait{};                ///< for durability
    std::uint64_t lines_held = 0;
    std::uint64_t lines_early = 0;     ///< durable before a record of theirs
    std::uint64_t records_lost = 0;    ///< overwritten although recovery may need them
    std::uint64_t heads = 0;           ///< how often the head moved

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor&& visit) {
        visit("records", self.records);
        visit("commit_records", self.commit_records);
        visit("bytes", self.bytes);
        visit("stores_outside", self.stores_outside);
        visit("buffer_wait_ps", self.buffer_wait.picoseconds);
        visit("room_wait_ps", self.room_wait.picoseconds);
        visit("commit_wait_ps", self.commit_wait.picoseconds);
        visit("lines_held", self.lines_held);
        visit("lines_early", self.lines_early);
        visit("records_lost", self.records_lost);
        visit("heads", self.heads);
    }
};

class hardware_log : public port::store_commit,
                     public port::write_back,
                     public port::persisted,
                     public port::transactions,
                     public port::log_control {
public:
    using position = log_ring::position;

    /// Puts itself into the ports. All outlive it. The log is where log_create says, until then there is none.
    hardware_log(const log_config& config, port::ports& attached, port::control_registers& registers,
                 memory_system& memory);

    // The ports.
    time commit(const port::store_event& event) override;
    port::permission leave(const port::write_back_event& event) override;
    time press(address line, time at) override;
    void became_durable(const port::persist_event& event) override;
    time begin(hart_id hart, transaction_id transaction, time at) override;
    time commit(hart_id hart, transaction_id transaction, time at) override;
    time create(hart_id hart, const port::log_region& region, time at) override;
    time truncate(hart_id hart, time at) override;
    time grow(hart_id hart, const port::log_region& region, time at) override;

    /// Time passes: a line of the log that is not full may have waited long enough.
    void settle(time now);
    /// The measured phase begins: every line is home, and the log is empty.
    void restart();

    // For whoever frees the ring.
    position tail() const noexcept { return tail_; }
    std::uint64_t units() const noexcept { return ring_->units(); }
    /// Units that can be appended without anybody freeing some.
    std::uint64_t room() const noexcept { return ring_->units() - (tail_ - head_); }
    /// All lines stored to before `to` are home, durably, at `at`: the head moves there then, or as far as it may.
    void move_head(position to, time at);

    /// For timelines.
    void tell(const port::log_event& event) const {
        if (attached_->on_logging) attached_->on_logging->happened(event);
    }

    /// Why the log took no record any more, if it did not: a transaction is longer than it, it is too short for scans,
    /// or a region is no log. The run is void from then on.
    const std::optional<problem>& failure() const noexcept { return failure_; }
    const log_counters& counters() const noexcept { return counters_; }
    const log_config& config() const noexcept { return config_; }

private:
    struct line_facts {
        position newest = 0;  ///< behind the newest record
        position home = 0;    ///< the same of what the NVRAM has
        std::deque<position> leaving{};  ///< of what the controller has accepted, in order
        std::uint32_t merging = 0;       ///< records that wait for more stores to it, of one transaction each
        time held_since{};
    };
    /// What a place in the ring has.
    struct slot {
        position appended = 0;  ///< and one more; 0: nothing
        position before = 0;    ///< of the lap before, if that is not durable yet
        position durable = 0;
        address line{};
        std::uint64_t transaction = 0;  ///< its number, from 1
    };
    struct open_transaction {
        bool is_open = false;
        position first = no_position;
        std::uint64_t bytes = 0;   ///< of its records
        std::uint64_t number = 0;  ///< of all that ever began
        transaction_id id{};
        log_record merged{};  ///< that waits for more stores to its line
    };
    static constexpr position no_position = ~position{0};

    time log_store(hart_id hart, const log_record& record, time at);
    open_transaction& transaction_of(hart_id hart);
    time append_merged(open_transaction& of, const log_record& record, time at);
    time append(open_transaction& of, const log_record& record, time at);
    void note_appended(const log_record& record, std::uint64_t units, const open_transaction& of);
    void note_combined(address place, std::uint64_t bytes, time at);
    time flush(time at);
    bool is_log(const port::log_region& region);
    void write_head(position to, time at);
    time wait_for_room(std::uint64_t units, time at);
    position open_from() const;
    position truncated_to() const;
    void free_truncated(time at);
    void stop_for_length();
    void note_overwritten(position at);
    bool is_needed(const slot& record) const;
    void note_durable_units(address line, byte_mask mask);
    void release_held(time at);
    void tell_held(address line, time until);

    log_config config_;
    const port::ports* attached_ = nullptr;
    port::control_registers& registers_;
    memory_system& memory_;
    std::optional<log_ring> ring_{};
    std::vector<slot> slots_{};
    position tail_ = 0, head_ = 0;
    position truncated_to_ = 0;  ///< where the tail was at the last log_truncate
    position durable_ = 0;  ///< all before it is durable
    time durable_at_{};
    struct freed_part {
        position to = 0;
        time at{};
    };
    std::deque<freed_part> freed_{};  ///< heads to come
    std::deque<time> in_buffer_{};    ///< when records leave it, the last `buffer_entries`
    time last_left_{};
    /// A line of the log that waits in the write-combining buffer for its other half.
    struct partial_line {
        address place{};
        time since{};
    };
    std::optional<partial_line> partial_{};

    std::vector<open_transaction> open_;  ///< by the numbers of their registers
    std::uint64_t last_number_ = 0;
    std::deque<position> committed_at_{};  ///< by number, from `first_number_`: behind the commit record
    std::uint64_t first_number_ = 1;
    std::unordered_map<std::uint64_t, line_facts> lines_{};
    std::vector<address> held_{};
    bool measured_ = false;
    std::optional<problem> failure_{};
    log_counters counters_{};
};

}  // namespace holdfast::sim
