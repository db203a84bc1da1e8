// Each operator that a class may have.
#include "features.hpp"

#include <utility>

namespace FEATURES {

class [[NVM::transactional]] alignas(64) operator_compound {
    int a = 40;

public:
    operator_compound& operator+=(int by) { a += by; return *this; }
    operator_compound& operator-=(int by) { a -= by; return *this; }
    operator_compound& operator*=(int by) { a *= by; return *this; }
    operator_compound& operator/=(int by) { a /= by; return *this; }
    operator_compound& operator%=(int by) { a %= by; return *this; }
    operator_compound& operator&=(int by) { a &= by; return *this; }
    operator_compound& operator|=(int by) { a |= by; return *this; }
    operator_compound& operator^=(int by) { a ^= by; return *this; }
    operator_compound& operator<<=(int by) { a <<= by; return *this; }
    operator_compound& operator>>=(int by) { a >>= by; return *this; }
    operator_compound& operator=(int to) { a = to; return *this; }
    long get() const { return a; }
};

class [[NVM::transactional]] alignas(64) operator_values {
    int a = 7;

public:
    int operator+(int by) const { return a + by; }
    int operator-(int by) const { return a - by; }
    int operator*(int by) const { return a * by; }
    int operator/(int by) const { return a / by; }
    int operator%(int by) const { return a % by; }
    int operator&(int by) const { return a & by; }
    int operator|(int by) const { return a | by; }
    int operator^(int by) const { return a ^ by; }
    int operator<<(int by) const { return a << by; }
    int operator>>(int by) const { return a >> by; }
    int operator-() const { return -a; }
    int operator+() const { return a; }
    int operator~() const { return ~a; }
    bool operator!() const { return a == 0; }
    void set(int to) { a = to; }
};

class [[NVM::transactional]] alignas(64) operator_comparisons {
    int a = 3;

public:
    bool operator==(const operator_comparisons& other) const { return a == other.a; }
    bool operator!=(const operator_comparisons& other) const { return a != other.a; }
    bool operator<(const operator_comparisons& other) const { return a < other.a; }
    bool operator>(const operator_comparisons& other) const { return other.a < a; }
    bool operator<=(const operator_comparisons& other) const { return a <= other.a; }
    bool operator>=(const operator_comparisons& other) const { return other.a <= a; }
    bool operator==(int to) const { return a == to; }
    bool operator&&(const operator_comparisons& other) const { return a != 0 && other.a != 0; }
    bool operator||(const operator_comparisons& other) const { return a != 0 || other.a != 0; }
    void set(int to) { a = to; }
};

class [[NVM::transactional]] alignas(64) operator_steps {
    short a = 5;

public:
    operator_steps& operator++() { ++a; return *this; }
    operator_steps& operator--() { --a; return *this; }
    short operator++(int) { return a++; }
    short operator--(int) { return a--; }
    long get() const { return a; }
};

class [[NVM::transactional]] alignas(64) operator_access {
    int cells[4] = {1, 2, 3, 4};
    struct part { int low, high; } both = {5, 6};

public:
    const int& operator[](int at) const { return cells[at]; }
    int operator[](char at) { return ++cells[at - 'a']; }
    const int& operator*() const { return cells[0]; }
    const part* operator->() const { return &both; }
    int operator()() { return both.high += 2; }
    int operator()(int at, int to) { return cells[at] = to; }
    int operator,(int more) { return both.low += more; }
};

class [[NVM::transactional]] alignas(64) operator_conversions {
    long a = 9;

public:
    explicit operator long() const { return a; }
    explicit operator bool() const { return a != 0; }
    explicit operator double() { return static_cast<double>(++a); }
    operator const char*() const { return a > 9 ? "more" : "less"; }
};

class [[NVM::transactional]] alignas(64) operator_assignments {
    int a = 1;
    char b = 'b';

public:
    operator_assignments() = default;
    operator_assignments(const operator_assignments&) = default;
    operator_assignments& operator=(const operator_assignments& from) { a = from.a, b = from.b; return *this; }
    void operator=(char to) { b = to; }
    operator_assignments& operator<<(int more) { a = a * 10 + more; return *this; }
    const operator_assignments& operator>>(int& into) const { into = a; return *this; }
    long get() const { return a * 1000 + b; }
};

const features::feature* operators(size_t* count) {
    using compound = operator_compound;
    using numbers = operator_values;
    using compared = operator_comparisons;
    using steps = operator_steps;
    using access = operator_access;
    using converted = operator_conversions;
    using assigned = operator_assignments;
    static const features::feature all[] = {
        {"+= -= *= /= %=", MAKE(compound),
         {STEP(compound, first, return (x += 2).get()), STEP(compound, first, return (x -= 5).get()),
          STEP(compound, first, return (x *= 3).get()), STEP(compound, first, return (x /= 2).get()),
          STEP(compound, first, return (x %= 11).get())}},
        {"&= |= ^= <<= >>= and = of a number", MAKE(compound),
         {STEP(compound, first, return (x &= 60).get()), STEP(compound, first, return (x |= 3).get()),
          STEP(compound, first, return (x ^= 9).get()), STEP(compound, first, return (x <<= 2).get()),
          STEP(compound, first, return (x >>= 1).get()), STEP(compound, second, return (y = 8).get())}},
        {"+ - * / % & | ^ << >>", MAKE(numbers),
         {STEP(numbers, reads, return x + 1 + (x - 2) * 10 + (x * 3) * 100), STEP(numbers, reads, return x / 2 + x % 4),
          STEP(numbers, first, x.set(13); return (x & 6) + (x | 16) * 100),
          STEP(numbers, reads, return (x ^ 5) + (x << 2) * 100 + (x >> 1) * 10000)}},
        {"unary - + ~ !", MAKE(numbers),
         {STEP(numbers, reads, return -x * 100 + +x), STEP(numbers, first, x.set(0); return !x + 2 * ~x)}},
        {"== != < > <= >= of objects", MAKE(compared),
         {STEP(compared, reads, return (x == y) + 2 * (x != y) + 4 * (x < y)),
          STEP(compared, first, x.set(4); return x > y),
          STEP(compared, reads, return (x <= y) + 2 * (x >= y) + 4 * (x == 4) + 8 * (x == x))}},
        {"&& and || of objects", MAKE(compared),
         {STEP(compared, first, x.set(0); return (x && y) + 2 * (x || y)),
          STEP(compared, second, y.set(0); return x || y)}},
        {"++ and -- before and behind", MAKE(steps),
         {STEP(steps, first, return (++x).get()), STEP(steps, first, return (--x).get()),
          STEP(steps, first, return x++),
          STEP(steps, first, return x--), STEP(steps, reads, return x.get())}},
        {"[] * -> () and the comma", MAKE(access),
         {STEP(access, reads, return std::as_const(x)[2] + *x * 10 + x->high * 100), STEP(access, first, return x['b']),
          STEP(access, first, return x()), STEP(access, first, return x(3, 30)), STEP(access, first, return (x, 4)),
          STEP(access, reads, return std::as_const(x)[1] + x->low)}},
        {"conversions", MAKE(converted),
         {STEP(converted, reads, const long to = static_cast<long>(x); return to),
          STEP(converted, reads, return static_cast<bool>(x)),
          STEP(converted, first, return static_cast<long>(static_cast<double>(x) * 2)),
          STEP(converted, reads, const char* to = x; return to[0])}},
        {"= of objects and of others, << and >> that read", MAKE(assigned),
         {STEP(assigned, first, x << 4; return x.get()), STEP(assigned, second, y = x; return y.get()),
          STEP(assigned, first, x = 'z'; return x.get()), STEP(assigned, reads, int into = 0; x >> into; return into),
          STEP(assigned, reads, assigned copy(x); copy = y; return copy.get() + x.get())}},
    };
    *count = sizeof all / sizeof *all;
    return all;
}

}  // namespace FEATURES
