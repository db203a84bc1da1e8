// Blocks of mock_runtime_test.cpp.
#include <holdfast/itm/itm.hpp>

#include <cstring>

namespace holdfast::itm {

void add_to_ten_words(long* words);
void copy_page(unsigned char* to, const unsigned char* from);
long read_word(const long* word);

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

}  // namespace holdfast::itm
