#include "counter.hpp"

long count_to(long last, bool& turned) {
    counter here;
    for (long i = 0; i < last; ++i) here.add(1);
    turned = reinterpret_cast<const unsigned char*>(&here)[63] == (last % 2 == 0 ? 0 : 32);
    return here.get();
}
