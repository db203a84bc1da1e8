// Blocks of mock_runtime_test.cpp.
#include <holdfast/itm/access.hpp>

#include <cstring>

namespace holdfast::itm {

void add_to_ten_words(long* words);
void copy_page(unsigned char* to, const unsigned char* from);
long read_word(const long* word);
bool store_captured(long* word, long first, long second);

void add_to_ten_words(long* words) {
    __transaction_atomic {
        for (int each = 0; each < 10; ++each) words[each] += 1;
    }
}

void copy_page(unsigned char* to, const unsigned char* from) {
    __transaction_atomic { std::memcpy(to, from, 4096); }
}

long read_word(const long* word) {
    long value;
    __transaction_atomic { value = *word; }
    return value;
}

/// The caller does not inline it: what the function captured is in its memory.
[[gnu::noinline]] bool run_in_block(const auto& f) { return itm_access().atomically(f); }

bool store_captured(long* word, long first, long second) {
    return run_in_block([=] { *word = first + second; });
}

}  // namespace holdfast::itm
