// dnv_malloc and dnv_free: heaps of blocks of equal size in bins, with free lists in place. All their metadata is
// staged and accessed by the loads and stores of the open transaction: a roll-back takes it back, and it has codes
// where the pool has.
//
// allocate
//   1. The first block of the free list; its link, which is its first word, is the next one's address.
//   2. Else the next block of the newest chunk that was never taken.
//   3. Else a chunk that the thread has been given: the Chunk Table names it from now on.
//   4. Else the attempt ends. Between two attempts the thread takes over another heap's free list, or is given a chunk
//      (between_attempts_run.hpp), and begins again.
// free
//   1. The block goes to the head of its size's list in the thread's heap.
//
// Invariants
//   * A heap with a number above 0 belongs to one thread, which alone takes blocks from it. So a block that an open
//     transaction has allocated is known to no other one, and may be stored to at once (`stores_fresh_home`), except
//     its first word: as long as the transaction can be rolled back, the block is in the list.
//   * A block without codes has its link elsewhere (layout.hpp): what leads the heap is always corrected.
//   * Not so where the transaction itself freed the block, or where records of the log may still name its words: replay
//     would store them again.
// Source: DNV Memory, section 4.1, where sizes are powers of two. Blocks of such sizes have their links and first words
// in few sets of the caches: a list of 10^5 nodes of 144 bytes was read in 123 ns a node, and in 34 with these sizes.
#pragma once

#include <holdfast/dnv/attempt.hpp>
#include <holdfast/dnv/planted.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/dnv/thread_heap.hpp>
#include <holdfast/itm/barriers.hpp>
#include <holdfast/stm/atomically.hpp>
#include <holdfast/stm/stop.hpp>

#include <mutex>
#include <utility>

namespace holdfast::dnv {

enum class protection { as_pool, none };
/// What a heap takes over from another one: of much that it has free, half of whatever it has, or all of it.
enum class share { of_plenty, half, all };

/// The heap over an algorithm of stm/ whose home is staged. Requires of all: the algorithm is active in this thread.
template <class Algorithm>
class staged_heap {
public:
    /// nullptr: there is no room. May begin the transaction again.
    static void* allocate(Algorithm& open, std::size_t bytes, protection how) noexcept {
        if (the_space.staged == nullptr) [[unlikely]]
            stm::stop("dnv_malloc", "no pool is open: call dnv_open first");
        const unsigned of_class = class_for(bytes);
        if (of_class >= classes) [[unlikely]]
            return nullptr;
        const in_heap reading;
        const bool is_bare = how == protection::none && the_placement.is_coded;
        return allocate_of(open, heap_of_this_thread(), is_bare ? of_class + classes : of_class);
    }

    /// Requires: `block` is nullptr, or what allocate returned. Ends the program otherwise.
    static void free(Algorithm& open, void* block) noexcept {
        if (block == nullptr) return;
        const auto in = the_space.chunks.find(block);
        if (!in || !in->begins_block(block))
            stm::stop("dnv_free", "expected a block of dnv_malloc, found another address");
        const in_heap reading;
        thread_heap& heap = heap_of_this_thread();
        bin& to = the_space.bin_of(heap.number, in->which.of_class);
        store(in->link_of(block), load(&to.free));
        store(&to.free, reinterpret_cast<stm::word>(block));
        if (stores_fresh_home(heap) && !is_planted(planted::freed_block_fresh))
            heap.note_freed(block, transaction_of(open));
    }

    /// Takes over what another heap has free. Returns whether it did. Requires: the algorithm is inactive.
    static bool take_over(unsigned of_class, share wanted) noexcept;

private:
    static void* allocate_of(Algorithm& open, thread_heap& heap, unsigned of_class) noexcept {
        if (!the_space.has_bins_of(of_class)) [[unlikely]]
            return start_over(open, heap, of_class);
        bin& from = the_space.bin_of(heap.number, of_class);
        void* block = take_free(from, of_class);
        if (block == nullptr) block = take_unused(from, of_class);
        if (block == nullptr) block = take_from_grant(from, heap, of_class);
        if (block == nullptr) return start_over(open, heap, of_class);
        if (stores_fresh_home(heap) && open.may_store_to_fresh_blocks() && !heap.has_freed(block, transaction_of(open)))
            note_fresh(open, static_cast<stm::word*>(block), of_class);
        return block;
    }

