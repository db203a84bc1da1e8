// Where logging hardware is attached without touching cache, memory or core: what each place tells, and how it may
// delay. All are null by default; a component asks one pointer, on the path of a store only, and nothing else.
//
// Calls arrive in the order in which the simulated machine processes them, which is nearly but not always that of
// their times: harts run a little ahead of each other. State (data, directory, queues) changes in the order of calls.
#pragma once

#include <sim/base/line.hpp>
#include <sim/base/transaction_registers.hpp>

#include <span>
#include <vector>

namespace holdfast::sim::port {

/// A store that is about to change its line in the L1; both spans are as long as the store.
struct store_event {
    hart_id hart{};
    transaction_id transaction{};  ///< captured when the store was executed, not when it drained
    bool in_transaction = false;   ///< it was open then; the id stays after a commit
    address where{};
    std::span<const std::byte> old_bytes{};
    std::span<const std::byte> new_bytes{};
    time at{};         ///< when it would take effect
    bool hit = false;  ///< the line was in this L1 and writable
};

/// (a) The commit of a store in the L1.
class store_commit {
public:
    virtual ~store_commit() = default;
    /// When the store may take effect: `event.at`, or later, and then the drain of that hart stalls until then.
    virtual time commit(const store_event& event) = 0;
};

enum class level : std::uint8_t { l1, l2, controller };
enum class reason : std::uint8_t {
    eviction,     ///< another line needs the place
    forced,       ///< force_write_back, the tag walker's
    instruction,  ///< a line write-back instruction
    taken,        ///< another core wants the line, or it bypasses the caches
    streamed,     ///< non-temporal stores, at the controller only
};

/// A line that is about to leave: an L1 towards L2, L2 towards the controller, or that the controller takes in.
struct write_back_event {
    level from{};
    std::uint32_t cache = 0;  ///< which L1, 0 elsewhere
    address line{};
    line_view bytes;
    reason why{};
    time at{};
};

/// When a write-back may go on. With `until_released` the controller, the last gate before the NVRAM, keeps it until
/// `nvram_controller::release` or until it has to press; a cache presses at once, because whoever waits for the place
/// of the line has to be told a time.
struct permission {
    time not_before{};
    bool until_released = false;
};

/// (b) Dirty lines on their way. At the caches only lines that carry changed bytes are announced.
class write_back {
public:
    virtual ~write_back() = default;
    virtual permission leave(const write_back_event& event) = 0;
    /// Someone waits for this line, which is held: its place in a cache, its entry in a full queue, or a fence. When
    /// does it go? It is released at that time; `never` is taken for `at`.
    virtual time press(address line, time at) = 0;
};

enum class source : std::uint8_t { data, log };

/// Bytes that a crash from `at` on leaves in place.
struct persist_event {
    const line_write& what;
    source from{};
    time at{};
};

/// (e) The persist point. The array's events come in order of time, once that is settled. The controller's come with
/// the acceptance, in order of that, and `at` may be a little later than the events of other harts: honour it.
class persisted {
public:
    virtual ~persisted() = default;
    virtual void became_durable(const persist_event& event) = 0;
};

/// (f) Begin and commit of transactions; the answers are when the instruction is done. The registers have the
/// transaction at both. It may commit on another hart than it began on, if its thread has changed harts.
class transactions {
public:
    virtual ~transactions() = default;
    virtual time begin(hart_id hart, transaction_id transaction, time at) = 0;
    virtual time commit(hart_id hart, transaction_id transaction, time at) = 0;
};

/// A part of the NVRAM that the software has given to the log.
struct log_region {
    address begin{};
    std::uint64_t bytes = 0;
};

/// (f) The log's library functions, which software calls for the hardware; the answers are when the instruction is
/// done. The registers have the regions already; head and tail are the hardware's, which moves them as it can: a
/// truncation may have to wait until homes are durable.
class log_control {
public:
    virtual ~log_control() = default;
    virtual time create(hart_id hart, const log_region& region, time at) = 0;
    virtual time truncate(hart_id hart, time at) = 0;
    /// One more region, for a transaction that the log is too short for.
    virtual time grow(hart_id hart, const log_region& region, time at) = 0;
};

/// (d) The second source of writes at the NVRAM controller: uncacheable, through the write-combining buffer, in the
/// order that `controller.log_order` says.
class log_source {
public:
    virtual ~log_source() = default;
    /// Takes bytes that lie in one line. Returns when they are in the buffer, later than `at` if it was full. Of lines
    /// with one number `log` those that were begun first leave the buffer first.
    virtual time append(address where, std::span<const std::byte> bytes, time at, std::uint32_t log = 0) = 0;
    /// Sends on what is in the buffer. Returns when all that was appended is at the persist point.
    virtual time flush(time at) = 0;
    /// The same of what was appended with this number.
    virtual time flush_log(std::uint32_t log, time at) = 0;
};

/// (g) The machine's time. Calls come between two instructions, never inside an access, so this is where hardware acts
/// by itself: tags may be walked here, and lines forced to memory.
class time_passing {
public:
    virtual ~time_passing() = default;
    /// Nothing will be asked for any more that happens before `at`, the least local time of all harts. Called often;
    /// during the warm-up behind each transaction, with time zero.
    virtual void reached(time at) = 0;
    /// The warm-up is over. There is still no time, so what is written now is in the image at once. When this returns,
    /// no record of the warm-up may be needed any more: the log that is measured wraps over them.
    virtual void measured_begin() = 0;
};

/// One access of the NVRAM, for timelines: what its bank did from `begin` to `end`. It changes nothing.
struct bank_event {
    address line{};
    std::uint32_t bank = 0;
    std::uint64_t row = 0;
    bool is_write = false;
    bool row_hit = false;
    time begin{}, end{};
    source from = source::data;  ///< whose write it is
    time queued{};               ///< from then to `end` it has an entry in the controller's queue
};

class bank_watch {
public:
    virtual ~bank_watch() = default;
    virtual void access(const bank_event& event) = 0;
};

/// What a cache did, for timelines. Lookups are L2's: whoever asks an L1 is told how it went. It changes nothing.
struct cache_event {
    enum class kind : std::uint8_t { hit, miss, eviction, write_back };
    kind what{};
    level where{};
    std::uint32_t cache = 0;    ///< which L1, 0 elsewhere
    bool instructions = false;  ///< an IL1
    address line{};
    time begin{}, end{};  ///< of a lookup until the line is there
};

class cache_watch {
public:
    virtual ~cache_watch() = default;
    virtual void happened(const cache_event& event) = 0;
};

/// What logging hardware did, for timelines. It changes nothing.
struct log_event {
    enum class kind : std::uint8_t { buffered, held, scanned };
    kind what{};
    address line{};            ///< that the record is of, or that is held
    std::uint64_t forced = 0;  ///< lines of a set that was scanned
    time begin{}, end{};
};

class log_watch {
public:
    virtual ~log_watch() = default;
    virtual void happened(const log_event& event) = 0;
};

/// What is attached; the machine has one of these and hands it to its components.
struct ports {
    store_commit* on_store = nullptr;
    write_back* on_write_back = nullptr;
    persisted* on_persist = nullptr;
    transactions* on_transaction = nullptr;
    log_control* on_log = nullptr;
    time_passing* on_time = nullptr;
    bank_watch* on_bank = nullptr;
    cache_watch* on_cache = nullptr;
    log_watch* on_logging = nullptr;
};

/// (f) The registers that logging hardware reads and writes: the transaction of each hart, head and tail of the log.
class control_registers {
public:
    control_registers(std::uint32_t harts, const ports& attached) : current_(harts), attached_(attached) {}

