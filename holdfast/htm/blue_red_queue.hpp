// The persistence management queue of cc-HTM ("Continuous Checkpointing of HTM Transactions in NVM", Giles, Doshi,
// Varman; sections 3 and 4.2, Algorithm 2): transactions end in any order, and retire in the order of their persistence
// timestamps. It owns, in one ring of slots that the caller provides, the Blue queue (transactions that may still get a
// stamp) and the Red queue (those that have one, a list in the order of stamps). Lock-free; all atomics are seq_cst.
//
// A transaction's id, the paper's startTS, is drawn from TxCounter; its slot is id & Mask. Retired slots of the lap
// before look like empty ones, so ids begin at the ring's size. A slot has
//   word   the id, and the state of its transaction: blue, red, logged (committed with its payload), retired;
//   stamp  the persistence timestamp (persistTS); ends: TxCounter behind the stamp (endTS); payload: logPointer;
//   link   the Red queue's next: whose link it is, the slot of the next node (the own one: none), and the flag.
//
// Protocol. Where it differs from Algorithm 2, [faults by name] are the repairs left out: blue_red_faults.hpp has
// them, explored_test.cpp and model/ show what each brings about.
//   notify_start
//   1. Read TxCounter, then TxMin. Room is there while TxCounter - TxMin < ring size, compared as signed: the counter
//      may be stale, and below a newer TxMin [unsigned_distance: turned away for ever by an empty ring].
//   2. Draw the id by compare-and-swap, from the counter that was compared. The paper adds unconditionally, and a
//      slot in use is taken [room_not_awaited]; waiting after the addition deadlocks, because the id that waits is
//      blue: none that ended after it was drawn can retire [id_before_room].
//   3. Store the word: blue. Until then the slot has the id of the lap before, which stops TxMin and the blue head:
//      the paper's empty slot does not [min_ignores_ids].
//   withdraw
//   4. Store the word: retired; then step 14. Nothing else is known of it: it has no stamp and is in no list.
//   notify_end, after the stamp
//   5. Read TxCounter: endTS. Who draws an id from endTS on draws it after this stamp, and gets a larger one: so the
//      read comes behind the stamp [end_from_start]. Store stamp and endTS.
//   6. Choose where to begin, from the newest id down to TxMin: a slot whose word is red or logged with that very id
//      [hint_not_inserted], whose stamp is not larger [hint_stamp_unchecked], whose link, read last, is its own and
//      has no flag. Then the node was in the list, and the stamp was its own, when the link was read. (With 128 not
//      retired, one thread: 53 ns a transaction, 380 from the head.) If there is none, begin at the red head.
//   7. Walk while the next stamp is not larger. What follows a node without a flag stays in the list, because only
//      the head leaves: so a link that is unchanged but for its next proves what was read of the next.
//   8. Store the own link, then exchange that of the node before, or the red head. Both carry ids: the exchange fails
//      if the node has retired, and also if its slot has a new transaction with the same next [links_without_ids: an
//      insertion behind a node that has just retired is lost]. On failure again from 7, or from 6.
//   9. Store the word: red. Not before 8: the blue head would pass, and a larger stamp retire [red_before_insertion;
//      Listing 1 has this order].
//   commit
//   10. Store payload, then the word: logged. Only then may it retire [payload_not_awaited].
//   try_retire, one thread at a time [two_retire]
//   11. Advance the blue head over words with its own id that are not blue, and over those with a larger id, whose
//       slots have gone on. A word of a smaller id stops it, however full the ring is [blue_head_ignores_ids].
//   12. Read the red head: after the blue head [red_head_first]. If it is logged and its endTS is not above the blue
//       head, no stamp is smaller: all ids below the blue head were in the list when the red head was read, and the
//       others are drawn behind this stamp. Nobody will insert in front of it any more, so what follows is never
//       undone (the paper reads the heads in the other order, and must take the flag back). Flag its link: from here
//       on nobody inserts behind it [not_flagged: such an insertion is lost]. Exchange the red head for the next; an
//       inserter that meets the flag does the same, and waits for nobody.
//   13. Retire: f(payload). Then store the word: retired. TxMin passes this id only afterwards; in the paper it does
//       so before, and the slot's next transaction is wiped out [min_before_clearing].
//   14. While the word at TxMin is retired and has that id, exchange TxMin for the next. Who stores `retired` looks
//       at TxMin afterwards, and who moves TxMin looks at the next word afterwards: of the two at least one moves on.
//
// Invariants:
//   I1. An id from TxMin to TxCounter has a slot to itself. Below TxMin all have retired.
//   I2. The list is sorted by stamps; a node leaves at the head, flagged, and its link keeps the flag until the slot
//       has another transaction.
//   I3. Blue head <= the smallest blue id, <= TxCounter.
//   I4. A thread that stands still anywhere outside try_retire keeps nobody from starting (while there is room),
//       ending or committing. A blue transaction keeps those from retiring that end after it was drawn: draw late.
//
// Memory order: all seq_cst, because the proofs of 5, 12 and 14 compare reads and writes of different words (a
// counter and a word; two heads; a word and TxMin). On x86-64 a seq_cst load is a plain one.
#pragma once

