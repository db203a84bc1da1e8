// Linked into programs with one thread that test what the compiler makes: with two threads that have had blocks, stores
// wait for the commit, as in most programs.
#include <holdfast/itm/itm.hpp>

#include <thread>

namespace {

long blocks = 0;

void have_a_block() {
    __transaction_atomic { ++blocks; }
}

[[gnu::constructor]] void begin_with_two_threads() {
    have_a_block();
    std::thread(have_a_block).join();
}

}  // namespace
