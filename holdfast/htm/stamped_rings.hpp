// The order of hardware commits: for each thread a ring of the transactions that it has finished, merged by stamp for
// retirement. Owns the rings, the write sets in them, the start stamps and who retires now.
//
// Protocol of a thread (steps 1 and 2 of retirement are those of stamped_rings::retire below):
//   1. room: the ring has a free place, and free pages for the largest write set of the hardware. Who waits for that
//      has no open start: it would hold back what it waits for.
//   2. announce: the clock is read, and put into the thread's start stamp by an exchange, a full fence: the transaction
//      takes its own stamp after every processor can see it.
//   3. the transaction runs, and appends its write set to the pages. Its last act is its stamp.
//   4. finish: stamp and write set are put into the ring, and the ring is filled (release). Then
//   5. withdraw: the start stamp is gone (release). Not before 4: who sees it gone looks into the ring, and must find
//      the transaction there. A try that came to nothing has this step alone.
// Of retirement, by one thread at a time:
//   6. the clock is read, before any of the next loads.
//   7. the start stamps of all threads are looked at. The bound is the smallest of them and of 6.
//   8. then, not before, it is looked how far each ring is filled.
//   9. of the transactions seen in 8 the one with the smallest stamp is retired, while it is not above the bound.
//  10. when what was retired is done with, places and pages are given back (release).
//
// Claim 1 of the paper: of two transactions that conflict, the one that commits first has the smaller stamp. At its
// stamp a hardware transaction has all its lines in its read and write sets (rtm_instructions.hpp), until it commits.
// T1 commits before T2, and both touch line X, one of them by a store. T2 cannot touch X while T1 has it: one would
// abort. Nor before: T2 has X until it commits, and T1 would touch it meanwhile. So T2 touches X after T1's commit,
// which is behind T1's stamp, and T2's stamp is behind that. The fallback has the line that all have read, and draws
// its stamp while nobody else can commit.
//
// Claim 2, with `start stamp` for the paper's startTS and the bound for its comparison with endTS: what is retired has
// the smallest stamp of all transactions that are not retired yet, finished or not. Let T be one that 9 does not see.
//   * It announced itself before 7 looked, and had not withdrawn: its stamp is above its start stamp, which bounds.
//   * It had withdrawn when 7 looked: 4 came before 5 and 8 comes after 7, so that 9 sees it. Contradiction.
//   * It announces itself after 7 looked: its stamp is drawn after that, so it is above that of 6, which bounds.
// So transactions are retired in the order of their stamps, over all retirements. A thread in the middle of a
// transaction holds back what is younger than its start: hence nobody waits with an open start.
//
// What hardware transactions must not meet (each costs aborts): a start stamp, which others scan, is alone in a pair of
// lines, and so is what the retirer stores to. A write set begins at a page of its own: the retirer, who loads another
// one, prefetches lines behind it, but none of the next page. Nothing here is allocated while a transaction runs.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/htm/planted.hpp>
#include <holdfast/stm/planted.hpp>
#include <holdfast/stm/registry.hpp>
#include <holdfast/stm/wait.hpp>
#include <holdfast/stm/write_log.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace holdfast::htm {

/// Where the next write set is appended.
struct log_room {
    stm::write_log::entry* first = nullptr;
    stm::write_log::entry* end = nullptr;
};

/// A transaction that has committed and is not retired. The entries are in the order of the stores.
struct finished {
    std::uint64_t stamp = 0;
    const stm::write_log::entry* first = nullptr;
    std::size_t count = 0;

    const stm::write_log::entry* begin() const noexcept { return first; }
    const stm::write_log::entry* end() const noexcept { return first + count; }
};

/// Constant-initialised. `Clock`: now() and now_before_loads(), as `hardware` has them. A ring belongs to one thread at
/// a time; retirement may be called by any thread. Nothing survives the process.
/// Source: cc-HTM, sections 3 and 4.2, with rings in place of its queue.
template <class Clock>
class stamped_rings {
public:
    using entry = stm::write_log::entry;