    // As instrumented code does it: a nested block that is cancelled takes them back, too.
    static stm::word load(const stm::word* from) noexcept { return itm::load<Algorithm, itm::hint::none>(from); }
    static void store(stm::word* to, stm::word value) noexcept {
        itm::store<Algorithm, itm::hint::none>(to, value);
    }

    /// A fault.
    static void store_at_once(stm::word* to, stm::word value) noexcept {
        Algorithm::home_policy::store(to, value, 0xFF);
    }

    static void stays(void*, std::size_t, std::size_t) {}
    /// All but the link.
    static void note_fresh(Algorithm& open, stm::word* block, unsigned of_class) noexcept {
        const std::size_t skipped = is_unprotected(of_class) || is_planted(planted::fresh_link_stored) ? 0 : 1;
        open.note_allocated(block + skipped, block_bytes(of_class) - skipped * sizeof *block, 0, &stays);
    }

    static bool stores_fresh_home(const thread_heap& heap) noexcept {
        return heap.is_own() && (the_space.stores_fresh_home.load(std::memory_order_relaxed) ||
                                 is_planted(planted::fresh_block_not_logged));
    }
    static std::uint64_t transaction_of(const Algorithm& open) noexcept { return open.number_of_attempt(); }

    static void* take_free(bin& from, unsigned of_class) noexcept {
        const stm::word first = load(&from.free);
        if (first == 0) return nullptr;
        auto* const block = reinterpret_cast<stm::word*>(first);
        store(&from.free, load(the_space.link_of(block, of_class)));
        return block;
    }
    static void* take_unused(bin& from, unsigned of_class) noexcept {
        const stm::word next = load(&from.unused);
        if (next == load(&from.unused_end)) return nullptr;
        store(&from.unused, next + block_bytes(of_class));
        return reinterpret_cast<void*>(next);
    }
    /// The chunk of a grant that no transaction has used, this one neither.
    static void* take_from_grant(bin& from, thread_heap& heap, unsigned of_class) noexcept {
        for (std::size_t at = 0; at < heap.granted.size(); ++at) {
            const thread_heap::grant each = heap.granted[at];
            if (each.of_class != of_class) continue;
            stm::word& in_table = the_space.staged->chunks[each.slot];
            if (Algorithm::home_policy::look(&in_table).value != 0) {
                // By a transaction that has committed.
                heap.granted[at--] = heap.granted.back();
                heap.granted.pop();
                continue;
            }
            if (load(&in_table) != 0) continue;
            const auto chunk = the_space.chunks.at_slot(each.slot);
            const std::uintptr_t first = chunk->first_block;
            store(&in_table, chunk->which.word());
            if (is_planted(planted::chunk_named_at_once)) store_at_once(&in_table, chunk->which.word());
            store(&from.unused, first + block_bytes(of_class));
            store(&from.unused_end, first + chunk->blocks * block_bytes(of_class));
            return reinterpret_cast<void*>(first);
        }
        return nullptr;
    }
    static void* start_over(Algorithm& open, thread_heap& heap, unsigned of_class) noexcept {
        attempt& mine = this_attempt();
        if (mine.is_refused(of_class, open.number_of_attempt())) return nullptr;
        if (!open.irrevocable()) {
            mine.wanted_class = of_class;
            open.begin_again();
        }
        // Alone, and it cannot begin again: the pool's transaction needs nothing that others hold.
        const unsigned slot = the_space.acquire_chunk(of_class);
        if (slot == most_chunks) return nullptr;
        heap.granted.push({of_class, slot});
        return allocate_of(open, heap, of_class);
    }
    static stm::word joined(stm::word one, stm::word other, unsigned of_class) noexcept;
    static bool park_part(unsigned of_class, share wanted) noexcept;
    static void park_part_of(bin& theirs, unsigned of_class, share wanted) noexcept;
};

/// The owner keeps the first half of what was counted, if it keeps any.
template <class Algorithm>
void staged_heap<Algorithm>::park_part_of(bin& theirs, unsigned of_class, share wanted) noexcept {
    constexpr unsigned worth_it = 64;
    const auto link_of = [&](stm::word block) { return the_space.link_of(reinterpret_cast<void*>(block), of_class); };
    stm::word& parked = the_space.parked_of(of_class);
    const stm::word first = load(&theirs.free);
    unsigned counted = 0;
    for (stm::word each = first; each != 0 && counted < worth_it; ++counted)
        each = load(link_of(each));
    if (counted == 0 || (counted < worth_it && wanted == share::of_plenty) || load(&parked) != 0) return;
    stm::word* cut = &theirs.free;
    const unsigned stay = wanted == share::all ? 0 : counted / 2;
    for (unsigned kept = 0; kept < stay; ++kept) cut = link_of(load(cut));
    store(&parked, load(cut));
    if (is_planted(planted::parked_at_once)) store_at_once(&parked, load(cut));
    store(cut, 0);
}

/// Two lists as one. Takes as long as the shorter one.
template <class Algorithm>
stm::word staged_heap<Algorithm>::joined(stm::word one, stm::word other, unsigned of_class) noexcept {
    if (one == 0 || other == 0) return one | other;
    const auto link_of = [&](stm::word block) { return the_space.link_of(reinterpret_cast<void*>(block), of_class); };
    stm::word first = one, second = other;
    for (stm::word at = one, beside = other;;) {
        const stm::word next = load(link_of(at));
        if (next == 0) {
            store(link_of(at), second);
            return first;
        }
        // The other list is walked, too, in turn.
        at = std::exchange(beside, next);
        std::swap(first, second);
    }
}

template <class Algorithm>
bool staged_heap<Algorithm>::park_part(unsigned of_class, share wanted) noexcept {
    const auto is_zero = [](const stm::word& each) { return Algorithm::home_policy::look(&each).value == 0; };
    stm::word& parked = the_space.parked_of(of_class);
    const unsigned own = heap_of_this_thread().number;
    for (unsigned number = 0; number < heaps && is_zero(parked); ++number) {
        bin& theirs = the_space.bin_of(number, of_class);
        if (number == own || is_zero(theirs.free)) continue;
        stm::atomically<Algorithm>([&] {
            const in_heap reading;
            park_part_of(theirs, of_class, wanted);
        });
    }
    return !is_zero(parked);
}

/// 1. A part of another heap's list is parked, in a transaction.
/// 2. Its owner may have taken a block of it in a transaction that is still open, and store to it at once: all that are
///    open are waited for.
/// 3. What is parked comes to the thread's list. After a kill in between it is the next taker's.
/// One thread at a time, so that nobody takes what another one waits for. While a handler is asked about a damaged word
/// another thread may have its turn: what this one does next it does from the beginning of a transaction.
template <class Algorithm>
bool staged_heap<Algorithm>::take_over(unsigned of_class, share wanted) noexcept {
    if (!the_space.has_bins_of(of_class)) return false;
    const std::lock_guard guard(the_space.taking);
    const given_back_to_handlers held(the_space.taking);
    stm::word& parked = the_space.parked_of(of_class);
    if (Algorithm::home_policy::look(&parked).value == 0) {
        if (!park_part(of_class, wanted)) return false;
        if (!is_planted(planted::taken_over_unwaited)) Algorithm::wait_for_others();
    }
    bin& mine = the_space.bin_of(heap_of_this_thread().number, of_class);
    stm::atomically<Algorithm>([&] {
        // There are some blocks if the transaction wants more than those.
        const in_heap reading;
        store(&mine.free, joined(load(&mine.free), load(&parked), of_class));
        if (!is_planted(planted::taken_over_twice)) store(&parked, 0);
    });
    if (is_planted(planted::taken_over_twice)) stm::atomically<Algorithm>([&] { store(&parked, 0); });
    return true;
}

}  // namespace holdfast::dnv
