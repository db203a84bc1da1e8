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
//   6. Heads move when somebody says that what is before them is home, never past the first record of a transaction
//      that is open. Scans say so (force_write_back.hpp), or the program, by log_truncate, behind line write-backs:
//      then the heads move when a quarter of a ring is left, after the controller's queue has gone to the array,
//      since a line that was written back may still wait there. Safe: an append for which there is no room waits for
//      that, and if nobody can free any the log stops there: nothing is overwritten, and the run is an error.
//      Faithful: it goes on, and is counted if it overwrote a record that recovery may need.
//   7. log_grow puts one more region behind the tail (log_ring.hpp). The link to it is durable before a record is in
//      it, since recovery would not look there.
//
// There is one log, or one for each hart, with a ring, head, tail and room of its own. They share log buffer and log
// source. Records of one word may lie in several logs, so a commit draws a number, which orders it among those of all
// harts: one that depends on another one draws later, and becomes durable later, since a commit is durable before its
// program lets go of its locks. Instant commits have no such order; settings refuse them (log_config.hpp).
// Before heads move, the number up to which all is home is durable: from then on one log may have lost the newer record
// of a word while another one still has the older one.
//
// A transaction is told by the number in its hart's register, so it may go on upon another hart; its records are in the
// log of the one that it began on.
#pragma once

#include <sim/base/result.hpp>
#include <sim/logging/log_config.hpp>
#include <sim/logging/ring_log.hpp>
#include <sim/memory/memory_system.hpp>

#include <deque>
#include <optional>
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

/// A moment: where the logs ended, and the number of the last commit.
struct log_cut {
    std::vector<ring_log::position> tails{};
    std::uint64_t commits = 0;
};

class hardware_log : public port::store_commit,
                     public port::write_back,
                     public port::persisted,
                     public port::transactions,
                     public port::log_control {
public:
    using position = ring_log::position;

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
    /// The measured phase begins: memory has what every line has, and the log is empty.
    void restart();

    // For whoever frees the rings.
    log_cut cut() const;
    /// Whether a log has less room than its `part`-th part, also when all is free that scans so far free.
    bool runs_short(std::uint64_t part) const;
    /// Whether a log may be full before time is told again; otherwise as above.
    bool is_nearly_full() const;
    /// Whether a head would move if all lines were home now: not where a transaction that is open holds them all.
    bool may_be_freed() const { return may_move_heads(cut()); }
    /// All lines stored to before the cut are home, durably, at `home`: heads move there when it is that late, or when
    /// somebody waits for room; as far as they may.
    void expect_heads(const log_cut& to, time home);

    // Of all logs together, in units.
    std::uint64_t units() const noexcept;
    std::uint64_t room() const noexcept;
    std::uint64_t appended() const noexcept;  ///< since they were created

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
    struct open_transaction {
        bool is_open = false;
        std::size_t log = 0;
        position first = no_position;
        std::uint64_t bytes = 0;   ///< of its records
        std::uint64_t number = 0;  ///< of all that ever began in its log
        transaction_id id{};
        log_record merged{};  ///< that waits for more stores to its line
    };
    static constexpr position no_position = ring_log::no_position;

    time log_store(hart_id hart, const log_record& record, time at);
    std::size_t log_number_of(hart_id hart) const;
    open_transaction& transaction_of(hart_id hart);
    ring_log& log_of(const open_transaction& of) noexcept { return logs_[of.log]; }
    time append_merged(open_transaction& of, const log_record& record, time at);
    time append(open_transaction& of, const log_record& record, time at);
    time pass_buffer(ring_log& log, const log_record& record, address place, time at);
    void stop_merging(address line, time at);
    time flush(ring_log& log, time at);
    time flush_all(time at);
    void release_held(time at);

    // Room.
    bool is_log(const port::log_region& region, std::uint64_t logs);
    void write_header(const ring_log& of, std::size_t offset, std::uint64_t value, time at);
    time wait_for_room(std::size_t log, std::uint64_t units, time at);
    position open_from(std::size_t log) const;
    position head_at(std::size_t log, const log_cut& to) const;
    bool may_move_heads(const log_cut& to) const;
    void free_truncated(time at);
    void move_heads(const log_cut& to, time at);
    void move_next_heads(time at);
    std::uint64_t room_to_come(std::size_t log) const;
    void stop_for_length(std::size_t log);
    void check_open_ones(std::size_t log);

    log_config config_;
    const port::ports* attached_ = nullptr;
    port::control_registers& registers_;
    memory_system& memory_;
    std::vector<ring_log> logs_{};  ///< one, or one of each hart
    log_cut truncated_{};           ///< the last log_truncate
    struct heads_to_come {
        log_cut to{};
        time home{};
    };
    std::deque<heads_to_come> expected_{};
    std::uint64_t commits_ = 0;     ///< numbers that were drawn
    std::deque<time> in_buffer_{};  ///< when records leave it, the last `buffer_entries`
    time last_left_{};

    std::vector<open_transaction> open_;  ///< by the numbers of their registers
    struct held_line {
        address line{};
        time since{};
    };
    void tell_held(const held_line& held, time until) const;
    std::vector<held_line> held_{};
    bool measured_ = false;
    std::optional<problem> failure_{};
    log_counters counters_{};
};

}  // namespace holdfast::sim