    static constexpr unsigned most_threads = 256;
    static constexpr std::size_t places = 256;  ///< transactions of a ring that are not retired
    static constexpr std::size_t page_entries = 4096 / sizeof(entry);
    static constexpr std::size_t pages = 256;
    static constexpr std::size_t pages_of_one = 4;  ///< more stores than the hardware follows lines

    class ring;

    constexpr stamped_rings() noexcept = default;
    stamped_rings(const stamped_rings&) = delete;
    stamped_rings& operator=(const stamped_rings&) = delete;
    /// Requires: nobody uses it any more. Write sets that are not retired are forgotten.
    ~stamped_rings();

    /// A ring for this thread, with what is left in it from the one before. nullptr: all are taken, or there is no
    /// memory.
    ring* claim() noexcept;
    /// Requires: no open start.
    static void release(ring& own) noexcept { own.taken_.store(false, std::memory_order_release); }

    /// Waits until the ring has room; `retire` is called meanwhile and retires what it can. Requires: no open start.
    template <class Retire>
    log_room make_room(ring& own, Retire&& retire);
    static void announce(ring& own) noexcept;
    static void withdraw(ring& own) noexcept { own.open_since_.store(no_start, std::memory_order_release); }
    /// The transaction with this stamp has committed. Its write set is in the room, or elsewhere; then it is `owned`,
    /// memory of malloc, and is freed behind its retirement. Requires: an open start below the stamp, and room; stamps
    /// of one ring grow. Ensures: no open start.
    static void finish(ring& own, const finished& done, void* owned = nullptr) noexcept;

    /// Retires at most `most` transactions: each(finished), in the order of their stamps, over all calls; then
    /// done(), behind which their write sets are no longer there. How many; 0 also where another thread is retiring.
    template <class Each, class Done>
    std::size_t retire(std::size_t most, Each&& each, Done&& done);
    /// Every transaction with a stamp up to this one is retired, and none with it is still to come.
    std::uint64_t retired_until() const noexcept { return retired_until_.load(std::memory_order_acquire); }
    /// How many are in rings, as far as can be seen without a fence.
    std::size_t waiting() const noexcept;

private:
    static constexpr std::uint64_t no_start = ~std::uint64_t{0};

    struct place {
        finished done;
        std::uint64_t first_page;
        void* owned;
    };

    std::uint64_t find_bound() const noexcept;
    void look_into_rings() noexcept;
    ring* oldest_within(std::uint64_t bound) noexcept;
    void give_back_places() noexcept;

    ring rings_[most_threads];
    alignas(128) std::atomic<unsigned> used_{0};  ///< rings below were claimed at some time
    alignas(128) std::atomic<bool> retiring_{false};
    std::atomic<std::uint64_t> retired_until_{0};
    std::uint64_t last_stamp_ = 0;  ///< the retirer's
};

/// Of one thread. Two lines each for what its owner, the retirer and everybody look at: the processor fetches pairs.
template <class Clock>
class stamped_rings<Clock>::ring {
    friend class stamped_rings;

    bool has_room() noexcept;
    entry* page(std::uint64_t number) const noexcept { return entries_ + number % pages * page_entries; }

    alignas(128) std::atomic<std::uint64_t> open_since_{no_start};
    std::atomic<bool> taken_{false};
    alignas(128) std::atomic<std::uint64_t> filled_{0};   ///< by the owner: transactions that it has finished, in all
    alignas(128) std::atomic<std::uint64_t> retired_{0};  ///< by the retirer: those that are retired
    std::uint64_t next_ = 0;                              ///< the retirer's: which it looks at
    std::uint64_t seen_ = 0;                              ///< the retirer's: how many there are to look at
    alignas(128) std::uint64_t next_page_ = 0;            ///< the owner's, in all
    place* places_ = nullptr;
    entry* entries_ = nullptr;
};

