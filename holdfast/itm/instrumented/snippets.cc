// Functions with atomic blocks, whose machine code assembly_test.py reads. `p` is shared: outside of blocks it is
// touched only behind a call of mine(), which says that nobody else has it.
void mine();
void use(long);

long one_of_two_branches(long* p, int shared) {
    long r;
    if (shared) {
        __transaction_atomic { r = *p; }
    } else {
        mine();
        r = *p;
    }
    return r;
}

long branches_without_marks(long* p, int shared) {
    long r;
    if (shared) {
        __transaction_atomic { r = *p; }
    } else {
        r = *p;
        mine();
    }
    return r;
}

long own_first(long* p, int own) {
    long r = 0, s;
    if (own) {
        mine();
        r = *p;
    }
    __transaction_atomic { s = *p; }
    return r + s;
}

long own_afterwards(long* p, int own) {
    long s;
    __transaction_atomic { s = *p; }
    if (own) {
        mine();
        s += *p;
    }
    return s;
}

long in_a_loop(long* p, int count) {
    long sum = 0;
    for (int each = 0; each < count; ++each) {
        __transaction_atomic {
            sum += *p;
            if (p[1] == each) p[2] = sum;
        }
    }
    return sum;
}

long some_rounds_are_own(long* p, const int count) {
    long sum = 0;
    for (int each = 0; each < count; ++each) {
        if (each % 3 == 0) {
            mine();
            sum += *p;
        } else {
            __transaction_atomic { sum += *p; }
        }
    }
    return sum;
}

void counts(long* p) {
    __transaction_atomic { ++*p; }
}

void cancels(long* p, long limit) {
    __transaction_atomic {
        *p += 1;
        if (*p > limit) __transaction_cancel;
        p[1] += 1;
    }
}

const char* behind_an_inner_block(long* p) {
    __transaction_atomic {
        p[0] = 1;
        p[1] = 0;
        __transaction_atomic {
            p[1] = 2;
            if (p[0] == 7) __transaction_cancel;
        }
        if (p[1] == 2) __transaction_cancel;
    }
    return "done";
}

static long a_word, another_word;

const char* behind_an_inner_block_static() {
    mine();
    a_word = another_word = 0;
    __transaction_atomic {
        a_word = 1;
        __transaction_atomic {
            another_word = 2;
            if (a_word == 7) __transaction_cancel;
        }
        if (another_word == 2) __transaction_cancel;
    }
    if (a_word != 0) return "a";
    if (another_word != 0) return "another";
    return nullptr;
}

long inner_in_a_loop(long* p, int count) {
    long sum = 0;
    __transaction_atomic {
        for (int each = 0; each < count; ++each) {
            __transaction_atomic {
                p[each] += 1;
                if (p[each] > 10) __transaction_cancel;
            }
            sum += p[each];
        }
    }
    return sum;
}

struct node {
    node* next;
    long value;
};

long sum_of_list(node* p) {
    long sum = 0;
    __transaction_atomic {
        for (; p != nullptr; p = p->next) sum += p->value;
    }
    return sum;
}

void two_blocks(long* p) {
    long r;
    __transaction_atomic { r = *p; }
    use(r);
    __transaction_atomic { *p = r + 1; }
}

long a_switch(long* p, int kind) {
    long r = 0;
    switch (kind) {
        case 0:
            __transaction_atomic { r = p[0]; }
            break;
        case 1:
            __transaction_atomic { r = p[0] + p[1]; }
            break;
        case 2:
            mine();
            r = p[0];
            break;
        default: break;
    }
    return r;
}

void zeros(long* p, int count) {
    __transaction_atomic {
        for (int i = 0; i < count; ++i) p[i] = 0;
    }
}

void copies(long* __restrict p, const long* __restrict from, int count) {
    __transaction_atomic {
        for (int i = 0; i < count; ++i) p[i] = from[i];
    }
}

[[gnu::noinline]] static long loaded_in_callee(const long* p) {
    long r;
    __transaction_atomic { r = *p; }
    return r;
}

long loads_in_callee(const long* p) { return loaded_in_callee(p) + 1; }

[[gnu::noinline]] static void fill(long* p) { *p = 7; }

long memory_of_its_own() {
    auto* const p = static_cast<long*>(__builtin_malloc(sizeof(long)));
    long r;
    __transaction_atomic {
        fill(p);
        r = *p;
    }
    __builtin_free(p);
    return r;
}

long waits(const long* p) {
    for (;;) {
        long r;
        __transaction_atomic { r = *p; }
        if (r != 0) return r;
    }
}

void some_words(long* p, const long* chosen, int count) {
    __transaction_atomic {
        for (int each = 0; each < count; ++each)
            if (chosen[each] != 0) p[each] = each;
    }
}

long words_by_index(const long* p, const int* places, int count) {
    long sum = 0;
    __transaction_atomic {
        for (int each = 0; each < count; ++each) sum += p[places[each]];
    }
    return sum;
}
