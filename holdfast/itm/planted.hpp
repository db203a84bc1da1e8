// Faults that this room's tests plant in the runtime, to prove that a test would see them. In a normal build
// `is_planted` is constant and false: nothing of them is left.
#pragma once

#include <cstddef>

namespace holdfast::itm {

#define HOLDFAST_ITM_FAULTS(X)                                                                          \
    X(nested_undone_forwards, "a nested block's stores are taken back oldest first")                    \
    X(nested_undoes_all, "a nested cancel takes back the outer block's stores, too")                    \
    X(nested_undoes_nothing, "a nested cancel leaves the nested block's stores")                        \
    X(nested_frees_kept, "what a cancelled nested block freed is freed nevertheless")                   \
    X(nested_blocks_lost, "what a cancelled nested block allocated is never given back")                \
    X(hint_misused, "a read before a write is taken for one after a write")                             \
    X(locals_not_restored, "a restart leaves local variables as the failed attempt left them")          \
    X(straddling_torn, "a value across two words is stored to the first of them only")                  \
    X(freed_at_once, "memory is freed where the block says so, not at its commit")                      \
    X(undo_actions_at_commit, "undo actions run at commit")                                             \
    X(commit_actions_backwards, "commit actions run in the wrong order")                                \
    X(cancelled_actions_kept, "commit actions of a cancelled nested block run")                         \
    X(exception_rolls_back, "a block that an exception leaves is taken back")                           \
    X(forced_unwind_commits, "a block of a cancelled thread commits what it has done")                  \
    X(handlers_let_in, "a block in a signal handler runs")                                              \
    X(uncaught_not_counted_back, "an exception that a restart drops stays counted as uncaught")         \
    X(clones_unsorted, "tables of clones are searched as if the compiler had sorted them")              \
    X(move_as_copy, "memmove copies forwards whatever overlaps")                                        \
    X(cancel_returns_run, "a cancelled block is run once more")                                         \
    X(flat_commit_ends_all, "the end of an inner block commits the outer one")                          \
    X(padding_stored, "a long double's padding is stored with it")                                      \
    X(reason_outer_ignored, "an outer cancel takes back the innermost block only")

enum class fault : unsigned char {
    nothing,
#define HOLDFAST_ITM_ENUMERATOR(name, sentence) name,
    HOLDFAST_ITM_FAULTS(HOLDFAST_ITM_ENUMERATOR)
#undef HOLDFAST_ITM_ENUMERATOR
};

#ifdef HOLDFAST_ITM_PLANTED
/// The fault that this process has now. Set it while nothing runs.
inline constinit fault fault_now = fault::nothing;
inline bool is_planted(fault which) noexcept { return fault_now == which; }
#else
constexpr bool is_planted(fault) noexcept { return false; }
#endif

}  // namespace holdfast::itm