#include <holdfast/htm/blue_red_faults.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>

namespace holdfast::htm {

/// What the queue's words are in programs. A test's policy has the same members.
struct real_atomics {
    template <class T>
    using variable = std::atomic<T>;
    static constexpr bool is_planted(queue_fault) noexcept { return false; }
    static void pause() noexcept { std::this_thread::yield(); }
};

/// Retires transactions in the order of their stamps, although they end in any order. The protocol is above.
///
/// Ids are 62 bits, stamps any 64-bit numbers of which a later one is not smaller; two transactions that conflict must
/// have different ones. For each id the calls are notify_start, then either withdraw, or notify_end and commit.
///
/// Thread safety: all functions may be called by any thread at any time; those for one id follow each other.
/// Nothing here is persistent. Source: cc-HTM, Algorithm 2.
template <class Payload, class Atomics = real_atomics>
class blue_red_queue {
    template <class T>
    using variable = typename Atomics::template variable<T>;
    using index = std::size_t;

public:
    /// The place of one transaction, a cache line.
    class alignas(64) slot {
        friend blue_red_queue;
        variable<std::uint64_t> word{0};
        variable<std::uint64_t> stamp{0};
        variable<std::uint64_t> ends{0};
        variable<std::uint64_t> link{0};
        variable<Payload*> payload{nullptr};
    };

    /// How many transactions have which colour.
    struct colours {
        std::size_t blue = 0;
        std::size_t red = 0;
    };

    /// How many slots let nobody wait for room, where at most `threads` are between notify_start and commit and none
    /// starts while `backlog` are not retired: twice the sum, as a power of two. While the oldest id is blue, nothing
    /// younger retires, and there may be backlog + threads of them; when it is red, it retires behind those, and
    /// meanwhile as many more may have started. (Withdrawn ids come on top, until TxMin passes them.)
    static constexpr std::size_t ring_size(std::size_t backlog, std::size_t threads) noexcept {
        return std::bit_ceil(2 * (backlog + threads));
    }

    /// Requires: ring.size() is a power of two, at least 2; the ring is new and outlives the queue.
    explicit blue_red_queue(std::span<slot> ring) noexcept
        : slots_(ring), mask_(ring.size() - 1), tx_counter_(ring.size()), tx_min_(ring.size()),
          blue_head_(ring.size()) {
        for (index at = 0; at < ring.size(); ++at) {
            slots_[at].word.store(word_of(at, state::retired));
            slots_[at].link.store(link_of(at, at) | flagged);
        }
    }
    blue_red_queue(const blue_red_queue&) = delete;
    blue_red_queue& operator=(const blue_red_queue&) = delete;