template <class Clock>
stamped_rings<Clock>::~stamped_rings() {
    for (ring& each : rings_) {
        for (std::uint64_t at = each.retired_; at != each.filled_; ++at) std::free(each.places_[at % places].owned);
        std::free(each.places_);
        std::free(each.entries_);
    }
}

template <class Clock>
typename stamped_rings<Clock>::ring* stamped_rings<Clock>::claim() noexcept {
    for (unsigned at = 0; at < most_threads; ++at) {
        ring& each = rings_[at];
        if (each.taken_.load(std::memory_order_relaxed)) continue;
        if (each.taken_.exchange(true, std::memory_order_acq_rel)) continue;
        if (each.entries_ == nullptr) {
            constexpr std::size_t bytes = pages * page_entries * sizeof(entry);
            each.places_ = static_cast<place*>(std::calloc(places, sizeof(place)));
            each.entries_ = static_cast<entry*>(std::aligned_alloc(4096, bytes));
            if (each.places_ == nullptr || each.entries_ == nullptr) {
                std::free(each.places_);
                std::free(each.entries_);
                each.places_ = nullptr;
                each.entries_ = nullptr;
                release(each);
                return nullptr;
            }
            // A page that is touched for the first time aborts a hardware transaction.
            std::memset(static_cast<void*>(each.entries_), 0, bytes);
        }
        unsigned used = used_.load(std::memory_order_relaxed);
        while (used <= at && !used_.compare_exchange_weak(used, at + 1, std::memory_order_seq_cst)) {
        }
        return &each;
    }
    return nullptr;
}

/// Pages of one write set follow each other: what is left at the end of the memory may be passed over.
template <class Clock>
bool stamped_rings<Clock>::ring::has_room() noexcept {
    const std::uint64_t filled = filled_.load(std::memory_order_relaxed);
    const std::uint64_t retired = retired_.load(std::memory_order_acquire);
    if (filled - retired == places) return false;
    if (pages - next_page_ % pages < pages_of_one) next_page_ += pages - next_page_ % pages;
    if (filled == retired || is_planted(fault::page_reused_early)) return true;
    return next_page_ + pages_of_one - places_[retired % places].first_page <= pages;
}

template <class Clock>
template <class Retire>
log_room stamped_rings<Clock>::make_room(ring& own, Retire&& retire) {
    HOLDFAST_ASSERT(own.open_since_.load(std::memory_order_relaxed) == no_start,
                    "who waits for room has no open start");
    for (stm::waiter wait; !own.has_room(); wait.pause()) retire();
    entry* const first = own.page(own.next_page_);
    return {first, first + pages_of_one * page_entries};
}

template <class Clock>
void stamped_rings<Clock>::announce(ring& own) noexcept {
    if (is_planted(fault::start_unannounced)) return;
    const std::uint64_t now = Clock::now();
    stm::let_others_run();
    own.open_since_.exchange(now, std::memory_order_seq_cst);
    stm::complete_fence();
    stm::let_others_run();
}

template <class Clock>
void stamped_rings<Clock>::finish(ring& own, const finished& done, void* owned) noexcept {
    HOLDFAST_ASSERT(is_planted(fault::start_unannounced) || is_planted(fault::fallback_unannounced) ||
                        own.open_since_.load(std::memory_order_relaxed) <= done.stamp,
                    "a transaction announces its start before its stamp");
    const std::uint64_t at = own.filled_.load(std::memory_order_relaxed);
    own.places_[at % places] = {done, own.next_page_, owned};
    if (owned == nullptr) own.next_page_ += (done.count + page_entries - 1) / page_entries;
    if (is_planted(fault::start_withdrawn_early)) withdraw(own);
    stm::let_others_run();
    own.filled_.store(at + 1, std::memory_order_release);
    stm::let_others_run();
    withdraw(own);
}

