// Members of every kind, read and changed in every way.
#include "features.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <stdint.h>
#include <string.h>
#include <utility>

namespace FEATURES {

class [[NVM::transactional]] alignas(64) feature_scalar {
    long value;
    double ratio;

public:
    feature_scalar() : value(1), ratio(0.5) {}
    void set(long to) { value = to, ratio = 2.5; }
    void compound() { value += 3, value <<= 2, value ^= 5, value = -value, ratio *= 2; }
    long steps() { long seen = value++; seen -= ++value; seen += 2 * value--; return seen - --value; }
    long chain() { return value = static_cast<long>(ratio = 7); }
    long get() const { return value + static_cast<long>(ratio * 4); }
};

class [[NVM::transactional]] alignas(64) feature_array {
    char text[12];
    short pairs[2][4];

public:
    feature_array() : text{}, pairs{} {}
    void element(int at) { text[at] = 'e', pairs[1][at] = 3, 2 [text] = 'b'; }
    void decay() { memcpy(text, "decayed", 8), strcat(text, "!"); }
    void pointer() { for (char* each = text; each != text + 3; ++each) *each = static_cast<char>('0' + (each - text)); }
    void algorithms() {
        std::fill(std::begin(text), std::end(text), 'f');
        text[4] = 'a', std::swap(text[0], text[1]), std::sort(text, text + 9);
    }
    void range_for() { for (auto& row : pairs) for (short& each : row) ++each; }
    void to_array_reference() { short (&row)[4] = pairs[1]; row[3] = 9; }
    long sum() const {
        long all = 0;
        for (char each : text) all = all * 3 + each;
        for (auto& row : pairs)
            for (short each : row) all += each;
        return all;
    }
    const char* shown() const { return text; }
};

class [[NVM::transactional]] alignas(64) feature_reference {
    int a, b;
    static void add(int& to, int more) { to += more; }
    static void add(int* to, int more) { *to += more; }

public:
    feature_reference() : a(1), b(2) {}
    void reference() { int& alias = a; alias = 10, alias += b; }
    void pointer() { int* at = &b; *at = 5, ++*at; }
    void handed_on() { add(a, 3), add(&b, 4); }
    void swapped() { std::swap(a, b); }
    void conditional(bool which) { (which ? a : b) = 77; }
    const int& by_reference() const { return a; }
    const int* by_pointer() const { return &b; }
};

class [[NVM::transactional]] alignas(64) feature_nested {
    struct point { int x, y; };
    struct box { point low, high; } area;
    std::array<short, 3> three;
    std::pair<char, char> two;

public:
    feature_nested() : area{}, three{}, two{} {}
    void member() { area.low.x = 1, area.high.y += 4; }
    void whole() { area.high = area.low, area = box{{1, 2}, {3, 4}}; }
    void array() { three[1] = 3, three.fill(4), three.at(2) = 5, std::get<0>(three) = 9; }
    void pair() { two.first = 'f', two = std::make_pair('a', 'b'), std::swap(two.first, two.second); }
    void bound() { auto& [low, high] = area; low.x = high.y + 1; }
    long sum() const { return area.low.x + 10 * area.high.y + 100 * three[2] + two.first; }
};

class [[NVM::transactional]] alignas(64) feature_bits {
    unsigned narrow : 3, wide : 17;
    int sign : 5;
    union {
        uint32_t word;
        unsigned char bytes[4];
    };
    union named { short s; char c[2]; } either;

public:
    feature_bits() : narrow(1), wide(2), sign(-1), word(0), either{} {}
    void bits() { narrow = 5, wide += 70000, ++narrow, sign = -7; }
    void anonymous() { word = 0x01020304, bytes[2] = 9; }
    void in_union() { either.s = 0x0506, either.c[0] = 1; }
    long sum() const { return narrow + wide + sign + word + either.s; }
};

class [[NVM::transactional]] alignas(64) feature_kinds {
    const char* name;
    void (*action)(int&);
    enum plain { small, large } size;
    enum class colour : uint8_t { red, green } paint;
    bool flag;
    static void twice(int& of) { of *= 2; }

public:
    feature_kinds() : name(nullptr), action(nullptr), size(small), paint(colour::red), flag(false) {}
    void set() { paint = colour::green, size = large, flag = !flag, flag |= true, name = nullptr, action = nullptr; }
    long run() { int of = 4; action = twice, action(of), action = nullptr; return of; }
    bool is_set() const { return flag && paint == colour::green && size == large; }
};

class [[NVM::transactional]] alignas(64) feature_unusual {
    const int constant = 5;
    volatile int loud = 1;
    char full[23] = "default initialiser";

public:
    void set() { loud = constant, loud = loud + 1, full[22] = 1; }
    void set_volatile() volatile { loud = 20; }
    int get_volatile() const volatile { return loud; }
    long get() const { return loud + constant; }
};

class [[NVM::transactional]] alignas(64) feature_eights {
    uint64_t all[3];

public:
    feature_eights() : all{1, 2, 3} {}
    void set() { all[0] = all[2] = ~uint64_t{}; }
    long get() const { return static_cast<long>(all[0] + all[1]); }
};

class [[NVM::transactional]] alignas(64) feature_full {
    uint64_t eights[3] = {};
    int four = 0;
    short two = 0;
    char one = 0;

public:
    void set() { eights[2] = 8, four = 4, two = 2, one = 1; }
    long get() const { return static_cast<long>(eights[2]) + four + two + one; }
};

class [[NVM::transactional]] alignas(64) feature_optional {
    std::optional<char> maybe;
    std::array<std::pair<char, char>, 2> pairs = {};

public:
    void set() { maybe = 5, *maybe = 6, pairs[1] = {'a', 'b'}, pairs[0].second = 'c'; }
    void reset() { maybe.reset(), pairs.fill({}); }
    long get() const { return maybe.value_or(1) + pairs[1].first; }
};

struct [[NVM::transactional]] alignas(64) feature_struct final {
    int get() const { return value; }
    void set(int to) { this->value = to, (*this).other = static_cast<char>(to); }

private:
    int value = 3;
    char other = 0;
};

const features::feature* values(size_t* count) {
    static const features::feature all[] = {
        {"scalars: assignment, compound assignment, ++ and --", MAKE(feature_scalar),
         {STEP(feature_scalar, first, x.set(40); return x.get()), STEP(feature_scalar, first, x.compound(); return 0),
          STEP(feature_scalar, first, return x.steps()), STEP(feature_scalar, second, return y.chain()),
          STEP(feature_scalar, reads, return x.get() * 100 + y.get())}},
        {"arrays: elements, decay, memcpy, algorithms, range-for", MAKE(feature_array),
         {STEP(feature_array, first, x.element(1); return x.sum()),
          STEP(feature_array, first, x.decay(); return x.sum()),
          STEP(feature_array, first, x.pointer(); return x.sum()),
          STEP(feature_array, first, x.algorithms(); return x.sum()),
          STEP(feature_array, first, x.range_for(); return x.sum()),
          STEP(feature_array, first, x.to_array_reference(); return x.sum()),
          STEP(feature_array, reads, return x.shown()[3] + x.sum())}},
        {"references and pointers to members", MAKE(feature_reference),
         {STEP(feature_reference, first, x.reference(); return x.by_reference()),
          STEP(feature_reference, first, x.pointer(); return *x.by_pointer()),
          STEP(feature_reference, first, x.handed_on(); return x.by_reference()),
          STEP(feature_reference, first, x.swapped(); return x.by_reference()),
          STEP(feature_reference, first, x.conditional(true); return x.by_reference()),
          STEP(feature_reference, first, x.conditional(false); return *x.by_pointer()),
          STEP(feature_reference, reads, return x.by_reference() + *x.by_pointer())}},
        {"nested structures, std::array, std::pair, structured bindings of members", MAKE(feature_nested),
         {STEP(feature_nested, first, x.member(); return x.sum()),
          STEP(feature_nested, first, x.whole(); return x.sum()),
          STEP(feature_nested, first, x.array(); return x.sum()), STEP(feature_nested, first, x.pair(); return x.sum()),
          STEP(feature_nested, first, x.bound(); return x.sum())}},
        {"bit-fields and unions", MAKE(feature_bits),
         {STEP(feature_bits, first, x.bits(); return x.sum()), STEP(feature_bits, first, x.anonymous(); return x.sum()),
          STEP(feature_bits, first, x.in_union(); return x.sum()),
          STEP(feature_bits, first, x.bits(); return x.sum())}},
        {"enumerations, bool, pointers to objects and functions", MAKE(feature_kinds),
         {STEP(feature_kinds, first, x.set(); return x.is_set()), STEP(feature_kinds, first, return x.run()),
          STEP(feature_kinds, reads, return x.is_set())}},
        {"const and volatile members, default member initialisers, 31 bytes", MAKE(feature_unusual),
         {STEP(feature_unusual, first, x.set(); return x.get()),
          STEP(feature_unusual, first, x.set_volatile(); return x.get_volatile()),
          STEP(feature_unusual, first, x.set(); return x.get())}},
        {"24 bytes aligned to 8", MAKE(feature_eights),
         {STEP(feature_eights, first, x.set(); return x.get()), STEP(feature_eights, reads, return x.get())}},
        {"31 bytes, of which 24 are aligned to 8", MAKE(feature_full),
         {STEP(feature_full, first, x.set(); return x.get()), STEP(feature_full, second, y.set(); return x.get())}},
        {"std::optional, an array of pairs", MAKE(feature_optional),
         {STEP(feature_optional, first, x.set(); return x.get()), STEP(feature_optional, second, y.set(); return 0),
          STEP(feature_optional, first, x.set(); return x.get())}},
        {"a struct whose members are private, a final class, this->member", MAKE(feature_struct),
         {STEP(feature_struct, first, x.set(300); return x.get()), STEP(feature_struct, reads, return x.get())}},
    };
    *count = sizeof all / sizeof *all;
    return all;
}

}  // namespace FEATURES
