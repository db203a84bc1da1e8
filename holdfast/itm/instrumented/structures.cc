// Structures that calls in blocks take or return by value: each function's block gives what the same statements give
// without one. Prints the names of those that do not.
#include <holdfast/itm/itm.hpp>

#include <cstdio>

namespace {

struct point {
    double x, y;
};
struct three {
    long a, b, c;
};
struct five {
    long a, b, c, d, e;
};
struct mixed {
    int a, b;
    char c;
    short d;
    long e;
};
struct floats {
    float a, b, c, d;
};
struct shared_data {
    point at;
    double next[3];
    long words[8] = {11, 12, 13, 14, 15, 3, 7, 9};
    double numbers[3] = {3, 4, 5};
    float small[4] = {1, 2, 3, 4};
    five whole{1, 2, 3, 4, 5};
    mixed parts{1, 2, 3, 4, 5};
    long calls = 0;
};
shared_data all;

#define SAFE [[gnu::transaction_safe, gnu::noinline]]
SAFE double sum(point of) { return of.x * 2 + of.y; }
SAFE long sum(three of) { return of.a * 2 + of.b - of.c; }
SAFE long sum(five of) { return of.a * 2 + of.b - of.c + 3 * of.d + 7 * of.e; }
SAFE long sum(mixed of) { return of.a * 2 + of.b - of.c + 3 * of.d + 7 * of.e; }
SAFE float sum(floats of) { return of.a * 2 + of.b - of.c + 3 * of.d; }
SAFE void fill(five* to, long from) { *to = {from, from + 1, from + 2, from + 3, from + 4}; }
SAFE long sum_at(const five* of) { return of->a + of->b + of->c + of->d + of->e; }
// g++ finds out that it is pure.
SAFE point made(double x, double y) { return {x + y, y}; }
SAFE point counted(double x) { return ++all.calls, point{x, static_cast<double>(all.calls)}; }
SAFE void store_made(shared_data* to, const double* from) {
    to->at = made(from[0], from[1]);
    to->next[0] = from[2];
    to->at = counted(to->at.x);
    to->next[1] = from[1];
}

SAFE five grown(five of) { return all.calls += 1, five{of.a + of.b, of.b + 1, all.calls, of.d, of.e}; }
SAFE void add_one(point* to) { to->x += 1; }
// The statement behind a result, in a function that the block calls.
SAFE double behind_a_result(shared_data* from) {
    point own = counted(3);
    const double next = from->next[1];
    add_one(&own);
    return next + own.x;
}
struct extended {
    long double a, b;
};
SAFE long sum(extended of) { return static_cast<long>(of.a * 2 + of.b); }
struct long_one {
    long at[20];
    long_one() = default;
    [[gnu::transaction_safe]] long_one(const long_one& other) noexcept { at[0] = other.at[0]; }
};
SAFE long second_of(const long_one* of) { return of->at[1]; }

int wrong = 0;
void expect(double found, double wanted, const char* name) {
    if (found == wanted) return;
    std::printf("%s: %g instead of %g\n", name, found, wanted);
    wrong = 3;
}

// The block's own variables, stored to one by one, in pairs, whole, and by parts of several sizes.
[[gnu::noipa]] double two_members(const double* from) {
    double result;
    __transaction_atomic {
        point own;
        own.x = from[0];
        own.y = from[1];
        result = sum(own);
    }
    return result;
}
[[gnu::noipa]] long in_a_loop(const long* from) {
    long result = 0;
    __transaction_atomic {
        for (long each = 0; each < 3; ++each) {
            three own;
            own.a = from[each];
            own.b = from[each + 1];
            own.c = each;
            result += sum(own);
        }
    }
    return result;
}
[[gnu::noipa]] long copied_and_changed(const five* from, long third) {
    long result;
    __transaction_atomic {
        five own = *from;
        own.c = third;
        own.e = from->a;
        result = sum(own);
    }
    return result;
}
[[gnu::noipa]] long shared_argument(five* from) {
    long result;
    __transaction_atomic {
        from->b = 40;
        result = sum(*from);
        from->b = 2;
    }
    return result;
}
[[gnu::noipa]] long members_of_all_sizes(const mixed* from) {
    long result;
    __transaction_atomic {
        mixed own;
        own.a = from->a;
        own.b = from->b;
        own.c = from->c;
        own.d = from->d;
        own.e = from->e;
        result = sum(own) + sum(mixed{1, 2, 3, 4, 5});
    }
    return result;
}
[[gnu::noipa]] float four_floats(const float* from) {
    float result;
    __transaction_atomic { result = sum(floats{from[0], from[1], from[2], from[3]}); }
    return result;
}
[[gnu::noipa]] double result_is_argument(double x, double y) {
    double result;
    __transaction_atomic {
        point own = made(x, y);
        result = sum(own);
    }
    return result;
}
[[gnu::noipa]] long changed_parameter(five own, const long* from) {
    long result;
    __transaction_atomic {
        own.a = from[0];
        own.b = from[1];
        own.c = from[2];
        result = sum(own);
    }
    return result;
}
// Variables that may have one place on the stack.
[[gnu::noipa]] long one_after_another(const long* from, long step) {
    long result = 0, kept[5];
    __transaction_atomic {
        {
            five own;
            fill(&own, from[0]);
            result = sum_at(&own);
        }
        {
            five own;
            own.a = from[0];
            own.b = step;
            own.c = from[1];
            own.d = from[2];
            own.e = step;
            result += sum(own);
        }
        for (long each = 0; each < 5; ++each) kept[each * step % 5] = from[each];
    }
    return result * 1000 + kept[0] + 3 * kept[step] + 7 * kept[step + 1];
}

// Results that are stored to shared memory, and what follows them.
[[gnu::noipa]] double result_is_kept(shared_data* to, bool cancels) {
    __transaction_atomic {
        to->at = made(1, 2);
        to->next[2] = to->at.x;
        store_made(to, to->numbers);
        to->at = counted(to->at.x);
        to->next[2] += to->numbers[0];
        if (cancels) HOLDFAST_CANCEL;
    }
    return to->at.x + 10 * to->at.y + 100 * to->next[0] + 1000 * to->next[1] + 10000 * to->next[2];
}

// A result in a variable that was there before.
[[gnu::noipa]] double result_replaces(double x, bool cancels) {
    point own{x, 2};
    __transaction_atomic {
        own = made(7, 1);
        if (cancels) HOLDFAST_CANCEL;
    }
    return own.x * 10 + own.y;
}
[[gnu::noipa]] double result_by_pointer(point (*make)(double, double) [[gnu::transaction_safe]], bool cancels) {
    point own{4, 2};
    __transaction_atomic {
        own = make(7, 1);
        if (cancels) HOLDFAST_CANCEL;
    }
    return own.x * 10 + own.y;
}
// Results that come back in memory.
[[gnu::noipa]] long result_in_memory(five own, bool cancels) {
    __transaction_atomic {
        own = grown(grown(own));
        all.whole = own;
        if (cancels) HOLDFAST_CANCEL;
    }
    return own.a * 100 + own.b * 10 + own.c;
}
[[gnu::noipa]] double behind_a_result_in_a_function(shared_data* from) {
    double result;
    __transaction_atomic {
        from->next[1] = 40;
        result = behind_a_result(from);
    }
    return result;
}
[[gnu::noipa]] long extended_precision(long first, bool cancels) {
    extended own;
    own.a = static_cast<long double>(first & 1023);
    own.b = static_cast<long double>(first + 3 & 1023);
    long result = 0;
    __transaction_atomic {
        all.calls += 1;
        if (cancels) HOLDFAST_CANCEL;
    }
    __transaction_atomic { result = sum(own); }
    return result + static_cast<long>(own.a) + static_cast<long>(own.b);
}
// Without the plugin the compiler crashes.
#ifdef HOLDFAST_TM_PLUGIN
[[gnu::noipa]] long zeros() {
    long result;
    __transaction_atomic {
        long_one own{};
        result = second_of(&own);
    }
    return result;
}
#else
long zeros() { return 0; }
#endif

}  // namespace

