#include <holdfast/itm/hybrid_blocks_test.hpp>
#include <holdfast/itm/itm.hpp>

namespace holdfast::itm {
namespace {

[[gnu::transaction_pure, gnu::noinline]] void call(step f) { f(); }
[[gnu::transaction_safe, gnu::noinline]] void throw_now(long value) {
    if (value != 0) throw value;
}
/// A function with a block of its own, which has no code without barriers: it may be cancelled inside.
[[gnu::transaction_safe, gnu::noinline]] void add_or_cancel(long* word, long limit) {
    __transaction_atomic {
        *word += 1;
        if (*word > limit) HOLDFAST_CANCEL;
    }
}
[[gnu::transaction_pure, gnu::noinline]] void tell_later(step later) {
    _ITM_addUserCommitAction([](void* f) { reinterpret_cast<step>(f)(); }, 1, reinterpret_cast<void*>(later));
}

}  // namespace

void add_both(long* one, long* other, step inside) {
    __transaction_atomic {
        *one += 1;
        call(inside);
        *other += 1;
    }
}
bool add_and_take_back(long* word) {
    bool kept = false;
    __transaction_atomic {
        *word += 1;
        kept = true;
        if (*word != 0) HOLDFAST_CANCEL;
    }
    return kept;
}
void add_around_a_cancelled_block(long* outer, long* inner) {
    __transaction_atomic {
        *outer += 1;
        __transaction_atomic {
            *inner += 1;
            if (*inner != 0) HOLDFAST_CANCEL;
        }
        *outer += 1;
    }
}
long add_in_nested_blocks(long* word) {
    long sum = 0;
    __transaction_atomic {
        add_or_cancel(word, 1000);
        __transaction_atomic { *word += 1; }
        add_or_cancel(word, 1000);
        sum = *word;
    }
    return sum;
}
long* make_long(long value) {
    long* made;
    __transaction_atomic { made = new long(value); }
    return made;
}
void replace_long(long** place, long value) {
    __transaction_atomic {
        delete *place;
        *place = new long(value);
    }
}
void add_and_throw(long* word) {
    __transaction_atomic {
        *word += 1;
        throw_now(*word);
    }
}
void add_and_tell(long* word, step later) {
    __transaction_atomic {
        *word += 1;
        tell_later(later);
    }
}
void add_relaxed(long* word, step has_no_clone) {
    __transaction_relaxed {
        *word += 1;
        has_no_clone();
        *word += 1;
    }
}
long read_both(const long* one, const long* other) {
    long sum = 0;
    __transaction_atomic { sum = *one + *other; }
    return sum;
}
long count_in_own_frame(long* word, step inside) {
    long own[8] = {};
    long sum = 100;
    __transaction_atomic {
        for (long& each : own) each += *word + 1;
        sum += own[0];
        call(inside);
        for (const long each : own) sum += each;
        *word += 1;
    }
    return sum;
}

}  // namespace holdfast::itm
