// What is near to something that is refused, and right: locks of the caller, casts that keep const, local variables
// that hold addresses for the length of a function, static variables, parameters of every kind.
#include "features.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <numeric>
#include <stdint.h>
#include <string>
#include <string.h>
#include <thread>
#include <utility>
#include <vector>

namespace FEATURES {

std::mutex use_mutex;
std::atomic<int> use_count{0};

class [[NVM::transactional]] alignas(64) use_under_a_lock {
    long a = 0;

public:
    void add() { ++a; }
    long get() const { return a; }
    long blocked() const { return a; }
    void unlocked(long to) { a = to; }
    void counted() { a = ++use_count; }
};

class [[NVM::transactional]] alignas(64) use_casts {
    int a = 65;
    char text[8] = "abc";
    const short fixed = 3;
    enum kind : char { low, high } is = low;

public:
    double number() const { return static_cast<double>(a) / (double)fixed; }
    char letter() const { return char(a); }
    void set(double to) { a = static_cast<int>(to), is = static_cast<kind>(1), text[0] = (char)a; }
    unsigned char byte(int at) const { return reinterpret_cast<const unsigned char*>(&a)[at]; }
    void put(int at, unsigned char to) { reinterpret_cast<unsigned char*>(&a)[at] = to; }
    const void* shown() const { return static_cast<const void*>(text); }
    int largest() const {
        int best = 0;
        std::for_each(text, text + 8, [&best](const char& each) { best = std::max(best, static_cast<int>(each)); });
        return best;
    }
    void add_const() { const char* at = const_cast<const char*>(text); text[1] = *at; }
    void through_const() { const int& alias = a; const_cast<int&>(alias) = 70; }
    long text_of_others(const char* from) const { return strlen(const_cast<char*>(from)) + strlen((char*)"four"); }
    bool less(const use_casts& other) const { return static_cast<const int&>(a) < other.a; }
};

class [[NVM::transactional]] alignas(64) use_local_addresses {
    int all[5] = {5, 4, 3, 2, 1};

public:
    void sort() { int* from = all; int* to = from + 5; std::sort(from, to); }
    long sum() const { const int* at = all; return std::accumulate(at, at + 5, 0L); }
    int largest() { auto where = std::max_element(all, all + 5); *where += 10; return *where; }
    int found(int what) const { return static_cast<int>(std::find(all, all + 5, what) - all); }
    void filled(int with) {
        auto fill = [this](int& each) { each = all[0]; };
        all[0] = with;
        std::for_each(all, all + 5, fill);
    }
    void by_loop() { for (int *at = all, *end = all + 5; at != end; ++at) *at += static_cast<int>(at - all); }
    void by_choice(bool which) {
        int& chosen = which ? all[0] : all[4];
        chosen = 50;
        int* other = which ? &all[4] : &all[0];
        *other = 60;
    }
    int copied_out(int* to) const { std::copy(all, all + 5, to); return to[2]; }
    void copied_in(const int* from) { memcpy(all, from, sizeof all); }
    void local_structure() { struct { int* at; int by; } step = {all, 2}; *step.at += step.by; }
    void captured() { int* at = &all[1]; auto add = [at](int more) { *at += more; }; add(3), add(4); }
    void by_function(void (*change)(int*)) { change(&all[2]); }
    void rotated() { std::rotate(std::begin(all), std::begin(all) + 2, std::end(all)); }
    void reversed() { std::array<int*, 2> ends = {&all[0], &all[4]}; std::swap(*ends[0], *ends[1]); }
};

class [[NVM::transactional]] alignas(64) use_static_variables {
    int a = 1;

public:
    int counted() { static int calls = 0; a = ++calls; return calls; }
    int by_thread() { thread_local int calls = 10; a = ++calls; return a; }
    int of_table(int at) { static const int table[] = {3, 1, 4}; return a = table[at]; }
    int of_pointer() { static const int* const best = nullptr; return a += best == nullptr; }
};

class [[NVM::transactional]] alignas(64) use_parameters {
    long a = 1;
    char text[16] = {};

public:
    void strings(std::string one, const std::string& two) { strncpy(text, (one + two).c_str(), 15), one.clear(); }
    void vectors(const std::vector<int>& all) { a = 0; for (int each : all) a += each; }
    void vector_out(std::vector<int>& to) const { to.push_back(static_cast<int>(a)); }
    void arrays(const int (&two)[2], const int three[]) { a = two[1] * three[2]; }
    void function(long (*change)(long)) { a = change(a); }
    void references(int& in, const long& more, long* out) { a = in + more, ++in, *out = a; }
    void structures(std::pair<int, int> by, std::array<short, 3> three) { a = by.first + by.second + three[2]; }
    void unnamed(int, long more = 2, ...) = delete;
    void unnamed(int, char) { a = 12; }
    void many(int b, int c, int d, int e, int f, int g, int h) { a = b + c + d + e + f + g + h; }
    void volatiles(volatile int& in, const volatile int& more) { a = in + more, in = 0; }
    void constant(const int by, int* const to) { a = by, *to = by; }
    void self(use_parameters& same) { a = 30, same.many(1, 1, 1, 1, 1, 1, 1), a += 1; }
    void taken(use_parameters by_value) { a = by_value.get() + 1; }
    long get() const { return a; }
};

class [[NVM::transactional]] alignas(64) use_control {
    int a = 3;

public:
    int by_switch(int of) {
        switch (of) {
        case 1: a = 10; break;
        case 2: a = 20; return a;
        default: a = 30;
        }
        return a + 1;
    }
    int by_loop(int of) { do { if (of == 3) continue; a += of; } while (of-- > 0); while (a > 10) a -= 3; return a; }
    int by_goto(int of) { again: a += of; if (a < 20) goto again; return a; }
    int by_ternary(bool which) { return which ? a = 1 : a++; }
    int by_if(int of) { if (int twice = of * 2; twice > a) return a = twice; else a = -twice; return 0; }
    int by_try(int of) { try { a = of; if (of > 1) throw of; } catch (const int& thrown) { a += thrown; } return a; }
    int by_constexpr() { if constexpr (sizeof(a) == 4) a = 44; else a = 88; return a; }
};

const features::feature* uses(size_t* count) {
    using locked = use_under_a_lock;
    using cast = use_casts;
    using local = use_local_addresses;
    using kept = use_static_variables;
    static const features::feature all[] = {
        {"a lock that the caller holds", MAKE(locked),
         {STEP(locked, first, std::lock_guard<std::mutex> guard(use_mutex); x.add(); return x.get()),
          STEP(locked, reads, std::unique_lock<std::mutex> guard(use_mutex); return x.get())}},
        {"names that only sound like locks, counters that are no members", MAKE(locked),
         {STEP(locked, reads, return x.blocked()), STEP(locked, first, x.unlocked(7); return x.get()),
          STEP(locked, first, use_count = 4; x.counted(); return x.get())}},
        {"casts of values", MAKE(cast),
         {STEP(cast, reads, return static_cast<long>(x.number() * 3) + x.letter()),
          STEP(cast, first, x.set(66.6); return x.letter())}},
        {"casts that keep const, and of bytes", MAKE(cast),
         {STEP(cast, reads, return x.byte(0) + x.byte(1)), STEP(cast, first, x.put(1, 9); return x.byte(1)),
          STEP(cast, reads, return static_cast<const char*>(x.shown())[1]), STEP(cast, first, x.add_const(); return 0),
          STEP(cast, reads, return x.largest()), STEP(cast, reads, return x.less(y) + 2 * y.less(x))}},
        {"casts from const inside a transaction, and of what is no member", MAKE(cast),
         {STEP(cast, first, x.through_const(); return x.byte(0)), STEP(cast, reads, return x.text_of_others("five5"))}},
        {"local pointers and iterators", MAKE(local),
         {STEP(local, first, x.sort(); return x.sum()), STEP(local, first, return x.largest()),
          STEP(local, reads, return x.found(3)), STEP(local, first, x.by_loop(); return x.sum())}},
        {"local references, lambdas and structures with addresses", MAKE(local),
         {STEP(local, first, x.by_choice(true); return x.sum()), STEP(local, first, x.by_choice(false); return x.sum()),
          STEP(local, first, x.local_structure(); return x.sum()), STEP(local, first, x.captured(); return x.sum()),
          STEP(local, first, x.filled(9); return x.sum())}},
        {"addresses that functions get", MAKE(local),
         {STEP(local, reads, int out[5]; return x.copied_out(out)),
          STEP(local, first, const int in[] = {1, 2, 3, 4, 9}; x.copied_in(in); return x.sum()),
          STEP(local, first, x.by_function([](int* at) { *at = 80; }); return x.sum()),
          STEP(local, first, x.rotated(); return x.sum()), STEP(local, first, x.reversed(); return x.found(1))}},
        {"static variables in functions", MAKE(kept),
         {STEP(kept, first, return x.counted()), STEP(kept, second, return y.counted()),
          STEP(kept, first, return x.by_thread()),
          STEP(kept, first, return x.of_table(2)), STEP(kept, first, return x.of_pointer())}},
        {"no update is lost where callers hold a lock", MAKE(locked),
         {{features::reads | features::woven_only, [](void*) -> long {
               locked local;
               auto add = [&] {
                   for (int i = 0; i < 20000; ++i) {
                       std::lock_guard<std::mutex> guard(use_mutex);
                       local.add();
                   }
               };
               std::thread one(add), other(add);
               one.join(), other.join();
               return local.get() == 40000;
           }}}},
    };
    *count = sizeof all / sizeof *all;
    return all;
}

const features::feature* arguments(size_t* count) {
    using parameters = use_parameters;
    using control = use_control;
    static const features::feature all[] = {
        {"parameters: strings, vectors, arrays, functions", MAKE(parameters),
         {STEP(parameters, first, x.strings("one", "two"); return 0),
          STEP(parameters, first, x.vectors({1, 2, 3}); return x.get()),
          STEP(parameters, reads, std::vector<int> to; x.vector_out(to); return to[0]),
          STEP(parameters, first, const int two[] = {1, 5}, three[] = {0, 0, 7}; x.arrays(two, three); return x.get()),
          STEP(parameters, first, x.function([](long of) { return of * 2; }); return x.get())}},
        {"parameters: references, structures, volatile, many", MAKE(parameters),
         {STEP(parameters, first, int in = 3; long out = 0; x.references(in, 4L, &out); return in * 100 + out),
          STEP(parameters, first, x.structures({1, 2}, {3, 4, 5}); return x.get()),
          STEP(parameters, first, x.unnamed(1, 'c'); return x.get()),
          STEP(parameters, first, x.many(1, 2, 3, 4, 5, 6, 7); return x.get()),
          STEP(parameters, first, volatile int in = 5, more = 6; x.volatiles(in, more); return x.get() * 10 + in),
          STEP(parameters, first, int to = 0; x.constant(8, &to); return to)}},
        {"parameters: the object itself, and one by value", MAKE(parameters),
         {STEP(parameters, first, x.self(x); return x.get()),
          {features::first | features::second, [](void* lines) -> long {
               parameters* at = static_cast<parameters*>(lines);
               at[0].self(at[1]);
               return at[0].get() * 100 + at[1].get();
           }},
          STEP(parameters, first, x.taken(y); return x.get())}},
        {"switch, loops, goto", MAKE(control),
         {STEP(control, first, return x.by_switch(1)), STEP(control, first, return x.by_switch(2)),
          STEP(control, first, return x.by_switch(3)), STEP(control, first, return x.by_loop(4)),
          STEP(control, first, return x.by_goto(3))}},
        {"conditions, if constexpr, try", MAKE(control),
         {STEP(control, first, return x.by_ternary(true)), STEP(control, first, return x.by_ternary(false)),
          STEP(control, first, return x.by_if(5)), STEP(control, first, return x.by_if(1)),
          STEP(control, first, return x.by_try(1)),
          STEP(control, first, return x.by_try(4)), STEP(control, first, return x.by_constexpr())}},
    };
    *count = sizeof all / sizeof *all;
    return all;
}

}  // namespace FEATURES
