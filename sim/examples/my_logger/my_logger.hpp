// Logging hardware of your own, attached to the simulated machine through its ports alone: copy this and change it.
//
// An undo and redo log, after the paper on hardware logging, sections III-B (HWL), IV-A and IV-F. One rule holds it
// together: a line enters NVRAM after the log records of its stores. So the logger may hold a line back, but needs no
// order among lines and no write-back at commit.
//
//   1. A store is about to change its line (`commit(store_event)`): the old bytes, which the write-allocated line has,
//      and the new ones make a record, with the transaction's id and the address.
//   2. The record goes to the log's tail, past the caches and in order (`append`, `with_ordered_log`). The store waits
//      when the log's buffer is full.
//   3. The line changes, and may travel down the caches at any time. At the controller, the last gate before NVRAM, it
//      waits until its records are durable (`leave`, `became_durable`). The paper has no such gate: it makes the
//      log buffer so small that records leave it before a line can leave the caches.
//   4. Commit (`commit(hart_id, …)`): a commit record, and a wait until it is durable.
//   5. Recovery (`recover`): read the log from its beginning; undo what did not commit, newest record first; redo what
//      did, oldest first. The paper traces back from the tail pointer instead, and tells records apart by a torn bit.
//
// Left out: truncation. This log is as long as the run, where the paper's is circular (`log_truncate`).
// The force-write-back scan of section III-C, which frees a circular log, is `scan` in main.cpp.
#pragma once

#include <sim/cache/tag_walker.hpp>
#include <sim/memory/memory_system.hpp>

#include <map>
#include <set>

