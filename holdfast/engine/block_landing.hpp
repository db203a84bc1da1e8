// How a conflict of an engine that isolates by itself leaves an atomic block of the compiler (itm/engine_entry.hpp): by
// a jump to the call of atomically that is around the block, and from there as an exception. Owns the places where such
// jumps land, and what the runtime of blocks learns of attempts.
//
// No exception can leave a block on its own: to the compiler a block's begin, end and barriers throw nothing, so it
// leaves out the clean-up of whatever contains blocks, up to the caller's handlers. The call of atomically is the first
// frame that is known to throw.
#pragma once

#include <holdfast/stm/checkpoint.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace holdfast::detail {

/// Why a block was left; the second result of the landing's checkpoint.
enum class block_exit : int { conflict = 1, no_memory = 2 };

/// A call of atomically whose function may contain blocks. In its frame.
struct block_landing {
    stm::checkpoint where;
    block_landing* outer;
    void* caught;       ///< exceptions in handlers when the call began
    unsigned uncaught;  ///< and those on their way
};

/// The innermost call of this thread; nullptr outside, or where the program has no blocks over such an engine.
inline constinit thread_local block_landing* innermost_landing = nullptr;

/// What the runtime of blocks is asked and told. Called in the transaction's thread.
struct block_runtime {
    void (*attempt_begins)() noexcept;
    /// All of the attempt was taken back, after a conflict; nothing is open.
    void (*attempt_was_lost)() noexcept;
    /// The open attempt has met a conflict. Does not return where a block is open, but jumps.
    void (*leave_open_block)();
};

/// Set when a program starts whose blocks may be over an engine that isolates by itself; nullptr in all others.
inline constinit const block_runtime* block_runtime_of_program = nullptr;

/// Calls run(argument) as a place where jumps land. Behind such a jump it throws transaction_conflict or
/// std::bad_alloc; frames of the call that the jump has left are gone, and none of their destructors has run.
void call_as_landing(void (*run)(void*), void* argument);

/// Jumps to `to`, whose call has not returned.
[[noreturn]] void jump_to_landing(const block_landing& to, block_exit why) noexcept;

/// Calls f, as a landing where the program needs one. Returns what f returns.
template <class F>
[[gnu::always_inline]] inline std::decay_t<std::invoke_result_t<F&>> call_with_landing(F& f) {
    using returned = std::decay_t<std::invoke_result_t<F&>>;
    if (block_runtime_of_program == nullptr) [[likely]]
        return f();
    if constexpr (std::is_void_v<returned>) {
        auto call = [&f] { f(); };
        call_as_landing([](void* each) { (*static_cast<decltype(call)*>(each))(); }, &call);
    } else {
        std::optional<returned> held;
        auto hold = [&] { held.emplace(f()); };
        call_as_landing([](void* each) { (*static_cast<decltype(hold)*>(each))(); }, &hold);
        return std::move(*held);
    }
}

/// The same as a function, for a joining call of an engine that isolates.
template <class F>
struct landing {
    explicit landing(F& called) noexcept : f(called) {}
    decltype(auto) operator()() { return call_with_landing(f); }

    F& f;
};

}  // namespace holdfast::detail
