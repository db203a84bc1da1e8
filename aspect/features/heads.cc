// Where a woven class may stand and how its head may be written; conditions of the preprocessor that have nothing to do
// with it.
#include "features.hpp"

#include "heads.hpp"

#include <memory>
#include <stdint.h>
#include <stdlib.h>
#include <utility>

#ifdef NDEBUG
#define HEADS_CHECK(what) (void)0
#else
#define HEADS_CHECK(what) (void)(what)
#endif
#define HEADS_ADD(to, more) ((to) += (more))

namespace FEATURES {

class alignas(64) [[NVM::transactional]] head_alignment_first {
    int a = 1;

public:
    void set(int to) { a = to; }
};

constexpr int heads_line = 64;
struct [[NVM::transactional]] alignas(heads_line) head_alignment_by_a_constant {
    void set(int to) { a = to; }

private:
    int a = 1;
};

class [[NVM::transactional]] alignas(uint64_t) alignas(64) head_two_alignments {
    int a = 1;

public:
    void set(int to) { a = to; }
};

class [[maybe_unused]] [[NVM::transactional]] alignas(64) head_two_attributes {
    int a = 1;

public:
    void set(int to) { a = to; }
};

class [[NVM::transactional, maybe_unused]] alignas(64) head_attributes_in_one {
    int a = 1;

public:
    void set(int to) { a = to; }
};

class [[NVM::transactional]] alignas(64) [[gnu::visibility("default")]] head_with_text {
    int a = 1;

public:
    void set(int to) { a = to; }
};

// A comment in the head; with { and }.
class [[NVM::transactional]] /* and { here */ alignas(64) head_with_comments  // and "here
{
    int a = 1;  // }

public:
    void set(int to) { a = to; /* } */ }
};

class [[NVM::transactional]] alignas(64) [[gnu::packed]] head_packed {
    char tag = 'p';
    int a = 1;

public:
    void set(int to) { a = to, tag = 'q'; }
};

class [[NVM::transactional]] alignas(64) head_final final {
    int a = 1;

public:
    void set(int to) { a = to; }
};

class [[NVM::transactional]] alignas(64) head_with_objects {
    int a = 1;

public:
    void set(int to) { a = to; }
    int get() const { return a; }
} head_objects[2];

struct head_outer {
    class [[NVM::transactional]] alignas(64) inner {
        int a = 1;

