// Blocks inside blocks, and what follows them: wrong without the plugin at most levels of optimization, right with it
// (compile_test.py).
#include <holdfast/itm/itm.hpp>

#include <cstdio>
#include <initializer_list>

// What is not static: for what others could call, g++ decides otherwise.
namespace nested {

struct two {
    long a, b;
};
struct five {
    long a, b, c, d, e;
};
long sum_of_words, other, called;
int failures = 0;

void expect(bool holds, const char* what, long n) {
    if (holds) return;
    std::printf("%s, %ld\n", what, n);
    ++failures;
}

[[gnu::transaction_safe, gnu::noinline]] void fill(five* to, long n) { *to = {n, n, n, n, n}; }
[[gnu::transaction_safe, gnu::noinline]] long ends_of(five from) { return from.a + from.b + from.e; }
/// A function with a block of its own. Outside of transactions its instrumented form is wrong: its frame is taken for
/// the transaction's.
[[gnu::transaction_safe, gnu::noinline]] long has_own_block(long n) {
    long ends = 0;
    five words{};
    __transaction_atomic {
        fill(&words, n);
        ends = ends_of(words);
        called += 1;
    }
    return ends;
}

/// Its inner block is left by a jump, or cancelled, or comes to its end.
#define BLOCK_LEFT_BY(jump)                     \
    __transaction_atomic {                      \
        __transaction_atomic {                  \
            sum_of_words += n;                  \
            if ((n & 64) != 0) HOLDFAST_CANCEL; \
            if ((n & 1) != 0) jump;             \
        }                                       \
        other += n;                             \
    }                                           \
    static_assert(true)

[[gnu::noipa]] void after_goto(long n, long* to) {
    BLOCK_LEFT_BY(goto out);
out:
    to[0] = has_own_block(n);
    to[1] = has_own_block(n + 1);
}
[[gnu::noipa]] void after_break(long n, long* to) {
    for (;;) {
        BLOCK_LEFT_BY(break);
        break;
    }
    to[0] = has_own_block(n);
    to[1] = has_own_block(n + 1);
}
long leaves_inside(long n) {
    BLOCK_LEFT_BY(return n);
    return n + 1;
}
[[gnu::noipa]] void after_return(long n, long* to) {
    to[0] = has_own_block(leaves_inside(n));
    to[1] = has_own_block(n + 1);
}

#ifdef HOLDFAST_TM_PLUGIN
// Without the plugin these do not compile, or end the program.
[[gnu::noinline]] void unsafe(long n) {
    asm volatile("");
    called += n;
}
void (*volatile by_pointer)(long) = unsafe;
[[gnu::noipa]] void calls_unsafe(long n) {
    BLOCK_LEFT_BY(goto out);
out:
    unsafe(n);
    by_pointer(n);
}

[[gnu::transaction_safe, gnu::noinline]] void add(long n) { called += n; }
using safe_function [[gnu::transaction_safe]] = void(long);
safe_function* volatile safe_by_pointer = add;
[[gnu::noipa]] void calls_in_a_second_block(long n) {
    safe_function* const function = safe_by_pointer;
    for (int i = 0; i < 2; ++i) {
        BLOCK_LEFT_BY(goto out);
    out:
        __transaction_atomic { function(n); }
    }
}

/// What a block that becomes irrevocable at once calls, by value: nothing of it is refused or mended.
struct object {
    long a;
    explicit object(long n) : a(n) { asm volatile(""); }
    object(const object& from) : a(from.a) {}
};
object made_of(long n) { return object(n); }
[[gnu::noipa]] long irrevocable(long n) {
    long is = 0;
    __transaction_relaxed {
        unsafe(0);
        is = made_of(n).a;
    }
    return is;
}

/// In the instrumented form of a function a cancel of an inner block puts variables back that hold results.
[[gnu::transaction_pure, gnu::noinline]] two pure_two(long n) { return {n, n + 1}; }
[[gnu::transaction_pure, gnu::noinline]] five pure_five(long n) { return {n, n + 1, n, n, n}; }
[[gnu::transaction_safe, gnu::noinline]] five safe_five(long n) { return {n, n + 1, other, n, n}; }
template <class T, T Make(long)>
[[gnu::transaction_safe, gnu::noinline]] long cancels_inside(long n, long at) {
    T words[3] = {};
    words[1].a = 1;
    words[1].b = 2;
    __transaction_atomic {
        words[at] = Make(n);
        sum_of_words += words[1].b;
        if ((n & 4) != 0) HOLDFAST_CANCEL;
    }
    return words[1].a * 100 + words[1].b;
}
template <class T, T Make(long)>
[[gnu::noipa]] void expect_of(long n, const char* what) {
    long is = 0;
    __transaction_atomic { is = cancels_inside<T, Make>(n, 1); }
    expect(is == ((n & 4) != 0 ? 102 : n * 100 + n + 1), what, n);
}
#endif

}  // namespace nested

using namespace nested;

int main() {
    for (const long n : {5L, 6L, 64L, 65L}) {
        long ends[2] = {};
        after_goto(n, ends);
        expect(ends[0] == 3 * n && ends[1] == 3 * n + 3, "a function with a block is wrong behind a goto", n);
        after_break(n, ends);
        expect(ends[0] == 3 * n && ends[1] == 3 * n + 3, "a function with a block is wrong behind a break", n);
        after_return(n, ends);
        const long first = (n & 65) == 1 ? n : n + 1;
        expect(ends[0] == 3 * first && ends[1] == 3 * n + 3, "a function with a block is wrong behind a return", n);
    }
    expect(called == 24, "what a function does in its block is lost", called);
#ifdef HOLDFAST_TM_PLUGIN
    called = 0;
    calls_unsafe(5);
    calls_unsafe(64);
    expect(called == 138, "unsafe functions are not called behind a block", called);
    called = 0;
    calls_in_a_second_block(5);
    expect(called == 10, "a function is not called by pointer in a second block", called);
    expect(irrevocable(3) == 3, "an irrevocable block has a wrong result", 3);
    for (const long n : {3L, 4L}) {
        expect_of<two, pure_two>(n, "a small result of a pure function");
        expect_of<five, pure_five>(n, "a result of a pure function");
        expect_of<five, safe_five>(n, "a result");
    }
#endif
    return failures == 0 ? 0 : 1;
}
