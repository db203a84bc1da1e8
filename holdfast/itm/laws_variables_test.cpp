// Laws of the variables of a function that has a block: as they were, behind a cancel and at each new attempt. Compiled
// at each level of optimization; HOLDFAST_ITM_LEVEL is the level.
#include <holdfast/itm/itm.hpp>
#include <holdfast/itm/laws_test.hpp>

extern "C" [[noreturn, gnu::transaction_pure]] void _ITM_abortTransaction(unsigned why);

namespace holdfast::itm {
namespace {

struct pair_of_sizes {
    int number;
    float unused;
    long wide;
    char last;
};
struct six_words {
    long at[6];
};
union shared_bytes {
    long whole;
    double real;
    int halves[2];
};

long shared[8];
double real;
six_words shared_six;
int attempts;

void reset() {
    for (long each = 0; each < 8; ++each) shared[each] = 10 * each;
    for (long each = 0; each < 6; ++each) shared_six.at[each] = 100 + each;
    real = 2.5;
    attempts = 0;
}

/// How a block ends that `cancels`, or that restarts before it commits.
[[gnu::transaction_pure, gnu::noinline]] void restart_twice() {
    if (++attempts < 3) _ITM_abortTransaction(2);
}
#define HOLDFAST_ITM_END(cancels)     \
    if (cancels) HOLDFAST_CANCEL;     \
    restart_twice()

[[gnu::noipa]] long sum_of(six_words of) { return of.at[0] + of.at[1] + of.at[2] + of.at[5]; }
[[gnu::noipa]] long sum_of(pair_of_sizes of) { return of.number * 100 + of.last; }

[[gnu::noipa]] long store_to_array(long first, bool cancels) {
    long own[4] = {first, 1, 2, 3};
    __transaction_atomic {
        own[1] = shared[1];
        HOLDFAST_ITM_END(cancels);
    }
    return own[first & 1];
}

[[gnu::noipa]] long add_to_members(long first, bool cancels) {
    six_words own = {{first, 1, 2, 3, 4, 5}};
    __transaction_atomic {
        own.at[1] = shared[1];
        own.at[2] += shared[3];
        HOLDFAST_ITM_END(cancels);
    }
    return sum_of(own);
}

[[gnu::noipa]] long store_to_parameter(pair_of_sizes given, bool cancels) {
    __transaction_atomic {
        given.number = static_cast<int>(shared[1]);
        given.last = 2;
        shared[4] += 1;
        HOLDFAST_ITM_END(cancels);
    }
    return sum_of(given);
}

[[gnu::noipa]] long add_to_parameter(six_words given, bool cancels) {
    __transaction_atomic {
        for (int each = 0; each < 6; ++each) given.at[each] += shared_six.at[each];
        HOLDFAST_ITM_END(cancels);
    }
    return sum_of(given);
}

[[gnu::noipa]] long copy_to_variable(long first, bool cancels) {
    six_words own = {{first, 1, 2, 3, 4, 5}};
    __transaction_atomic {
        own = shared_six;
        own.at[1] += 1;
        HOLDFAST_ITM_END(cancels);
    }
    return sum_of(own);
}

[[gnu::noipa]] long pun(long first, bool cancels) {
    shared_bytes own;
    own.whole = first;
    __transaction_atomic {
        own.real = real + 1;
        own.halves[0] += 5;
        HOLDFAST_ITM_END(cancels);
    }
    return own.halves[0];
}

[[gnu::noipa]] long add_to_scalars(long first, bool cancels) {
    long sum = first, count = 0;
    __transaction_atomic {
        for (const long each : shared) {
            sum += each;
            ++count;
        }
        HOLDFAST_ITM_END(cancels);
    }
    return sum * 10 + count;
}

const char* cancel_leaves_variables() {
    reset();
    HOLDFAST_ITM_HOLDS(store_to_array(1, true) == 1);
    HOLDFAST_ITM_HOLDS(add_to_members(1, true) == 1 + 1 + 2 + 5);
    // What is left of it in the register of begin's result would be taken for that.
    for (const int number : {0, 2, 3, 16, 24})
        HOLDFAST_ITM_HOLDS(store_to_parameter({number, 1, 1, 1}, true) == number * 100 + 1 && shared[4] == 40);
    HOLDFAST_ITM_HOLDS(add_to_parameter({{1, 2, 3, 4, 5, 6}}, true) == 1 + 2 + 3 + 6);
    HOLDFAST_ITM_HOLDS(copy_to_variable(7, true) == 7 + 1 + 2 + 5);
    HOLDFAST_ITM_HOLDS(pun(7, true) == 7);
    HOLDFAST_ITM_HOLDS(add_to_scalars(7, true) == 70);
    return nullptr;
}

const char* attempt_begins_with_variables() {
    const auto again = [](long result) { return attempts = 0, result; };
    reset();
    HOLDFAST_ITM_HOLDS(again(store_to_array(1, false)) == 10);
    HOLDFAST_ITM_HOLDS(again(add_to_members(1, false)) == 1 + 10 + 32 + 5);
    for (const int number : {0, 2, 3, 16, 24})
        HOLDFAST_ITM_HOLDS(again(store_to_parameter({number, 1, 1, 1}, false)) == 1002);
    HOLDFAST_ITM_HOLDS(shared[4] == 45);
    HOLDFAST_ITM_HOLDS(again(add_to_parameter({{1, 2, 3, 4, 5, 6}}, false)) == 101 + 103 + 105 + 111);
    HOLDFAST_ITM_HOLDS(again(copy_to_variable(7, false)) == 100 + 102 + 102 + 105);
    HOLDFAST_ITM_HOLDS(again(pun(7, false)) == 5);
    shared[4] = 40;
    HOLDFAST_ITM_HOLDS(again(add_to_scalars(7, false)) == 2878);
    return nullptr;
}

}  // namespace

template <>
std::vector<law> laws_of_variables<HOLDFAST_ITM_LEVEL>() {
    return {
        {"a cancel leaves the function's variables as they were", cancel_leaves_variables},
        {"each attempt begins with the function's variables as they were", attempt_begins_with_variables, true},
    };
}

}  // namespace holdfast::itm
