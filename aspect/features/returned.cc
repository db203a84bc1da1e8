// What functions return, by each kind of function, and what of it is no way to write the object.
#include "features.hpp"

#include <array>
#include <iterator>
#include <optional>
#include <stdint.h>
#include <string_view>
#include <tuple>
#include <utility>

namespace FEATURES {

struct returned_point { int x, y; };
struct returned_row { short cells[3]; bool full; const char* name; };
enum returned_plain { returned_small, returned_large };
enum class returned_colour : uint8_t { red, green };

class [[NVM::transactional]] alignas(64) returned_numbers {
    long a = 3;

public:
    bool flag() { return ++a > 3; }
    char letter() const { return static_cast<char>('a' + a); }
    signed char negative() { return static_cast<signed char>(-(a += 2)); }
    uint16_t word() const { return static_cast<uint16_t>(a * 1000); }
    unsigned long large() { return ~static_cast<unsigned long>(a++); }
    float ratio() const { return static_cast<float>(a) / 4; }
    double wide() { return static_cast<double>(a *= 2) * 1.5; }
    long double widest() const { return static_cast<long double>(a) + 0.25L; }
    long get() const { return a; }
};

class [[NVM::transactional]] alignas(64) returned_enumerations {
    returned_plain size = returned_small;
    returned_colour paint = returned_colour::red;

public:
    returned_plain grow() { return size = returned_large; }
    returned_colour colour() const { return paint; }
    auto painted() { return paint = returned_colour::green; }
};

class [[NVM::transactional]] alignas(64) returned_structures {
    int a = 1, b = 2;
    char c = 'c';

public:
    returned_point point() const { return {a, b}; }
    returned_point moved() { return returned_point{++a, --b}; }
    returned_row row() const { return {{1, 2, static_cast<short>(a)}, b > 1, "row"}; }
    std::pair<int, char> pair() { return {a += 4, c}; }
    std::pair<int, int> made() const { return std::make_pair(a, b); }
    std::array<int, 2> both() const { return {a, b}; }
    std::optional<int> maybe(bool there) const { if (there) return a; return std::nullopt; }
    std::tuple<int, char> three() { return std::tuple<int, char>(b *= 3, c); }
    std::string_view letter() const { return {&c, 1}; }
    long sum() const { return a * 100 + b * 10 + c; }
};

class [[NVM::transactional]] alignas(64) returned_references {
    int a = 1;
    std::array<short, 4> four = {1, 2, 3, 4};
    struct { int x = 5; } in;

public:
    const int& reference() const { return a; }
    const int& changed() { return ++a; }
    const int* pointer() const { return &a; }
    const std::array<short, 4>& all() { four[1] = 9; return four; }
    std::array<short, 4>::const_iterator begin() const { return four.begin(); }
    const short* data() { return four.data(); }
    const short& at(int where) const { return four[static_cast<unsigned>(where)]; }
    const int& inside() const { return in.x; }
    const void* address() const { return &a; }
    returned_references& self() { a += 2; return *this; }
    const returned_references& seen() const { return *this; }
    returned_references* mine() { ++a; return this; }
};

class [[NVM::transactional]] alignas(64) returned_pointers {
    using link = int*;
    link next = nullptr;
    const char* name = features::shared_text;

public:
    link follow(link to) { link before = next; next = to; return before; }
    int* current() const { return next; }
    const char* called(const char* to) { name = to; return name; }
    static int* outside() { return &features::shared_number; }
    void forward() { next = outside(); }
    long is_outside() const { return next == outside(); }
};

class [[NVM::transactional]] alignas(64) returned_functions {
    int a = 2;
    static long twice(int of) { return of * 2; }
    static long thrice(int of) { return of * 3; }

public:
    using action = long (*)(int);
    action chosen(bool first) const { return first ? twice : thrice; }
    action counted() { ++a; return twice; }
    long run() const { return chosen(false)(a); }
};

class [[NVM::transactional]] alignas(64) returned_deduced {
    int a = 4;
    char text[4] = "abc";

public:
    auto value() const { return a; }
    auto changed() { return a += 3; }
    const auto& reference() const { return a; }
    const auto* pointer() const { return &a; }
    auto first() -> char { return text[0] = 'z'; }
    auto same(const returned_deduced& other) const -> bool { return a == other.a; }
    using sum_type = decltype(1L + 2);
    sum_type sum() { return a += 1; }
};

struct made_of_values {
    int x, y;
    made_of_values(const int& a, int b) : x(a), y(b) {}
};
class [[NVM::transactional]] alignas(64) returned_made {
    int a = 1, b = 2;
    made_of_values both = {3, 4};

public:
    made_of_values made() { return made_of_values(a++, b); }
    made_of_values unnamed() const { return {a, b}; }
    made_of_values kept() { return both = made_of_values(b, a); }
    std::pair<int, int> pair() const { return std::pair<int, int>(a, b); }
};

class [[NVM::transactional]] alignas(64) returned_by_kind {
    int a = 1;

public:
    int plain() { return a += 1; }
    int quiet() noexcept { return a += 2; }
    int constant() const { return a; }
    int constant_quiet() const noexcept { return a * 2; }
    int loud() volatile { return a = a + 3; }
    int loud_constant() const volatile { return a; }
    int left() & { return a += 4; }
    int left_constant() const& { return a * 3; }
    inline int inlined() { return a += 5; }
    static int free() { return 6; }
    int out_of_line();
    int out_of_line_constant() const;
    [[nodiscard]] int kept() const { return a; }
    __attribute__((noinline)) int far() { return a += 7; }
    [[gnu::always_inline]] inline int near() const { return a; }
};
int returned_by_kind::out_of_line() { return a += 8; }
int returned_by_kind::out_of_line_constant() const { return a * 5; }

const features::feature* returned(size_t* count) {
    using structures = returned_structures;
    using references = returned_references;
    using pointers = returned_pointers;
    using deduced = returned_deduced;
    using kinds = returned_by_kind;
    static const features::feature all[] = {
        {"classes that are made of members by value", MAKE(returned_made),
         {STEP(returned_made, first, return x.made().x),
          STEP(returned_made, reads, return x.unnamed().x + x.pair().second),
          STEP(returned_made, second, return y.kept().x)}},
        {"numbers returned: bool, characters", MAKE(returned_numbers),
         {STEP(returned_numbers, first, return x.flag()), STEP(returned_numbers, reads, return x.letter()),
          STEP(returned_numbers, first, return x.negative()), STEP(returned_numbers, reads, return x.word())}},
        {"numbers returned: large ones and floating point", MAKE(returned_numbers),
         {STEP(returned_numbers, first, return static_cast<long>(x.large())),
          STEP(returned_numbers, reads, return static_cast<long>(x.ratio() * 4)),
          STEP(returned_numbers, first, return static_cast<long>(x.wide() * 2)),
          STEP(returned_numbers, reads, return static_cast<long>(x.widest() * 4) + x.get())}},
        {"enumerations returned", MAKE(returned_enumerations),
         {STEP(returned_enumerations, first, return x.grow()),
          STEP(returned_enumerations, reads, return static_cast<long>(x.colour())),
          STEP(returned_enumerations, first, return static_cast<long>(x.painted()))}},
        {"structures returned", MAKE(structures),
         {STEP(structures, reads, return x.point().x + 10 * x.point().y),
          STEP(structures, first, returned_point moved = x.moved(); return moved.x + 10 * moved.y),
          STEP(structures, reads, returned_row row = x.row(); return row.cells[2] + row.full * 10 + row.name[0])}},
        {"pairs, arrays, optionals and tuples returned", MAKE(structures),
         {STEP(structures, first, return x.pair().first), STEP(structures, reads, return x.made().second + x.both()[0]),
          STEP(structures, reads, return x.maybe(true).value_or(50) + x.maybe(false).value_or(60)),
          STEP(structures, first, return std::get<0>(x.three())),
          STEP(structures, reads, return x.letter()[0] + x.sum())}},
        {"const references returned", MAKE(references),
         {STEP(references, reads, return x.reference()), STEP(references, first, return x.changed()),
          STEP(references, first, return x.all()[1]), STEP(references, reads, return x.at(3) + x.inside())}},
        {"const pointers and iterators returned", MAKE(references),
         {STEP(references, reads, return *x.pointer()), STEP(references, reads, return *std::next(x.begin())),
          STEP(references, first, return x.data()[2]), STEP(references, reads, return x.address() == x.pointer())}},
        {"the object returned, by reference and pointer", MAKE(references),
         {STEP(references, first, return &x.self() == &x), STEP(references, second, return y.mine() == &y),
          STEP(references, reads, return &x.seen() == &x && &x.seen() != &y)}},
        {"pointers returned that are members", MAKE(pointers),
         {STEP(pointers, first, x.forward(); return x.is_outside()), STEP(pointers, reads, return *x.current()),
          STEP(pointers, first, return x.follow(nullptr) == pointers::outside()),
          STEP(pointers, first, return x.called(features::shared_text + 1)[0])}},
        {"functions returned", MAKE(returned_functions),
         {STEP(returned_functions, reads, return x.chosen(true)(5) + x.run()),
          STEP(returned_functions, first, return x.counted()(6))}},
        {"types that are deduced", MAKE(deduced),
         {STEP(deduced, reads, return x.value() + x.reference() + *x.pointer()),
          STEP(deduced, first, return x.changed()),
          STEP(deduced, first, return x.first()), STEP(deduced, reads, return x.same(x) + 2 * x.same(y)),
          STEP(deduced, first, return x.sum())}},
        {"returned by functions that are noexcept, volatile, const", MAKE(kinds),
         {STEP(kinds, first, return x.plain()), STEP(kinds, first, return x.quiet()),
          STEP(kinds, reads, return x.constant() + x.constant_quiet()), STEP(kinds, first, return x.loud()),
          STEP(kinds, reads, return x.loud_constant())}},
        {"returned by functions for lvalues, inline, static, out of line", MAKE(kinds),
         {STEP(kinds, first, return x.left()), STEP(kinds, reads, return std::as_const(x).left_constant()),
          STEP(kinds, first, return x.inlined() + kinds::free()), STEP(kinds, first, return x.out_of_line()),
          STEP(kinds, reads, return x.out_of_line_constant())}},
        {"returned by functions with attributes", MAKE(kinds),
         {STEP(kinds, reads, return x.kept() + x.near()), STEP(kinds, first, return x.far())}},
    };
    *count = sizeof all / sizeof *all;
    return all;
}

}  // namespace FEATURES
