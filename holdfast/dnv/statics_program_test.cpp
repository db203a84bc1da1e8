// One program in several builds: its static variables are the same, more, large ones, fewer, none, others, or in
// another order. It opens the pool that it is told, adds to each variable and prints them; the error instead, if there
// is one. With another argument it flips more bits of the second one than can be corrected.
#include <holdfast/dnv/dnv.hpp>
#include <holdfast/dnv/placement.hpp>

#include <cstdio>

#if defined(OTHER_ORDER)
#define MORE
DNV_POD static int fourth = 4;
DNV_POD static int third = 3;
DNV_POD static int second[1] = {2};
DNV_POD static long first = 1;
#elif !defined(NONE)
DNV_POD static long first = 1;
#if defined(CHANGED)
DNV_POD static int second[4] = {2};
#elif !defined(FEWER)
DNV_POD static int second[1] = {2};  // half of a word
#endif
#if defined(MORE) || defined(LARGE)
DNV_POD static int third = 3;  // the other half
#endif
#if defined(LARGE)
DNV_POD static long table[20'000] = {4};
#endif
#endif

int main(int count, char** arguments) {
    dnv_options options;
    options.bytes = 4 << 20;
    options.durability = holdfast::level::process;
    if (count < 2) return 2;
    if (auto opened = dnv_open(arguments[1], options); !opened) {
        std::printf("%s", opened.error().text().c_str());
        return 1;
    }
#if defined(NONE)
    std::printf("opened");
#else
#if !defined(FEWER)
    if (count == 3) {
        holdfast::dnv::place_of(second)->word ^= 0x0000'0F0F'0F0F'0000;
        return dnv_close() ? 0 : 1;
    }
#endif
    long found[4] = {};
    __transaction_atomic {
        found[0] = first += 10;
#if !defined(FEWER)
        found[1] = second[0] += 10;
#endif
#if defined(MORE) || defined(LARGE)
        found[2] = third += 10;
#endif
#if defined(LARGE)
        found[2] += table[19'999] += table[0];
#endif
#if defined(OTHER_ORDER)
        found[3] = fourth += 10;
#endif
    }
    std::printf("%ld %ld %ld", found[0], found[1], found[2]);
#if defined(OTHER_ORDER)
    std::printf(" %ld", found[3]);
#endif
#endif
    return dnv_close() ? 0 : 1;
}
