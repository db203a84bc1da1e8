// The gate: what every public function on a pool checks before it touches the pool or this thread's state.
//
// A call is misuse when its pool is not there (closed, moved from, or opened before a fork), when it would take a lock
// that this thread may hold already (in a signal handler, or a close inside a transaction), and when the thread has
// lost its state because it is ending. Transactions see the last by one byte, which they look at anyway.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/pool/open_pool.hpp>

#include <cstdint>
#include <memory>

namespace holdfast::detail {

/// Whether this thread may begin a transaction. Trivially destructible: it is read after everything else of the thread
/// was destroyed.
enum class thread_stage : std::uint8_t { ready, committing, gone };
inline constinit thread_local thread_stage stage_of_thread = thread_stage::ready;

/// True once a part of this thread's state that transactions need was destroyed.
inline bool thread_is_gone() noexcept { return stage_of_thread == thread_stage::gone; }

/// The last member of everything thread_local that has a destructor: whichever of them is destroyed first ends the
/// thread's use of pools.
struct end_of_thread {
    end_of_thread() = default;
    ~end_of_thread() { stage_of_thread = thread_stage::gone; }
    end_of_thread(const end_of_thread&) = delete;
    end_of_thread& operator=(const end_of_thread&) = delete;
};

/// Makes the thread's state on lower floors, which is thus destroyed later than what is made afterwards.
void begin_thread() noexcept;

/// An engine's transaction object of this thread, as the gate knows it.
class thread_state {
public:
    thread_state(const thread_state&) = delete;
    thread_state& operator=(const thread_state&) = delete;

protected:
    /// Also makes the thread's state on lower floors, which is thus destroyed later.
    thread_state();
    ~thread_state();

private:
    friend void lose_transactions() noexcept;
    /// Drops an open transaction without touching its pool: this is a forked child.
    virtual void lose() noexcept = 0;

    thread_state* next_;
};

/// The error of a thread whose stage is not `ready`.
kept_error refused_by_stage();
/// Allocates nothing: what the signal interrupted may be an allocation.
kept_error refused_in_signal_handler() noexcept;
error refused_in_child(const open_pool& pool);
error refused_in_barrier(const open_pool& pool);
error closed_error();
error lost_in_child();

enum class inside_transaction : bool { refused, allowed };

/// The gate of functions that are no transaction. `pool` is nullptr where the handle is empty. Errors: misuse.
result<void> check_entry(const open_pool* pool, inside_transaction rule);
/// The same for functions that throw.
void require_entry(const open_pool* pool, inside_transaction rule);
/// For functions that make a pool. Errors: misuse (in a signal handler).
result<void> check_entry_without_pool();

enum class letting_go : bool { closes, abandons };

/// Closes or abandons the pool of a handle that is being released, and destroys it, where that is possible. Inside a
/// transaction on it that is rolled back, and the pool goes when it has ended. In a signal handler, or inside a line's
/// transaction, it stays open until the process ends. In a forked child nothing is written.
void let_go(std::unique_ptr<open_pool> pool, letting_go how) noexcept;
/// Whether `let_go` would end it now.
bool can_let_go(const open_pool& pool) noexcept;

}  // namespace holdfast::detail