namespace my {

using namespace holdfast::sim;
using holdfast::sim::time;  // rather than the C library's

enum class record_kind : std::uint64_t { none, store, commit };

/// A line of the log. What was never written reads as zero, so `none` ends it.
struct log_record {
    record_kind kind{};
    std::uint64_t transaction = 0, where = 0, bytes = 0, old_value = 0, new_value = 0, rest[2]{};
};
static_assert(sizeof(log_record) == line_bytes, "an append lies in one line");

/// The logger is told by being derived from, one class for each port that it listens to.
class logger : public port::store_commit, public port::write_back, public port::persisted, public port::transactions,
               public port::log_control {
public:
    logger(port::ports& attached, port::control_registers& registers, memory_system& memory)
        : registers_(registers), memory_(memory) {
        attached.on_store = this;
        attached.on_write_back = this;
        attached.on_persist = this;
        attached.on_transaction = this;
        attached.on_log = this;
        // What a program of its own would ask for.
        registers.create_log({}, {memory.map().nvram_begin + (1 << 28), 1 << 30}, time{});
    }

    /// (a) A store is about to change its line: here old and new value are side by side, which is why nothing has to
    /// be loaded for the log. A later time than `event.at` refuses the store until then, and those behind it wait.
    time commit(const port::store_event& event) override {
        if (!memory_.map().is_nvram(event.where)) return event.at;
        time taken = event.at + refuse_for;
        for (std::size_t done = 0; done < event.new_bytes.size(); done += 8) {
            log_record record{record_kind::store, event.transaction.value, event.where.value + done};
            record.bytes = std::min<std::size_t>(8, event.new_bytes.size() - done);
            std::memcpy(&record.old_value, event.old_bytes.data() + done, record.bytes);
            std::memcpy(&record.new_value, event.new_bytes.data() + done, record.bytes);
            taken = append(record, taken);
        }
        needs_[event.where.line()] = appended_.size();
        return taken;
    }

    /// (b) A line is about to leave. The caches may give it away; the controller is the last gate before NVRAM, and
    /// keeps it, without stalling anyone, until `release`.
    port::permission leave(const port::write_back_event& event) override {
        const auto found = needs_.find(event.line);
        if (event.from != port::level::controller || found == needs_.end()) return {event.at, false};
        // Durable already; but with the controller as persist point "already" may be a moment ahead of this line.
        if (found->second <= durable_at_.size()) return {std::max(event.at, durable_at_[found->second - 1]), false};
        held_.insert(event.line);
        holds_ += 1;
        return {event.at, true};
    }

    /// Someone waits for a held line (a full queue, a fence): only sending on the log can help.
    time press(address line, time at) override {
        held_.erase(line);
        return memory_.nvram().flush(at);
    }

    /// (e) Bytes are where a crash leaves them. Records become durable in the order in which they were appended, so a
    /// count says which.
    void became_durable(const port::persist_event& event) override {
        if (event.from != port::source::log) return;
        durable_at_.push_back(event.at);
        for (auto each = held_.begin(); each != held_.end();) {
            const address line = *each;
            if (needs_[line] > durable_at_.size()) {
                ++each;
                continue;
            }
            each = held_.erase(each);
            memory_.nvram().release(line, event.at);
        }
    }

    /// (f) A transaction is committed when its commit record is durable: so long its tx_commit takes.
    time begin(hart_id, transaction_id, time at) override { return at; }
    time commit(hart_id, transaction_id transaction, time at) override {
        return memory_.nvram().flush(append({record_kind::commit, transaction.value}, at));
    }

    /// (f) The log's library functions. The registers have head, tail and regions already; with a ring there would be
    /// something to do here: to move the head, or the tail into another region.
    time create(hart_id, const port::log_region&, time at) override { return at; }
    time truncate(hart_id, time at) override { return at; }
    time grow(hart_id, const port::log_region&, time at) override { return at; }

    /// How much longer than necessary every store is refused: what a busy log unit would do.
    time refuse_for{};

    const std::vector<log_record>& appended() const { return appended_; }
    std::uint64_t durable() const { return durable_at_.size(); }
    std::uint64_t holds() const { return holds_; }

private:
    /// (d) The log's own way to NVRAM: in order and past the caches. It answers later than asked when its buffer is
    /// full, and that is passed on to whoever stores.
    time append(const log_record& record, time at) {
        const address tail = registers_.log_tail;
        registers_.log_tail = tail + sizeof record;
        appended_.push_back(record);
        return memory_.nvram().append(tail, std::as_bytes(std::span(&record, 1)), at);
    }

    port::control_registers& registers_;
    memory_system& memory_;
    std::vector<log_record> appended_;        // for whoever looks on; hardware would not have it
    std::vector<time> durable_at_;            // of the first, the second … record
    std::map<address, std::uint64_t> needs_;  // the number of records that must be durable before this line
    std::set<address> held_;
    std::uint64_t holds_ = 0;
};

/// Puts right what a crash left: undoes whatever did not commit, newest first, then does over again what did. Reads
/// nothing but the image, as after a crash there is nothing else. Returns how many records the log has.
inline std::size_t recover(memory_image& image, address log_begin) {
    std::vector<log_record> log;
    std::set<std::uint64_t> committed;
    for (log_record each; ; log.push_back(each)) {
        image.read_bytes(log_begin + log.size() * sizeof each, std::as_writable_bytes(std::span(&each, 1)));
        if (each.kind == record_kind::none) break;
        if (each.kind == record_kind::commit) committed.insert(each.transaction);
    }
    const auto put = [&](const log_record& each, const std::uint64_t& value) {
        if (each.kind != record_kind::store) return;
        image.write_bytes({each.where}, std::as_bytes(std::span(&value, 1)).first(each.bytes));
    };
    for (auto each = log.rbegin(); each != log.rend(); ++each) {
        if (!committed.contains(each->transaction)) put(*each, each->old_value);
    }
    for (const log_record& each : log) {
        if (committed.contains(each.transaction)) put(each, each.new_value);
    }
    return log.size();
}

/// The logger relies on it: a crash leaves a beginning of the log, so that a number says what is durable.
inline memory_config with_ordered_log(memory_config behind) {
    behind.controller.log_order = log_order::kept;
    return behind;
}

/// Caches and memory with the logger attached. The order matters: components keep a reference to `attached`.
struct logged_machine {
    explicit logged_machine(const hierarchy_config& cache = {}, const memory_config& behind = {})
        : memory(with_ordered_log(behind), attached), caches(cache, memory, attached) {}

    port::ports attached;
    memory_system memory;
    hierarchy caches;
    port::control_registers registers{8, attached};
    logger log{attached, registers, memory};
};

}  // namespace my
