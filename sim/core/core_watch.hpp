// What the cores tell whoever looks at a run: timelines and the like. It changes nothing; who is not there costs a
// branch that is always predicted.
#pragma once

#include <sim/cache/hierarchy.hpp>
#include <sim/core/store_queue.hpp>
#include <sim/front/observer.hpp>

namespace holdfast::sim {

/// An instruction in the reorder buffer, from entering to committing.
struct instruction_event {
    hart_id hart{};
    const retired_instruction& what;
    cycle entered = 0;
    cycle issued = 0;  ///< its operands and a slot are there
    cycle result = 0;
    cycle commit = 0;
};

/// What left a store queue: it was free to go, it began to drain, it took effect.
struct drain_event {
    hart_id hart{};
    const queued_store& what;
    cycle begin = 0;
    cycle done = 0;
};

enum class l1_user : std::uint8_t { fetch, load, store, store_prefetch };

/// An access of an L1.
struct l1_event {
    hart_id hart{};
    std::uint32_t core = 0;
    l1_user by = l1_user::load;
    address where{};
    time at{};
    access how{};
};

/// Calls come in the order in which instructions are executed and stores drained, not in that of their times.
class core_watch {
public:
    virtual ~core_watch() = default;
    virtual void executed(const instruction_event& event) = 0;
    virtual void drained(const drain_event& event) = 0;
    virtual void accessed(const l1_event& event) = 0;
};

}  // namespace holdfast::sim
