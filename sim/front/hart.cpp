#include <sim/front/hart.hpp>

namespace holdfast::sim {

void stop_with(hart& at, problem reason) {
    at.stop = hart_stop::fault;
    at.reason = std::move(reason);
}

std::string hexadecimal(std::uint64_t value) {
    std::string digits;
    do {
        digits.insert(digits.begin(), "0123456789abcdef"[value & 15]);
        value >>= 4;
    } while (value != 0);
    return "0x" + digits;
}

}  // namespace holdfast::sim
