// A program with an atomic block: the flags and the runtime come from the installation.
#include <holdfast/itm/itm.hpp>

static long count = 0;

int main() {
    for (int each = 0; each < 10; ++each) __transaction_atomic {
            count += 1;
            if (count > 5) HOLDFAST_CANCEL;
        }
    return count == 5 ? 0 : 1;
}