int main() {
    for (int pass = 0; pass < 2; ++pass) {
        expect(two_members(all.numbers), 10, "two_members");
        expect(in_a_loop(all.words), 72 + 39 - 3, "in_a_loop");
        expect(copied_and_changed(&all.whole, 9), 2 + 2 - 9 + 12 + 7, "copied_and_changed");
        expect(shared_argument(&all.whole), 2 + 40 - 3 + 12 + 35, "shared_argument");
        expect(members_of_all_sizes(&all.parts), 96, "members_of_all_sizes");
        expect(four_floats(all.small), 2 + 2 - 3 + 12, "four_floats");
        expect(result_is_argument(1, 4), 14, "result_is_argument");
        expect(changed_parameter(all.whole, all.words), 22 + 12 - 13 + 12 + 35, "changed_parameter");
        expect(one_after_another(all.words, 2), 130 * 1000 + 11 + 3 * 12 + 7 * 15, "one_after_another");
    }
    expect(result_is_kept(&all, true), 0, "result_is_kept, and cancelled");
    expect(static_cast<double>(all.calls), 0, "the calls of a cancelled block");
    expect(result_is_kept(&all, false), 7 + 20 + 500 + 4000 + 60000, "result_is_kept");
    expect(result_replaces(1, true), 12, "result_replaces, and cancelled");
    expect(result_replaces(1, false), 81, "result_replaces");
    expect(result_by_pointer(made, true), 42, "result_by_pointer, and cancelled");
    expect(result_by_pointer(made, false), 81, "result_by_pointer");
    all.calls = 0;
#ifdef HOLDFAST_TM_PLUGIN
    expect(static_cast<double>(result_in_memory({1, 2, 3, 4, 5}, true)), 123, "result_in_memory, and cancelled");
    expect(static_cast<double>(all.whole.a + all.calls), 1, "shared memory behind a cancel");
    expect(static_cast<double>(result_in_memory({1, 2, 3, 4, 5}, false)), 642, "result_in_memory");
    expect(static_cast<double>(all.whole.a * 10 + all.whole.c), 62, "a result in memory that is shared");
#endif
    expect(behind_a_result_in_a_function(&all), 44, "behind_a_result_in_a_function");
    expect(static_cast<double>(extended_precision(5, true)), 31, "extended_precision");
    expect(static_cast<double>(zeros()), 0, "zeros");
    return wrong;
}
