// The bounded buffer of "Cache-Line Transactions: Building Blocks for Persistent Kernel Data Structures Enabled by
// AspectC++", Figures 1 and 2.
#pragma once

#include <cstdint>

namespace holdfast::workload {

inline constexpr unsigned buffer_bytes = 29;

template <class T>
using as_it_is = T;

/// `Member<T>` is what stands for a T: the T itself, a field<T>, something that takes a snapshot first. `Bytes` is
/// what holds the contents, inside or elsewhere. Holds 28 bytes, because a full buffer would look like an empty one.
template <template <class> class Member, class Bytes = Member<char>[buffer_bytes]>
struct bounded_buffer {
    Bytes bytes;
    Member<std::uint8_t> in, out;

    bool full() const { return (in + 1) % buffer_bytes == out; }
    bool empty() const { return in == out; }
    void reset() { in = out = std::uint8_t{0}; }
    void add(char byte) {
        if (full()) return;
        bytes[in] = byte;
        in = static_cast<std::uint8_t>((in + 1) % buffer_bytes);
    }
    char get() {
        if (empty()) return 0;
        const char byte = bytes[out];
        out = static_cast<std::uint8_t>((out + 1) % buffer_bytes);
        return byte;
    }
    void fill(const char* from, unsigned count) {
        for (unsigned i = 0; i < count; ++i) add(from[i]);
    }
    void drain(char* to, unsigned count) {
        for (unsigned i = 0; i < count; ++i) to[i] = get();
    }
};

/// Figure 2's.
using plain_buffer = bounded_buffer<as_it_is>;
static_assert(sizeof(plain_buffer) == 31, "fits into half a line");

}  // namespace holdfast::workload
