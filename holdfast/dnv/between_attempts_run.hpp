// What a thread needed inside a transaction and could not have there: a chunk, a decision about damage, the end.
// Nothing is open and no lock is held.
#pragma once

#include <holdfast/dnv/attempt.hpp>
#include <holdfast/dnv/damage_handler.hpp>
#include <holdfast/dnv/heap_run.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace holdfast::dnv {

/// A list that another heap has too much of, or a chunk, or whatever others have.
template <class Algorithm>
void find_room(attempt& mine) noexcept {
    const unsigned of_class = std::exchange(mine.wanted_class, attempt::nothing);
    if (staged_heap<Algorithm>::take_over(of_class, false)) return;
    const unsigned slot = the_space.acquire_chunk(of_class);
    if (slot != most_chunks) {
        heap_of_this_thread().granted[of_class] = slot;
    } else if (!staged_heap<Algorithm>::take_over(of_class, true)) {
        mine.refused_class = of_class;
    }
}

/// Returns whether the transaction runs again.
template <class Algorithm>
bool settle_attempt() noexcept {
    attempt& mine = this_attempt();
    if (mine.wanted_class != attempt::nothing) find_room<Algorithm>(mine);
    if (mine.is_damaged) {
        mine.is_damaged = false;
        const damage found = mine.found;
        const verdict given = ask_about(found);
        if (given.what == verdict::choice::supply) {
            stm::atomically<Algorithm>([&] {
                // Whole, so that nothing of what is there is read.
                Algorithm::of_this_thread().store(
                    const_cast<stm::word*>(static_cast<const stm::word*>(found.address)), given.word, 0xFF);
            });
            return true;
        }
        if (mine.leaves && given.what == verdict::choice::leave) {
            mine.problem = holdfast::detail::keep(error_of(found)).release();
            return false;
        }
        end_for(error_of(found));
    }
    if (mine.problem != nullptr) {
        if (mine.leaves) return false;
        end_for(*mine.problem);
    }
    return true;
}

}  // namespace holdfast::dnv
