// Faults that the crash explorer plants in its own build of the library, by name, to prove that it would see them. Each
// room names its own in its planted.hpp. In the normal build `is_planted` is constant and false: nothing is left.
#pragma once

namespace holdfast {

/// In which engines' code a fault is; `all` are those that log.
enum class planted_in : unsigned char {
    all,
    redo,
    undo,
    softwrap_lat,
    softwrap,
    wraps,
    cc_htm,
    steal_no_force,
    line,
    lines,
    dnv
};

struct planted_fault {
    const char* name;
    planted_in engines;
    const char* sentence;
};

/// A room's list of faults, X(name, engines, sentence), becomes constants of namespace holdfast::planted by it.
#define HOLDFAST_PLANTED_FAULT(name, engines, sentence) \
    inline constexpr planted_fault name{#name, planted_in::engines, sentence};

#ifdef HOLDFAST_OBSERVED
/// The fault that this process has now. Set it while nothing runs.
inline const planted_fault* planted_now = nullptr;
/// Where the pool is mapped, for faults that need it.
inline const void* planted_pool = nullptr;
inline bool is_planted(const planted_fault& which) noexcept { return planted_now == &which; }
#else
constexpr bool is_planted(const planted_fault&) noexcept { return false; }
#endif

}  // namespace holdfast
