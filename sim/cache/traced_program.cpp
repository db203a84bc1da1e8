// A small native program whose memory accesses are fed to the caches and to an independent simulator: scans, random
// updates of more than a last-level cache, pointers chased, unaligned copies. The same on every run.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>

namespace {

// Static, since clearing an allocation is one instruction that the tracer takes apart into its bytes.
std::uint64_t large_words[12 * 1024 * 1024 / 8], middle_words[200 * 1024 / 8], small_words[30 * 1024 / 8];
char text_bytes[400 * 1024];

std::uint64_t random_state = 88172645463325252u;

std::uint64_t next_random() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

std::uint64_t scan(std::span<const std::uint64_t> words) {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < words.size(); at += 4) sum += words[at];
    return sum;
}

void update(std::span<std::uint64_t> words, int times) {
    for (int each = 0; each < times; ++each) words[next_random() % words.size()] += 1;
}

std::uint64_t chase(std::span<std::uint64_t> words, int steps) {
    for (std::size_t at = 0; at < words.size(); ++at) words[at] = (at * 7919 + 1) % words.size();
    std::uint64_t at = 0;
    for (int step = 0; step < steps; ++step) at = words[at];
    return at;
}

void copy_around(std::span<char> text, std::size_t times) {
    for (std::size_t each = 0; each < times; ++each) {
        const std::size_t from = next_random() % (text.size() - 256), to = next_random() % (text.size() - 256);
        std::memmove(text.data() + to, text.data() + from, 100 + each % 100);
    }
}

}  // namespace

int main() {
    const std::span<std::uint64_t> large(large_words), middle(middle_words), small(small_words);
    const std::span<char> text(text_bytes);
    std::uint64_t sum = 0;
    update(large, 60'000);
    for (int round = 0; round < 4; ++round) {
        sum += scan(small) + scan(middle);
        update(middle, 20'000);
        copy_around(text, 2'000);
    }
    sum += chase(middle, 50'000) + scan(large);
    update(large, 30'000);
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
