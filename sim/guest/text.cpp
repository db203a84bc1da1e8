#include <sim/guest/text.hpp>

namespace holdfast::guest {

line& line::add(const char* text) noexcept {
    while (*text != 0 && length_ + 1 < sizeof text_) text_[length_++] = *text++;
    return *this;
}

line& line::add_decimal(std::uint64_t value) noexcept {
    char digits[21];
    char* at = digits + 20;
    *at = 0;
    do {
        *--at = static_cast<char>('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return add(at);
}

line& line::add_hexadecimal(std::uint64_t value) noexcept {
    char digits[17];
    for (int i = 15; i >= 0; --i, value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
    digits[16] = 0;
    return add(digits);
}

void line::write() noexcept {
    text_[length_++] = '\n';
    call_system(64, 1, reinterpret_cast<long>(text_), static_cast<long>(length_));
    length_ = 0;
}

}  // namespace holdfast::guest
