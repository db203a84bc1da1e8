// Functions of every kind, and who calls whom.
#include "features.hpp"

#include <functional>
#include <stdexcept>
#include <stdint.h>
#include <utility>

namespace FEATURES {

class [[NVM::transactional]] alignas(64) feature_helpers {
    int a = 1, b = 2;
    int both() const { return a * 10 + b; }
    void add(int more) { a += more; }

public:
    long const_inside() { a = 7; return both(); }
    long both_inside() { add(3), b = both(), add(4); return both(); }
    long recursive(int depth) { ++a; return depth == 0 ? both() : recursive(depth - 1) + b; }
    long const_inside_const() const { return both() + both(); }
};

class [[NVM::transactional]] alignas(64) feature_other {
    long value = 5;

public:
    void set(long to) { value = to; }
    long get() const { return value; }
};

class [[NVM::transactional]] alignas(64) feature_second_object {
    int a = 1, b = 1;

public:
    void set(int to) { a = to; }
    int get() const { return a; }
    long set_both(feature_second_object& other, int to) { a = to, other.set(to + 1), b = other.get(); return b; }
    long read(const feature_second_object& other) { a = other.a + other.b; return other.a; }
    bool same(const feature_second_object& other) const { return this == &other && a == other.a; }
    long read_inside(const feature_second_object& other) { a = 50, b = other.a; return b; }
    long throw_after(feature_second_object& other) { a = 99, other.set(98); throw std::runtime_error("no"); }
    long to_other_class(feature_other& other) { b = 3, other.set(b + a); return other.get(); }
};

class [[NVM::transactional]] alignas(64) feature_copies {
    int a, b;
    char tag = 'c';

public:
    feature_copies() : a(1), b(a + 1) {}
    feature_copies(int from) : feature_copies() { a = from, tag = 'i'; for (int each : {1, 2}) b += each + get(); }
    feature_copies& operator=(const feature_copies& from) {
        if (this != &from) a = from.a, b = from.b, tag = from.tag;
        return *this;
    }
    feature_copies& operator+=(int more) { a += more; return *this; }
    feature_copies& operator++() { ++a; return *this += 0; }
    int operator++(int) { const int before = a; ++*this; return before; }
    int operator[](int at) const { return at == 0 ? a : b; }
    int operator()(int more) { return a = b + more; }
    bool operator==(const feature_copies& other) const { return a == other.a && b == other.b; }
    bool operator!=(const feature_copies& other) const { return !(*this == other); }
    explicit operator bool() const { return a != 0; }
    operator int() { return ++b; }
    int get() const { return a; }
    void set(int to) { a = to; }
    feature_copies* self() { return this; }
    const feature_copies* shown() const { return this; }
};

class [[NVM::transactional]] alignas(64) feature_destroyed {
    int a = 4;
    int* told;
    void end() { *told = a, a = 0; }

public:
    feature_destroyed() : told(nullptr) {}
    ~feature_destroyed() { if (is_told()) end(); }
    void tell(int* to) { told = to; }
    bool is_told() const { return told != nullptr; }
    void set(int to) { a = to; }
    void forget() { told = nullptr; }
};

class [[NVM::transactional]] alignas(64) feature_kinds_of_functions {
    static int calls;
    static constexpr int limit = 9;
    int a = 1;
    static int clamp(int of) { ++calls; return of < limit ? of : limit; }

public:
    static int called() { return calls; }
    void clamped(int to) { a = clamp(to); }
    long early(int to) { if (to < 0) return -1; a = to; if (a > 5) return 1; a = 5; return 2; }
    int value() { return a += 1; }
    feature_kinds_of_functions copied(int to) const { return made(to + a); }
    static feature_kinds_of_functions made(int to) {
        feature_kinds_of_functions one;
        one.chained(to);
        return one;
    }
    feature_kinds_of_functions& chained(int to) { a = to; return *this; }
    const feature_kinds_of_functions& shown() const { return *this; }
    void over(int to) { a = to; }
    void over(double to) { a = static_cast<int>(to * 2); }
    int over(const char* text) const { return text[0] + a; }
    void defaulted(int to = 8, int more = limit) { a = to + more; }
    void quiet() noexcept { a = 12; }
    void left() & { a = 13; }
    int left() const& { return a; }
    auto deduced() const { return a + 1; }
    auto trailing() -> int { return a = 14; }
    void out_of_line(int to);
    std::pair<short, short> structure() const { return {static_cast<short>(a), static_cast<short>(a)}; }
    int get() const { return a; }
};
int feature_kinds_of_functions::calls = 0;
void feature_kinds_of_functions::out_of_line(int to) { a = to; }

class [[NVM::transactional]] alignas(64) feature_lambdas {
    int a = 1;
    short list[4] = {};
    int run(const std::function<int(int)>& what) const { return what(a); }

public:
    void by_this() { auto add = [this](int more) { a += more, list[1] = 2; }; add(3); }
    void by_reference() { auto add = [&](auto more) { a += more; for (short& each : list) each += 1; }; add(4); }
    void by_value() { auto set = [=](int to) { a = to; }; set(9); }
    long generic() { a = 3; return run([this](int seen) { return seen * 10 + a; }); }
    void called_later(void (*between)(feature_lambdas&), feature_lambdas& self) {
        a = 20, between(self), list[0] = static_cast<short>(a);
    }
    void set(int to) { a = to; }
    int get() const { return a; }
};

class [[NVM::transactional]] alignas(64) feature_exceptions {
    int a = 1;
    char text[8] = {};
    void fail(bool really) { text[1] = 'f'; if (really) throw a; }

public:
    long leaves(int to) { a = to, text[0] = 'x'; throw std::runtime_error("no"); }
    long nested(int to) { a = to, fail(true); return 0; }
    long caught(int to) { try { a = to, fail(true); } catch (int) { a += 100; } return a; }
    int get() const { if (a < 0) throw a; return a; }
};

namespace {
template <class F>
long thrown(F&& f) {
    try {
        f();
    } catch (...) {
        return 1;
    }
    return 0;
}
}  // namespace

#include "functions_steps.hpp"

}  // namespace FEATURES
