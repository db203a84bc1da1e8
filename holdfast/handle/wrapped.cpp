#include <holdfast/handle/wrapped.hpp>

namespace holdfast::detail {

void fail_without_wrap() {
    fail(errc::misuse, "an allocation from the innermost wrap, but this thread has neither a wrap nor a transaction "
                       "open");
}

void require_in_no_pool(const void* home) {
    if (find_open_pool(home) == nullptr) return;
    fail(errc::misuse, "a store to a wrapped variable in a pool on which this thread has neither a wrap nor a "
                       "transaction open");
}

}  // namespace holdfast::detail
