// An Access that tells what its transactions cost besides time: how often they began, and how long threads were inside.
#pragma once

#include <bench/contest/threads.hpp>

#include <workload/access.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#ifdef HOLDFAST_TM_FLAGS
#define HOLDFAST_OUTSIDE_THE_BLOCK [[gnu::transaction_pure, gnu::noinline]]
#else
#define HOLDFAST_OUTSIDE_THE_BLOCK [[gnu::noinline]]
#endif

namespace holdfast::bench {

/// Of one thread, since it began or was reset.
struct transactions_seen {
    std::uint64_t begun = 0;
    std::uint64_t ended = 0;
    double inside_ns = 0;  ///< with one reading of the clock each
};
inline constinit thread_local transactions_seen seen_by_this_thread;

/// A call that no transaction takes back. One that the processor runs does: its attempts are not seen.
HOLDFAST_OUTSIDE_THE_BLOCK inline void note_begun() { ++seen_by_this_thread.begun; }

/// What a reading of the clock adds to what is measured with two of them.
inline double clock_reading_ns() {
    constexpr int tries = 20, readings = 200;
    double shortest_ns = 1e9;
    for (int once = 0; once < tries; ++once) {
        const auto begin = clock::now();
        for (int i = 1; i < readings; ++i) static_cast<void>(clock::now());
        shortest_ns = std::min(shortest_ns, ns_since(begin) / readings);
    }
    return shortest_ns;
}

/// `Access` with its transactions seen by each thread. Its own time is in what is measured around it.
template <workload::access Access>
class watched_access : public Access {
public:
    explicit watched_access(Access memory) : Access(memory) {}

    template <class F>
    bool atomically(F&& f) const {
        const auto begin = clock::now();
        // A copy of f, since a block loads what it has by reference with barriers (holdfast/itm/called_in_block.hpp).
        const bool committed = Access::atomically([f] {
            note_begun();
            f();
        });
        seen_by_this_thread.inside_ns += ns_since(begin);
        ++seen_by_this_thread.ended;
        return committed;
    }
};

}  // namespace holdfast::bench
