// The bounded buffer of the paper's Figure 2, woven, with what benchmark and explorer ask of it besides.
#include <workload/woven_buffer.hpp>

#include <new>
#include <stdint.h>

namespace holdfast {
namespace workload {
namespace {

class [[NVM::transactional]] alignas(64) woven_buffer {
    static constexpr int S = 29;
    char buf[S];
    uint8_t in, out;

public:
    woven_buffer() : in(0), out(0) {}
    void reset() { in = out = 0; }

    void addByte(char data) {
        if ((in + 1) % S == out) return;
        buf[in] = data;
        in = static_cast<uint8_t>((in + 1) % S);
    }
    char getByte() {
        if (out == in) return 0;
        const char result = buf[out];
        out = static_cast<uint8_t>((out + 1) % S);
        return result;
    }

    // In one transaction: those of the bytes are part of it.
    void fill(const char* from, size_t count) {
        for (size_t i = 0; i < count; ++i) addByte(from[i]);
    }
    void drain(char* to, size_t count) {
        for (size_t i = 0; i < count; ++i) to[i] = getByte();
    }
};

woven_buffer& at(void* line) { return *static_cast<woven_buffer*>(line); }

}  // namespace

void woven_buffer_construct(void* line) { new (line) woven_buffer(); }
void woven_buffer_reset(void* line) { at(line).reset(); }
void woven_buffer_add(void* line, char byte) { at(line).addByte(byte); }
char woven_buffer_get(void* line) { return at(line).getByte(); }
void woven_buffer_fill(void* line, const char* from, size_t count) { at(line).fill(from, count); }
void woven_buffer_drain(void* line, char* to, size_t count) { at(line).drain(to, count); }

}  // namespace workload
}  // namespace holdfast
