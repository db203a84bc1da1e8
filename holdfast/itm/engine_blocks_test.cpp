// Blocks of engine_entry_test.cpp.
#include <holdfast/itm/itm.hpp>

#include <cstring>

namespace holdfast::itm {

bool transfer(long* accounts, long amount);
void fill_page(unsigned char* page, int byte);
long* make_in_block(long value);
void count_plainly(long* counter);

bool transfer(long* accounts, long amount) {
    bool done = false;
    __transaction_atomic {
        accounts[0] -= amount;
        accounts[1] += amount;
        done = accounts[0] >= 0;
        if (!done) HOLDFAST_CANCEL;
    }
    return done;
}

void fill_page(unsigned char* page, int byte) {
    __transaction_atomic {
        std::memset(page, byte, 4096);
        std::memmove(page + 1, page, 100);
        page[0] = 1;
    }
}

long* make_in_block(long value) {
    long* made;
    __transaction_atomic { made = new long(value); }
    return made;
}

void count_plainly(long* counter) {
    __transaction_atomic { *counter += 1; }
}

}  // namespace holdfast::itm
