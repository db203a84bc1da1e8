// A program with an atomic block: the flags and the runtime come from the installation.
#include <holdfast/itm/itm.hpp>

#include <cstring>

static long count = 0;
static char from[64] = "text", to[64];

using safe_function [[gnu::transaction_safe]] = void();
[[gnu::transaction_safe, gnu::noinline]] static void copy() {
    std::memcpy(to, from, static_cast<unsigned long>(count));
}
static safe_function* volatile step = &copy;

int main() {
    for (int each = 0; each < 10; ++each) __transaction_atomic {
            count += 1;
            if (count > 5) HOLDFAST_CANCEL;
        }
    safe_function* const now = step;
    __transaction_atomic { now(); }
    return count == 5 && std::strcmp(to, "text") == 0 ? 0 : 1;
}
