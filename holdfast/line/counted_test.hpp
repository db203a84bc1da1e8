// The bounded buffer of the paper's Figure 2 in a line, and without transactions.
#pragma once

#include <holdfast/line/line.hpp>

namespace holdfast::test {

struct bounded_buffer {
    static constexpr int size = 29;
    char bytes[size] = {};
    unsigned char in = 0;
    unsigned char out = 0;

    void add(char byte) {
        if ((in + 1) % size == out) return;
        bytes[in] = byte;
        in = static_cast<unsigned char>((in + 1) % size);
    }
};

void add_byte(line<bounded_buffer>& to, char byte);
void add_byte(bounded_buffer& to, char byte);

}  // namespace holdfast::test
