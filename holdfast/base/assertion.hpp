// What must hold inside the library, whatever a program or a file does. A condition that a program or a file can break
// is no assertion but an error value.
#pragma once

// The builds that tests link: those with an observer of the seam. Sanitizer and Debug builds define it themselves.
#if defined(HOLDFAST_OBSERVED) && !defined(HOLDFAST_CHECKED)
#define HOLDFAST_CHECKED 1
#endif

namespace holdfast::detail {

/// Prints the place, what must hold (a sentence) and the condition, and aborts: the library would damage data if it
/// went on. Returns where a test has planted a fault on purpose.
[[gnu::cold, gnu::noinline]] void fail_assertion(const char* file, int line, const char* condition,
                                                 const char* what_must_hold) noexcept;

/// Set by tests that break a rule on purpose and look for what comes of it. (A fault of planted.hpp does the same.)
inline bool assertions_may_fail = false;

}  // namespace holdfast::detail

/// In every build. For what is rare, or free beside what it guards.
#define HOLDFAST_ASSERT_ALWAYS(condition, what_must_hold)                                            \
    do {                                                                                             \
        if (!(condition)) [[unlikely]]                                                               \
            ::holdfast::detail::fail_assertion(__FILE_NAME__, __LINE__, #condition, what_must_hold); \
    } while (false)

/// In builds for tests. Elsewhere it is compiled and not evaluated.
#ifdef HOLDFAST_CHECKED
#define HOLDFAST_ASSERT(condition, what_must_hold) HOLDFAST_ASSERT_ALWAYS(condition, what_must_hold)
#else
#define HOLDFAST_ASSERT(condition, what_must_hold) static_cast<void>(sizeof((condition) ? true : false))
#endif
