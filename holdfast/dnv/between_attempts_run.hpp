// What a thread needed inside a transaction and could not have there: a chunk, a decision about damage, the end.
// Nothing is open and no lock is held.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/dnv/attempt.hpp>
#include <holdfast/dnv/damage_handler.hpp>
#include <holdfast/dnv/heap_run.hpp>
#include <holdfast/dnv/planted.hpp>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace holdfast::dnv {

/// In a full pool two threads may take the same blocks from each other for ever. So a transaction that has taken blocks
/// over this often takes all that a heap has, and when it could have had those of every heap there is no room.
inline constexpr unsigned patient_take_overs = 16;
inline constexpr unsigned most_take_overs = patient_take_overs + 2 * heaps;

template <class Algorithm>
std::uint64_t number_of_attempt() noexcept {
    return Algorithm::of_this_thread().number_of_attempt();
}

/// A list that another heap has too much of, or a chunk, or whatever others have.
template <class Algorithm>
void find_room(attempt& mine) noexcept {
    const std::uint64_t ended = number_of_attempt<Algorithm>();
    const unsigned of_class = std::exchange(mine.wanted_class, attempt::nothing);
    unsigned slot = most_chunks;
    const share greed = mine.take_overs_before(ended) < patient_take_overs ? share::half : share::all;
    // What a handler left in there ends the search.
    bool has_room = staged_heap<Algorithm>::take_over(of_class, share::of_plenty) || mine.problem != nullptr ||
                    (slot = the_space.acquire_chunk(of_class)) != most_chunks ||
                    staged_heap<Algorithm>::take_over(of_class, greed);
    const std::uint64_t next = number_of_attempt<Algorithm>() + 1;
    if (slot != most_chunks) {
        heap_of_this_thread().granted.push({of_class, slot});
        mine.keep_take_overs(ended, next);
    } else if (has_room) {
        has_room = mine.count_take_over(ended, next) <= most_take_overs;
    }
    mine.keep_refusals(ended, next);
    if (!has_room) mine.refuse(of_class);
}

/// Asks with nothing of the attempt left: the handler may run blocks of its own.
inline verdict ask(attempt& mine, const damage& found) noexcept {
    const bool leaves = std::exchange(mine.leaves, false);
    HOLDFAST_ASSERT(mine.problem == nullptr, "an attempt that is to be left asks nobody");
    // A handler that allocates may want what this thread holds.
    std::mutex* const held = std::exchange(mine.held, nullptr);
    if (held != nullptr) held->unlock();
    // The program may end here: who looks at the pool afterwards knows.
    const bool too_late = is_planted(planted::damage_entered_late);
    if (!too_late) note(found);
    const verdict given = ask_about(found);
    if (too_late) note(found);
    if (held != nullptr) held->lock();
    mine.held = held;
    mine.leaves = leaves;
    return given;
}

/// Stores the word, if nobody has stored there since it was found.
template <class Algorithm>
void supply(const damage& found, stm::word word) noexcept {
    auto* const at = const_cast<stm::word*>(static_cast<const stm::word*>(found.address));
    stm::atomically<Algorithm>([&] {
        Algorithm& open = Algorithm::of_this_thread();
        // Alone from here on.
        if (!open.become_irrevocable()) open.begin_again();
        const ecc::coded_word now = *place_of(at);
        if (now.word == found.word && now.code == found.code) open.store(at, word, 0xFF);
    });
    forget(found);
}

/// Returns whether the transaction runs again.
template <class Algorithm>
bool settle_attempt() noexcept {
    attempt& mine = this_attempt();
    mine.is_in_heap = false;
    if (mine.wanted_class != attempt::nothing) {
        find_room<Algorithm>(mine);
    } else {
        const std::uint64_t ended = number_of_attempt<Algorithm>();
        mine.keep_take_overs(ended, ended + 1);
    }
    if (std::exchange(mine.is_damaged, false)) {
        const damage found = mine.found;
        const verdict given = ask(mine, found);
        if (given.what == verdict::choice::supply && !found.is_of_heap) {
            supply<Algorithm>(found, given.word);
            return true;
        }
        if (!mine.leaves || given.what == verdict::choice::end) end_for(error_of(found));
        mine.problem = holdfast::detail::keep(error_of(found)).release();
    }
    if (mine.problem == nullptr) return true;
    if (!mine.leaves) end_for(*mine.problem);
    return false;
}

}  // namespace holdfast::dnv