    public:
        void set(int to) { a = to; }
    };
};

namespace {
namespace deep {
class [[NVM::transactional]] alignas(64) head_deep {
    int a = 1;

public:
    void set(int to) { a = to; }
};
}  // namespace deep
}  // namespace

class [[NVM::transactional]] alignas(64) head_with_constants {
    enum { size = 4 };
    enum : uint8_t { low = 1, high = 9 };
    static constexpr int step = 2;
    static inline int calls = 0;
    char text[size] = {};

public:
    void set(int to) { text[size - 1] = static_cast<char>(to + high - low), text[0] = step, ++calls; }
};

class [[NVM::transactional]] alignas(64) head_unnamed_structures {
    struct { int x, y; } at = {1, 2};
    union { int word; char bytes[4]; } either = {3};

public:
    void set(int to) { at.x = to, at.y += to, either.bytes[1] = 1; }
    long get() const { return at.x + at.y + either.word; }
};

class [[NVM::transactional]] alignas(64) head_nested_types {
    struct point { int x = 1; int twice() const { return x * 2; } void add(int more) { x += more; } };
    class counter { int n = 0; public: int next() { return ++n; } };
    using number = short;
    typedef char letter;
    point at;
    counter count;
    number small = 1;
    letter tag = 'a';

public:
    void set(int to) { at.x = to, at.add(2), small = static_cast<number>(count.next()), tag = 'b'; }
    long get() const { return at.twice() + small + tag; }
};

class [[NVM::transactional]] alignas(64) head_with_allocation {
    int a = 1;

public:
    static void* operator new(size_t bytes) { return aligned_alloc(64, bytes); }
    static void* operator new(size_t, void* place) { return place; }
    static void operator delete(void* of) { free(of); }
    void set(int to) { a = to; }
    int get() const { return a; }
};

class [[NVM::transactional]] alignas(64) head_without_allocation {
    int a = 1;

public:
    static void* operator new(size_t) = delete;
    static void* operator new(size_t, void* place) { return place; }
    void set(int to) { a = to; }
};

class [[NVM::transactional]] alignas(64) head_members_with_attributes {
    [[maybe_unused]] int a = 1;
    alignas(8) char b = 2;

public:
    void set([[maybe_unused]] int to, [[maybe_unused]] int more = 0) { a = to, b = 3; }
    [[nodiscard, gnu::pure]] int get() const { return a; }
    [[gnu::cold]] [[gnu::noinline]] void rarely() { ++a; }
};

class [[NVM::transactional]] alignas(64) head_with_macros {
    int a = 1;

public:
    void set(int to) { HEADS_ADD(a, to), a = a > INT16_MAX ? 0 : a; }
};

#if defined(__GNUC__) && __cplusplus >= 201703L
class head_unwoven {
    int a = 1;

public:
    void set(int to) { HEADS_CHECK(to > 0); a = to; }
};
#endif

class [[NVM::transactional]] alignas(64) head_between_conditions {
    head_unwoven a;

public:
    void set(int to) { a.set(to); }
};

typedef struct { int x, y; } head_pair;
typedef enum { head_low, head_high } head_level;
class [[NVM::transactional]] alignas(64) head_names_by_typedef {
    head_pair at = {1, 2};
    head_level is = head_low;

public:
    void set(int to) { at.x = to, is = head_high; }
    void change(const head_pair& to, head_level how) { at = to, is = how; }
    head_pair get() const { return at; }
    head_level level() const { return is; }
};

class [[NVM::transactional]] alignas(64) head_called_by_others {
    int a = 1;

public:
    void set(int to) { a = to; }
    int get() const { return a; }
};

extern "C" {
static void head_set_in_c(void* of, int to) { static_cast<head_called_by_others*>(of)->set(to); }
}
template <class T>
void head_set_in_a_template(T& of, int to) { of.set(to); }
template <class T>
struct head_holder {
    T& of;
    void set(int to) { of.set(to); }
};
void head_set_by_elaboration(class head_called_by_others& of, int to) { of.set(to); }

#ifndef __acweaving
// Only the compiler sees it.
constexpr auto head_set_later = [](auto& of, int to) { of.set(to); };
#endif

#define HEAD(Class, name)                                                           \
    {                                                                               \
        name, MAKE(Class), {                                                        \
            STEP(Class, first, x.set(5); return 0), STEP(Class, second, y.set(6); return 0), \
                STEP(Class, first, x.set(7); return 0)                              \
        }                                                                           \
    }

const features::feature* heads(size_t* count) {
    using others = head_called_by_others;
    using allocated = head_with_allocation;
    static const features::feature all[] = {
        HEAD(head_in_a_header, "a class in a header, declared before and behind"),
        HEAD(head_alignment_first, "the alignment before the attribute"),
        HEAD(head_alignment_by_a_constant, "an alignment that is a constant, a struct"),
        HEAD(head_two_alignments, "two alignments"),
        HEAD(head_two_attributes, "an attribute of another kind before"),
        HEAD(head_attributes_in_one, "two attributes in one pair of brackets"),
        HEAD(head_with_text, "an attribute with text on the class"),
        HEAD(head_with_comments, "comments in the head"),
        HEAD(head_packed, "a packed class"),
        HEAD(head_final, "a final class"),
        HEAD(head_with_objects, "a class whose objects are declared with it"),
        HEAD(head_outer::inner, "a class in a class"),
        HEAD(deep::head_deep, "a class in namespaces without a name"),
        HEAD(head_with_constants, "enumerations without a name that are constants, static members"),
        HEAD(head_unnamed_structures, "members of structures and unions without a name"),
        HEAD(head_nested_types, "nested classes with functions, names of types"),
        HEAD(head_without_allocation, "a class that cannot be allocated"),
        HEAD(head_members_with_attributes, "attributes on members, functions and parameters"),
        HEAD(head_with_macros, "macros that mean the same to all"),
        HEAD(head_names_by_typedef, "types that have a name by typedef alone"),
        {"types that have a name by typedef alone, taken and returned", MAKE(head_names_by_typedef),
         {STEP(head_names_by_typedef, first, x.change({5, 6}, head_high); return x.get().y + x.level()),
          STEP(head_names_by_typedef, second, y.change(x.get(), x.level()); return y.get().x)}},
        HEAD(head_between_conditions, "conditions between woven classes"),
        {"a class that allocates",
         [](void* lines) { new (lines) allocated(), new (static_cast<char*>(lines) + 64) allocated(); },
         {STEP(allocated, first, x.set(4); return x.get()),
          STEP(allocated, reads, auto* made = new allocated(); made->set(8); const long of = made->get() + x.get();
               delete made; return of)}},
        {"calls from C, templates and generic lambdas", MAKE(others),
         {STEP(others, first, head_set_in_c(&x, 3); return x.get()),
          STEP(others, second, head_set_in_a_template(y, 4); return y.get()),
          STEP(others, first, head_holder<others>{x}.set(5); return x.get()),
          STEP(others, first, head_set_by_elaboration(x, 6); return x.get())}},
        {"objects in arrays and behind pointers", MAKE(others),
         {STEP(others, first, others* both[] = {&x, &y}; both[0]->set(9); return both[0]->get()),
          {features::first | features::second, [](void* lines) -> long {
               others* at = static_cast<others*>(lines);
               for (int i = 0; i < 2; ++i) at[i].set(i + 20);
               return at[0].get() * 100 + at[1].get();
           }},
          STEP(others, reads, others local[2]; local[1].set(3); return local[0].get() * 10 + local[1].get()),
          STEP(others, reads, auto made = std::make_unique<others>(); made->set(3); return made->get())}},
    };
    *count = sizeof all / sizeof *all;
    return all;
}

}  // namespace FEATURES