/// Steps 6 and 7.
template <class Clock>
std::uint64_t stamped_rings<Clock>::find_bound() const noexcept {
    std::uint64_t bound = is_planted(fault::bound_without_now) ? no_start : Clock::now_before_loads();
    const unsigned used = used_.load(std::memory_order_seq_cst);
    for (unsigned at = 0; at < used; ++at) {
        stm::let_others_run();
        const std::uint64_t since = rings_[at].open_since_.load(std::memory_order_seq_cst);
        if (since < bound) bound = since;
    }
    return bound;
}

/// Step 8. A ring that was claimed since holds nothing within the bound.
template <class Clock>
void stamped_rings<Clock>::look_into_rings() noexcept {
    const unsigned used = used_.load(std::memory_order_seq_cst);
    for (unsigned at = 0; at < used; ++at) {
        stm::let_others_run();
        rings_[at].seen_ = rings_[at].filled_.load(std::memory_order_acquire);
    }
}

template <class Clock>
typename stamped_rings<Clock>::ring* stamped_rings<Clock>::oldest_within(std::uint64_t bound) noexcept {
    ring* oldest = nullptr;
    const unsigned used = used_.load(std::memory_order_relaxed);
    for (unsigned at = 0; at < used; ++at) {
        ring& each = rings_[at];
        if (each.next_ == each.seen_) continue;
        const std::uint64_t stamp = each.places_[each.next_ % places].done.stamp;
        if (stamp > bound) continue;
        if (is_planted(fault::merged_by_ring)) return &each;
        if (oldest == nullptr || stamp < oldest->places_[oldest->next_ % places].done.stamp) oldest = &each;
    }
    return oldest;
}

template <class Clock>
void stamped_rings<Clock>::give_back_places() noexcept {
    const unsigned used = used_.load(std::memory_order_relaxed);
    for (unsigned at = 0; at < used; ++at) {
        ring& each = rings_[at];
        for (std::uint64_t one = each.retired_.load(std::memory_order_relaxed); one != each.next_; ++one) {
            std::free(each.places_[one % places].owned);
            each.places_[one % places].owned = nullptr;
        }
        each.retired_.store(each.next_, std::memory_order_release);
    }
}

template <class Clock>
template <class Each, class Done>
std::size_t stamped_rings<Clock>::retire(std::size_t most, Each&& each, Done&& done) {
    if (retiring_.exchange(true, std::memory_order_acquire)) return 0;
    if (is_planted(fault::heads_before_starts)) look_into_rings();
    const std::uint64_t bound = find_bound();
    if (!is_planted(fault::heads_before_starts)) look_into_rings();
    std::size_t count = 0;
    ring* oldest = nullptr;
    while ((oldest = oldest_within(bound)) != nullptr && count < most) {
        const finished& next = oldest->places_[oldest->next_ % places].done;
        HOLDFAST_ASSERT(next.stamp >= last_stamp_, "transactions are retired in the order of their stamps");
        last_stamp_ = next.stamp;
        each(next);
        ++oldest->next_;
        ++count;
    }
    if (count != 0) done();
    give_back_places();
    // Where the rings were not emptied up to the bound, up to the last one.
    const std::uint64_t until = oldest == nullptr ? bound : last_stamp_;
    if (until > retired_until_.load(std::memory_order_relaxed)) retired_until_.store(until, std::memory_order_release);
    retiring_.store(false, std::memory_order_release);
    return count;
}

template <class Clock>
std::size_t stamped_rings<Clock>::waiting() const noexcept {
    std::size_t count = 0;
    const unsigned used = used_.load(std::memory_order_relaxed);
    for (unsigned at = 0; at < used; ++at) {
        // In this order: what is retired meanwhile is counted rather than a number below 0 given.
        const std::uint64_t retired = rings_[at].retired_.load(std::memory_order_acquire);
        count += rings_[at].filled_.load(std::memory_order_acquire) - retired;
    }
    return count;
}

}  // namespace holdfast::htm