    /// Begins a transaction: its id, the paper's startTS; none while the ring is full: then call again when something
    /// has retired. Call it as late as the stamp allows: what ends after an id was drawn does not retire before that id
    /// ends or withdraws. Software that orders its commits by locks draws at commit, so that long, read-only and
    /// aborted transactions hold nobody back.
    std::optional<std::uint64_t> notify_start() noexcept {
        if (Atomics::is_planted(queue_fault::id_before_room)) return draw_and_wait();
        std::uint64_t drawn = tx_counter_.load();
        do {
            if (!has_room(drawn, tx_min_.load())) return std::nullopt;
        } while (!tx_counter_.compare_exchange_strong(drawn, drawn + 1));
        slot_of(drawn).word.store(word_of(drawn, state::blue));
        return drawn;
    }

    /// Ends a transaction that has nothing to retire, instead of notify_end and commit.
    void withdraw(std::uint64_t id) noexcept { leave(id); }

    /// Blue becomes red. Requires: `stamp` was taken between notify_start and this call.
    void notify_end(std::uint64_t id, std::uint64_t stamp) noexcept {
        const std::uint64_t ends = Atomics::is_planted(queue_fault::end_from_start) ? id + 1 : tx_counter_.load();
        slot& own = slot_of(id);
        own.stamp.store(stamp);
        own.ends.store(ends);
        if (Atomics::is_planted(queue_fault::red_before_insertion)) own.word.store(word_of(id, state::red));
        insert(id, stamp, ends);
        own.word.store(word_of(id, state::red));
    }

    /// Lets a red transaction retire: its log record is durable. `payload` goes to try_retire's function.
    void commit(std::uint64_t id, Payload* payload) noexcept {
        slot_of(id).payload.store(payload);
        slot_of(id).word.store(word_of(id, state::logged));
    }

    /// TxMin, the paper's QueueGetMin: every transaction with a smaller id has retired, or withdrawn. It never falls.
    std::uint64_t observed_min() const noexcept { return tx_min_.load(); }

    /// Ids from TxMin to TxCounter: at least as many as are not retired, the paper's numElements.
    std::size_t span() const noexcept {
        const std::uint64_t min = tx_min_.load();
        return static_cast<std::size_t>(tx_counter_.load() - min);
    }

    /// Looks at every slot between: for figures, exact only while nothing else runs.
    colours count() const noexcept {
        colours found;
        const std::uint64_t end = tx_counter_.load();
        for (std::uint64_t id = tx_min_.load(); id < end; ++id) {
            const std::uint64_t word = slot_of(id).word.load();
            found.blue += word == word_of(id, state::blue);
            found.red += word == word_of(id, state::red) || word == word_of(id, state::logged);
        }
        return found;
    }

    /// Retires the transaction with the smallest stamp, if it is committed and no smaller stamp can come any more:
    /// calls f(payload) and returns true. False if there is none, or if another thread is in here. Calls of f follow
    /// each other in the order of stamps; what one did is visible to the next. Requires: f does not throw, nor call
    /// try_retire.
    template <class F>
    bool try_retire(F&& f) noexcept {
        if (retiring_.exchange(1) != 0 && !Atomics::is_planted(queue_fault::two_retire)) return false;
        const bool retired = retire_head(f);
        retiring_.store(0);
        return retired;
    }

private:
    enum class state : unsigned char { blue, red, logged, retired };
    /// A node of the red queue: its slot, and its link as it was read.
    struct node {
        index at;
        std::uint64_t link;
    };
    enum class outcome : unsigned char { found, inserted, again };

    /// No id: the red queue is empty.
    static constexpr std::uint64_t none = 0;
    static constexpr std::uint64_t flagged = 1;

    static std::uint64_t word_of(std::uint64_t id, state which) noexcept {
        return id << 2 | static_cast<std::uint64_t>(which);
    }
    static std::uint64_t id_of(std::uint64_t word) noexcept { return word >> 2; }
    static bool is_red(std::uint64_t id, std::uint64_t word) noexcept {
        return word == word_of(id, state::red) || word == word_of(id, state::logged);
    }
    static std::int64_t distance(std::uint64_t from, std::uint64_t to) noexcept {
        return static_cast<std::int64_t>(to - from);
    }

