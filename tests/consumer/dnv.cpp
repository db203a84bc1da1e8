// A program with a static variable and a block in a pool: a second run finds what the first one left.
#include <holdfast/dnv/dnv.hpp>

DNV_POD static long* numbers;
DNV_POD static long runs = 0;

int main(int count, char** arguments) {
    dnv_options options;
    options.durability = holdfast::level::process;
    if (count != 2 || !dnv_open(arguments[1], options)) return 100;
    long run = 0, number = 0;
    __transaction_atomic {
        if (numbers == nullptr) numbers = static_cast<long*>(dnv_malloc(10 * sizeof(long)));
        numbers[runs] = runs + 10;
        number = numbers[runs == 0 ? 0 : runs - 1];
        run = ++runs;
    }
    if (!dnv_close()) return 101;
    return number == run + (run == 1 ? 9 : 8) ? static_cast<int>(run) : 102;
}
