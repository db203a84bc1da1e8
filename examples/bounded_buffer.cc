// A class that the attribute makes transactional, without another change to it: the bounded buffer of "Cache-Line
// Transactions: Building Blocks for Persistent Kernel Data Structures Enabled by AspectC++", Figure 2, as printed.
//
// Woven: holdfast_add_woven_sources(target bounded_buffer.cc), docs/guide/weaving.md. Each addByte and getByte is a
// transaction, in one cache line: with the process killed or the power cut inside it there is the buffer before or the
// buffer after.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

class [[NVM::transactional]] alignas(64)
BoundedBuffer {
  static constexpr int S = 29; // buffer SIZE
  char buf[S];
  uint8_t in, out;
public:
  BoundedBuffer() : in(0), out(0) {}

  void addByte(char data) {
    if ((in+1) % S == out) { return; }
    buf[in] = data;
    in = (in + 1) % S;
  }

  char getByte() {
    if (out == in) { return 0; }
    char result = buf[out];
    out = (out + 1) % S;
    return result;
} };

int main() {
    BoundedBuffer queue;
    const char* sent = "one line, two halves";
    for (const char* each = sent; *each != 0; ++each) queue.addByte(*each);

    // The line as a crash would leave it now: byte 63 says which half is valid.
    unsigned char line[64];
    memcpy(line, &queue, sizeof line);
    printf("%zu bytes, after %zu transactions half %d is valid, in = %d\n", sizeof queue, strlen(sent), line[63] / 32,
           line[line[63] + 29]);

    char received[30] = {};
    for (char* next = received; (*next = queue.getByte()) != 0;) ++next;
    printf("%s\n", received);
    return strcmp(sent, received) == 0 ? 0 : 1;
}