    index slot_index(std::uint64_t id) const noexcept { return static_cast<index>(id & mask_); }
    slot& slot_of(std::uint64_t id) const noexcept { return slots_[slot_index(id)]; }

    /// Without a flag. The owner is its id but for the bits that its slot has anyway: the next one's slot is there.
    std::uint64_t link_of(std::uint64_t owner, index next) const noexcept {
        const std::uint64_t lap = Atomics::is_planted(queue_fault::links_without_ids) ? 0 : owner & ~mask_;
        return (lap | next) << 1;
    }
    index next_of(std::uint64_t link) const noexcept { return static_cast<index>(link >> 1 & mask_); }
    /// The same owner, and no flag in either, whatever comes next.
    bool is_same_node(std::uint64_t link, std::uint64_t other) const noexcept {
        return ((link ^ other) & ~(mask_ << 1)) == 0;
    }

    bool has_room(std::uint64_t drawn, std::uint64_t min) const noexcept {
        if (Atomics::is_planted(queue_fault::room_not_awaited)) return true;
        if (Atomics::is_planted(queue_fault::unsigned_distance)) return drawn - min < slots_.size();
        return distance(min, drawn) < static_cast<std::int64_t>(slots_.size());
    }

    /// Nothing but a fault.
    std::uint64_t draw_and_wait() noexcept {
        const std::uint64_t drawn = tx_counter_.fetch_add(1);
        while (!has_room(drawn, tx_min_.load())) Atomics::pause();
        slot_of(drawn).word.store(word_of(drawn, state::blue));
        return drawn;
    }

    /// Step 6.
    std::optional<node> hint(std::uint64_t id, std::uint64_t stamp, std::uint64_t ends) const noexcept {
        const std::uint64_t min = tx_min_.load();
        for (std::uint64_t candidate = ends - 1; distance(min, candidate) >= 0; --candidate) {
            const slot& at = slot_of(candidate);
            if (Atomics::is_planted(queue_fault::hint_not_inserted)) {
                if (candidate == id || id_of(at.word.load()) != candidate) continue;
            } else if (!is_red(candidate, at.word.load())) {
                continue;
            }
            const std::uint64_t found = at.stamp.load();
            if (found > stamp && !Atomics::is_planted(queue_fault::hint_stamp_unchecked)) continue;
            const std::uint64_t link = at.link.load();
            if (is_same_node(link_of(candidate, 0), link)) return node{slot_index(candidate), link};
        }
        return std::nullopt;
    }

    /// Steps 6 to 8.
    void insert(std::uint64_t id, std::uint64_t stamp, std::uint64_t ends) noexcept {
        for (;;) {
            std::optional<node> before = hint(id, stamp, ends);
            if (!before) {
                before = node{};
                const outcome at_head = insert_at_head(id, stamp, *before);
                if (at_head == outcome::inserted) return;
                if (at_head == outcome::again) continue;
            }
            if (insert_behind(id, stamp, *before)) return;
        }
    }

    /// Steps 7 and 8 where no hint was found; the first node, if the own place is behind it.
    outcome insert_at_head(std::uint64_t id, std::uint64_t stamp, node& first) noexcept {
        std::uint64_t head = red_head_.load();
        slot& at = slot_of(head);
        if (head == none || at.stamp.load() > stamp) {
            slot_of(id).link.store(link_of(id, slot_index(head == none ? id : head)));
            return red_head_.compare_exchange_strong(head, id) ? outcome::inserted : outcome::again;
        }
        first = {slot_index(head), at.link.load()};
        if (is_same_node(link_of(head, 0), first.link)) return outcome::found;
        if (is_same_node(link_of(head, 0) | flagged, first.link)) unlink(head, first.link);
        return outcome::again;
    }

