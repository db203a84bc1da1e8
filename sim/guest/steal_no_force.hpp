// Steal but no force, by software: one fence for each transaction, and no line is written back in it.
//
// store:  1. Keep the new value in the write set, where loads find it.
// end:    2. Wait for room in the log, which the pacer makes, and draw a sequence number.
//         3. Stream the write set, and the mark that commits it, with the number.
//         4. Fence: the transaction is durable. This is the only one. It also waits for the lines that the pacer wrote
//            back behind the transaction before, and for the log's head if it moves.
//         5. Store the new values. They stay in the caches, and may leave them at any time.
//         6. Give the lines to the pacer, which brings older ones home: home_pacer.hpp.
//
// Why stores wait for the fence. Streamed records wait in write-combining buffers and queues. A store in place is in a
// line that may leave the caches earlier: evicted, or written back by another thread for a word of its own. Nothing can
// undo it then if one fence stands behind all records, whatever they have: an old value that is not durable is none.
// Storing in place at once takes a fence for each store, or hardware that holds the line. So stores are held back until
// the records are durable, and with them what commits the transaction. All that a line has that leaves later is in the
// log: it may be stolen. Before, there is nothing to steal, and so records need no old values.
//
// Why there are sequence numbers. Records of one word may lie in the logs of two threads, both not yet home. A
// transaction draws its number while its locks are held, and they are held until its fence: so of two that conflict the
// later one has the larger number, and is durable later. Recovery replays in the order of numbers.
#pragma once

#include <sim/guest/home_pacer.hpp>
#include <sim/guest/software_log.hpp>

namespace holdfast::guest {

struct steal_no_force_state {
    record_ring ring;
    home_pacer pacer;
    word_set words;

    void create(std::uint32_t thread) noexcept {
        ring.create(thread % software_logs.logs);
        pacer.create(thread);
    }
};

class steal_no_force_access : public write_set_access<steal_no_force_access, steal_no_force_state> {  // 1
public:
    using write_set_access::write_set_access;

    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const noexcept {
        write_set_access::store(home, value);
        if (planted == planted_fault::stores_at_once) *home = value;
    }
    void end() const noexcept {
        if (state_->words.size() == 0) return;
        append();
        if (planted != planted_fault::no_fence) fence_persists();  // 4
        state_->pacer.fenced();
        state_->pacer.store(state_->words);  // 5, 6
        state_->pacer.end_commit();
        state_->words.clear();
        state_->pacer.write_old_lines_back();
    }

private:
    void append() const noexcept {
        const std::uint64_t count = state_->words.size();
        constexpr std::uint64_t in_line = sim::software_records_in_line;
        const std::uint64_t number = state_->pacer.begin_commit((count + in_line) / in_line * in_line);  // 2
        if (software_logs.logs < software_logs.threads) state_->ring.seek(number);
        state_->ring.append(state_->words, software_record::commit_of(count), number);  // 3
        state_->ring.end_line();
    }
};

}  // namespace holdfast::guest
