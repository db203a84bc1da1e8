// What a thread's transaction consists of besides what the algorithm knows: how deep it is nested, how to come back to
// its beginning, what a cancel or a restart has to undo.
#pragma once

#include <holdfast/itm/abi.hpp>
#include <holdfast/itm/grown.hpp>
#include <holdfast/stm/algorithm.hpp>
#include <holdfast/stm/back_off.hpp>
#include <holdfast/stm/checkpoint.hpp>

#include <cstddef>
#include <cstdint>

namespace holdfast::itm {

/// A block of memory that a transaction allocated or frees.
struct memory_block {
    void* address;
    std::size_t bytes;
    std::size_t alignment;
    stm::give_back give_back;
};

/// What runs after the end of the transaction.
struct user_action {
    void (*run)(void*);
    void* argument;
};

/// An exception object made inside. Code that made it without instrumentation says how to destroy it; what instrumented
/// code made owns nothing that a roll-back does not give back itself.
struct exception_object {
    void* object;
    void (*destroy)(void*);
    bool thrown;
};

/// Says whose value the words in front of it in the log are, as they were before a store.
struct undo_entry {
    void* home;
    std::uint32_t bytes;
    bool shared;  ///< stored through barriers; otherwise the thread's own (_ITM_L…)
};

/// How much there was of everything when a nested block began that may be cancelled.
struct nested_block {
    stm::checkpoint where;
    std::uintptr_t frames_below;
    std::uint32_t depth;
    std::size_t undo;
    std::size_t commit_actions;
    std::size_t undo_actions;
    std::size_t exceptions;
    std::size_t allocated;
    std::size_t freed;
};

/// One for each thread, constant-initialised.
struct thread_state {
    stm::checkpoint outermost;  ///< begin's assembly writes it, and relies on it being first
    std::uint32_t depth;        ///< open blocks; 0: none. begin's assembly looks at it
    bool joined;                ///< the outermost belongs to somebody else, who commits and restarts it
    bool used_lists;            ///< some list below is not empty, or something else is left to do at the end
    bool notes_stores;          ///< a nested block that may be cancelled is open
    bool wants_serial;          ///< the next attempt must be able to become irrevocable
    bool gives_back_at_exit;    ///< the lists below are released when the thread ends
    bool holds_cancellation;    ///< until the end of an irrevocable block
    int cancel_state;           ///< what the thread had before that
    std::uint32_t properties;   ///< of the outermost; kept where some blocks run in hardware
    transaction_id id;
    transaction_id last_id;
    std::uintptr_t frames_below;
    stm::back_off patience;
    grown<std::uint64_t> undo;
    grown<nested_block> nested;
    grown<user_action> commit_actions;
    grown<user_action> undo_actions;
    grown<exception_object> exceptions;
    grown<memory_block> allocated;  ///< inside nested blocks
    grown<memory_block> freed;      ///< inside nested blocks, which may be cancelled: told to the algorithm later
};
static_assert(offsetof(thread_state, outermost) == 0);

extern "C" {
/// Defined where the runtime is exported (export.hpp).
extern constinit thread_local thread_state holdfast_itm_state __attribute__((tls_model("initial-exec")));
}

inline thread_state& state() noexcept { return holdfast_itm_state; }

}  // namespace holdfast::itm