    /// Steps 7 and 8 from a node whose stamp is not larger. False if it has left the list.
    bool insert_behind(std::uint64_t id, std::uint64_t stamp, node before) noexcept {
        for (;;) {
            variable<std::uint64_t>& link = slots_[before.at].link;
            const index next = next_of(before.link);
            const bool is_last = next == before.at;
            if (!is_last && slots_[next].stamp.load() <= stamp) {
                const node behind{next, slots_[next].link.load()};
                if (!is_same_node(before.link, link.load())) return false;
                before = behind;
                continue;
            }
            slot_of(id).link.store(link_of(id, is_last ? slot_index(id) : next));
            std::uint64_t expected = before.link;
            const std::uint64_t wanted = (expected & ~(mask_ << 1)) | slot_index(id) << 1;
            if (link.compare_exchange_strong(expected, wanted)) return true;
            if (!is_same_node(before.link, expected)) return false;
            before.link = expected;
        }
    }

    /// The head leaves the list; `link` is its own, flagged. It may be gone already.
    void unlink(std::uint64_t head, std::uint64_t link) noexcept {
        const index next = next_of(link);
        const std::uint64_t second = next == slot_index(head) ? none : id_of(slots_[next].word.load());
        red_head_.compare_exchange_strong(head, second);
    }

    /// Step 11.
    std::uint64_t advance_blue_head() noexcept {
        const std::uint64_t before = blue_head_.load();
        std::uint64_t blue = before;
        for (;; ++blue) {
            const std::uint64_t word = slot_of(blue).word.load();
            const bool passes = Atomics::is_planted(queue_fault::blue_head_ignores_ids)
                                    ? is_red(id_of(word), word) || word == word_of(blue, state::retired)
                                    : word > word_of(blue, state::blue);
            if (!passes) break;
        }
        if (blue != before) blue_head_.store(blue);
        return blue;
    }

    /// Steps 11 to 14.
    template <class F>
    bool retire_head(F& f) noexcept {
        const std::uint64_t too_early = Atomics::is_planted(queue_fault::red_head_first) ? red_head_.load() : none;
        const std::uint64_t blue = advance_blue_head();
        const std::uint64_t head =
            Atomics::is_planted(queue_fault::red_head_first) ? too_early : red_head_.load();
        if (head == none) return false;
        slot& first = slot_of(head);
        const bool awaits_payload = !Atomics::is_planted(queue_fault::payload_not_awaited);
        const std::uint64_t word = first.word.load();
        if (awaits_payload ? word != word_of(head, state::logged) : !is_red(head, word)) return false;
        if (distance(first.ends.load(), blue) < 0) return false;
        const std::uint64_t link =
            Atomics::is_planted(queue_fault::not_flagged) ? first.link.load() : first.link.fetch_or(flagged);
        unlink(head, link);
        f(first.payload.load());
        if (Atomics::is_planted(queue_fault::links_without_ids)) first.link.store(link_of(head, slot_index(head)));
        if (Atomics::is_planted(queue_fault::min_before_clearing)) {
            std::uint64_t passed = head;
            tx_min_.compare_exchange_strong(passed, head + 1);
        }
        leave(head);
        return true;
    }

    /// Steps 4, 13 and 14.
    void leave(std::uint64_t id) noexcept {
        slot_of(id).word.store(word_of(id, state::retired));
        std::uint64_t min = tx_min_.load();
        while (has_left(min)) {
            if (tx_min_.compare_exchange_strong(min, min + 1)) ++min;
        }
    }
    bool has_left(std::uint64_t id) const noexcept {
        const std::uint64_t word = slot_of(id).word.load();
        if (Atomics::is_planted(queue_fault::min_ignores_ids))
            return word == word_of(id_of(word), state::retired) && id < tx_counter_.load();
        return word == word_of(id, state::retired);
    }

    const std::span<slot> slots_;
    const std::uint64_t mask_;
    alignas(64) variable<std::uint64_t> tx_counter_;   ///< the next id
    alignas(64) variable<std::uint64_t> tx_min_;       ///< the smallest id that has not left
    alignas(64) variable<std::uint64_t> red_head_{none};
    alignas(64) variable<std::uint64_t> retiring_{0};  ///< 1: a thread is in try_retire
    variable<std::uint64_t> blue_head_;                ///< for the thread that retires
};

}  // namespace holdfast::htm
