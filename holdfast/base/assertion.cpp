#include <holdfast/base/assertion.hpp>

#include <holdfast/base/planted.hpp>

#include <cstdio>
#include <cstdlib>

namespace holdfast::detail {

void fail_assertion(const char* file, int line, const char* condition, const char* what_must_hold) noexcept {
#ifdef HOLDFAST_OBSERVED
    if (planted_now != nullptr) return;
#endif
    if (assertions_may_fail) return;
    std::fprintf(stderr, "holdfast: %s:%d: assertion failed: %s (%s): a mistake in the library, please report it\n",
                 file, line, what_must_hold, condition);
    std::abort();
}

}  // namespace holdfast::detail