    /// Whether a tx_begin may be executed, or has to be tried again later: 256 transactions are active.
    bool may_begin(hart_id hart) const noexcept { return current_.may_begin(hart); }
    /// What tx_begin and tx_commit do; each returns when the instruction is done. Requires: may_begin.
    time begin(hart_id hart, transaction_id transaction, time at) {
        current_.begin(hart, transaction);
        return attached_.on_transaction ? attached_.on_transaction->begin(hart, transaction, at) : at;
    }
    time commit(hart_id hart, time at) {
        if (attached_.on_transaction) at = attached_.on_transaction->commit(hart, transaction(hart), at);
        current_.commit(hart);
        return at;
    }
    /// What a change of threads on a hart does with the register; see transaction_registers.
    std::uint64_t save(hart_id hart) noexcept { return current_.save(hart); }
    bool restore(hart_id hart, std::uint64_t saved) noexcept { return current_.restore(hart, saved); }
    const transaction_registers& transactions() const noexcept { return current_; }
    /// As another machine had them, and hardware is told of what is open.
    void take_over(const transaction_registers& others, time at) {
        current_.take_over(others);
        for (std::uint32_t hart = 0; hart < current_.harts(); ++hart)
            if (in_transaction({hart}) && attached_.on_transaction)
                attached_.on_transaction->begin({hart}, transaction({hart}), at);
    }

    /// What a store captures when it is executed.
    transaction_id transaction(hart_id hart) const { return current_.of(hart).id; }
    bool in_transaction(hart_id hart) const { return current_.of(hart).open; }
    /// What hardware tells the hart's open transaction by.
    std::uint8_t active_number(hart_id hart) const { return current_.of(hart).active; }

    /// log_create, log_truncate and log_grow. On a machine without a log nothing is written, so the tail stays where
    /// the head is, and they take no time.
    time create_log(hart_id hart, const log_region& region, time at) {
        log_regions.assign(1, region);
        log_head = log_tail = region.begin;
        active_log_region = 0;
        return attached_.on_log ? attached_.on_log->create(hart, region, at) : at;
    }
    time truncate_log(hart_id hart, time at) {
        if (attached_.on_log) return attached_.on_log->truncate(hart, at);
        log_head = log_tail;
        return at;
    }
    time grow_log(hart_id hart, const log_region& region, time at) {
        log_regions.push_back(region);
        return attached_.on_log ? attached_.on_log->grow(hart, region, at) : at;
    }

    address log_head{};
    address log_tail{};
    std::vector<log_region> log_regions{};  ///< that of log_create first, then those of log_grow
    std::size_t active_log_region = 0;      ///< which of them the newest record is in

private:
    transaction_registers current_;
    const ports& attached_;
};

}  // namespace holdfast::sim::port
