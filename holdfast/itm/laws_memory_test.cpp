// Laws of memory. Every allocation is counted, by replacements of the global operators.
#include <holdfast/itm/itm.hpp>
#include <holdfast/itm/laws_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <vector>

extern "C" [[noreturn, gnu::transaction_pure]] void _ITM_abortTransaction(std::uint32_t);

using void_function = void();
/// Blocks that the replaced operators have given out and not taken back; counted_new_test.cpp.
extern thread_local constinit long living_blocks;
extern thread_local constinit void_function* called_by_delete;

namespace holdfast::itm {
namespace {

int attempts;
long seen;
[[gnu::transaction_pure, gnu::noinline]] void look() { seen = living_blocks; }
[[gnu::transaction_pure, gnu::noinline]] void restart_once() {
    if (++attempts < 2) _ITM_abortTransaction(2);
}
/// Commits that make earlier frees due, where the algorithm waits with them for older transactions.
long any_value;
char* no_block;
void let_frees_happen() {
    for (int each = 0; each < 1000; ++each) __transaction_atomic {
            long* const block = new long(each);
            any_value = *block;
            delete block;
        }
}

struct alignas(64) line : aligned_new<64> {
    explicit line(long first) : value(first) {}
    long value;
};
struct counted_element {
    long value = 3;
    static inline long destroyed = 0;
    [[gnu::transaction_safe]] ~counted_element() { destroyed += 1; }
};

const char* freed_at_commit_only() {
    let_frees_happen();
    long* const block = new long(5);
    const long before = living_blocks;
    static long* shared;
    shared = block;
    __transaction_atomic {
        delete shared;
        look();
        if (any_value >= 0) __transaction_cancel;
    }
    HOLDFAST_ITM_HOLDS(seen == before);
    HOLDFAST_ITM_HOLDS(living_blocks == before);
    HOLDFAST_ITM_HOLDS(*shared == 5);
    __transaction_atomic {
        delete shared;
        look();
    }
    HOLDFAST_ITM_HOLDS(seen == before);
    let_frees_happen();
    HOLDFAST_ITM_HOLDS(living_blocks < before + 600);
    return nullptr;
}

const char* cancel_gives_back() {
    let_frees_happen();
    const long before = living_blocks;
    static long* kept;
    kept = nullptr;
    for (int round = 0; round < 3000; ++round) {
        __transaction_atomic {
            kept = new long[10];
            kept[3] = 7;
            void* const plain = std::malloc(100);
            std::free(plain);
            line* const aligned = new line(0);
            aligned->value = kept[3];
            if (aligned->value == 7) __transaction_cancel;
        }
    }
    HOLDFAST_ITM_HOLDS(kept == nullptr && living_blocks <= before + 600);
    return nullptr;
}

const char* restart_gives_back() {
    let_frees_happen();
    const long before = living_blocks;
    for (int round = 0; round < 3000; ++round) {
        attempts = 0;
        long* made;
        __transaction_atomic {
            made = new long(round);
            restart_once();
        }
        HOLDFAST_ITM_HOLDS(*made == round);
        delete made;
    }
    HOLDFAST_ITM_HOLDS(living_blocks <= before + 600);
    return nullptr;
}

const char* nested_blocks_go_with_their_cancel() {
    let_frees_happen();
    const long before = living_blocks;
    for (int round = 0; round < 3000; ++round) {
        static long* shared;
        static long* inside;
        shared = new long(1);
        inside = nullptr;
        __transaction_atomic {
            *shared += 1;
            __transaction_atomic {
                delete shared;
                inside = new long(2);
                shared = inside;
                if (*inside == 2) __transaction_cancel;
            }
            *shared += 1;
        }
        HOLDFAST_ITM_HOLDS(inside == nullptr && *shared == 3);
        delete shared;
    }
    let_frees_happen();
    HOLDFAST_ITM_HOLDS(living_blocks <= before + 600 && living_blocks >= before - 600);
    return nullptr;
}

const char* nested_commit_frees() {
    let_frees_happen();
    const long before = living_blocks;
    for (int round = 0; round < 3000; ++round) {
        static long* shared;
        shared = new long(round);
        __transaction_atomic {
            __transaction_atomic {
                delete shared;
                shared = nullptr;
                if (shared != nullptr) __transaction_cancel;
            }
        }
    }
    let_frees_happen();
    HOLDFAST_ITM_HOLDS(living_blocks <= before + 600 && living_blocks >= before - 600);
    return nullptr;
}

const char* all_forms_work() {
    let_frees_happen();
    const long before = living_blocks;
    counted_element::destroyed = 0;
    for (int round = 0; round < 100; ++round) {
        static long sum;
        sum = 0;
        __transaction_atomic {
            counted_element* const elements = new counted_element[5];
            for (int each = 0; each < 5; ++each) sum += elements[each].value;
            line* const aligned = new line(4);
            sum += aligned->value;
            auto* const cleared = static_cast<long*>(std::calloc(3, sizeof(long)));
            sum += cleared[2];
            std::free(cleared);
            delete aligned;
            delete[] elements;
        }
        HOLDFAST_ITM_HOLDS(sum == 19);
    }
    let_frees_happen();
    HOLDFAST_ITM_HOLDS(counted_element::destroyed == 500 && living_blocks <= before + 600);
    return nullptr;
}

struct page {
    long values[512];
};

/// Blocks of the transaction are filled, copied, freed and allocated again, beside shared memory that it stores to.
const char* fresh_blocks_hold_what_was_copied() {
    static page* source;
    static page* made;
    static long of_second;
    source = new page;
    for (long each = 0; each < 512; ++each) source->values[each] = each;
    for (int round = 0; round < 3; ++round) {
        attempts = round == 0 ? 2 : 0;
        made = nullptr;
        __transaction_atomic {
            source->values[7] = -7;
            made = new page;
            std::memcpy(made, source, sizeof(page));
            made->values[8] = made->values[7] + 1;
            source->values[9] += 100;
            auto* const first = static_cast<page*>(std::malloc(sizeof(page)));
            std::memset(first, 1, sizeof(page));
            std::free(first);
            auto* const second = static_cast<page*>(std::calloc(1, sizeof(page)));
            of_second = second->values[511];
            std::memmove(second->values + 1, made->values, sizeof(page) - sizeof(long));
            of_second += second->values[9];
            std::free(second);
            restart_once();
            if (round == 2) __transaction_cancel;
        }
        if (round == 2) break;
        HOLDFAST_ITM_HOLDS(made->values[7] == -7 && made->values[8] == -6 && made->values[511] == 511);
        HOLDFAST_ITM_HOLDS(made->values[9] == 9 + 100 * round && source->values[9] == 109 + 100 * round);
        HOLDFAST_ITM_HOLDS(of_second == -6);
        delete made;
    }
    HOLDFAST_ITM_HOLDS(made == nullptr && source->values[9] == 209);
    delete source;
    return nullptr;
}

/// More than stm::large_write_set, and not many more: a mock tries a conflict at each access.
constexpr int large_count = 80;
long many_values[large_count];
bool all_are(long value) {
    for (const long each : many_values)
        if (each != value) return false;
    return true;
}

const char* large_write_sets_are_taken_back() {
    static long sum;
    for (long& each : many_values) each = 1;
    __transaction_atomic {
        for (int each = 0; each < large_count; ++each) many_values[each] = 2;
        if (many_values[large_count - 1] == 2) __transaction_cancel;
    }
    HOLDFAST_ITM_HOLDS(all_are(1));
    attempts = 0;
    __transaction_atomic {
        sum = 0;
        for (int each = 0; each < large_count; ++each) {
            sum += many_values[each];
            many_values[each] = 3;
        }
        restart_once();
    }
    HOLDFAST_ITM_HOLDS(sum == large_count && all_are(3));
    __transaction_atomic {
        for (int each = 0; each < large_count; ++each) many_values[each] = 4;
        __transaction_atomic {
            for (int each = 0; each < large_count; ++each) many_values[each] = 5;
            if (many_values[0] == 5) __transaction_cancel;
        }
        sum = many_values[large_count - 1];
    }
    HOLDFAST_ITM_HOLDS(sum == 4 && all_are(4));
    return nullptr;
}

struct thrown {
    long* owned;
};
[[gnu::transaction_safe, gnu::noinline]] void throw_block(long value) {
    if (value != 0) throw thrown{new long(value)};
}

const char* exceptions_carry_memory() {
    let_frees_happen();
    const long before = living_blocks;
    for (int round = 0; round < 500; ++round) {
        attempts = 0;
        long caught = 0;
        try {
            __transaction_atomic {
                restart_once();
                throw_block(round + 1);
            }
        } catch (const thrown& what) {
            caught = *what.owned;
            delete what.owned;
        }
        HOLDFAST_ITM_HOLDS(caught == round + 1);
    }
    HOLDFAST_ITM_HOLDS(living_blocks <= before + 600);
    return nullptr;
}

const char* no_room_is_an_exception() {
    static long reached;
    reached = 0;
    static volatile std::size_t too_many = std::numeric_limits<std::size_t>::max() / 16;
    const std::size_t many = too_many;
    bool caught = false;
    try {
        __transaction_atomic {
            reached = 1;
            no_block = new char[many];
            reached = 2;
        }
    } catch (const std::bad_alloc&) {
        caught = true;
    }
    HOLDFAST_ITM_HOLDS(caught && reached == 1 && std::uncaught_exceptions() == 0);
    return nullptr;
}

long deletions, acted, held_word;
void count_acted(void*) { ++acted; }
[[gnu::transaction_pure, gnu::noinline]] void act_later() { _ITM_addUserCommitAction(count_acted, 1, nullptr); }
void count_deletion() {
    __transaction_atomic {
        ++deletions;
        act_later();
    }
}

/// What a block leaves to do, and what it has to take back, outlasts blocks of the allocator that it gives memory to.
template <bool Restarts>
const char* allocator_may_have_blocks() {
    let_frees_happen();
    deletions = acted = 0;
    long expected = 0;
    const auto run = [&](bool cancels, bool restarts) {
        long own = 5;
        attempts = restarts ? 0 : 2;
        long* const old = new long(1);
        called_by_delete = count_deletion;
        __transaction_atomic {
            long* const fresh = new long(own);
            own += *fresh;
            act_later();
            held_word = own;
            restart_once();
            delete old;
            delete fresh;
            if (cancels) HOLDFAST_CANCEL;
        }
        called_by_delete = nullptr;
        expected += cancels ? 0 : 1;
        if (cancels) delete old;
        return own == (cancels ? 5 : 10);
    };
    for (int round = 0; round < 1500; ++round) {
        HOLDFAST_ITM_HOLDS(run(false, false));
        HOLDFAST_ITM_HOLDS(run(true, Restarts));
        HOLDFAST_ITM_HOLDS(run(false, Restarts));
    }
    HOLDFAST_ITM_HOLDS(deletions > 1000);
    HOLDFAST_ITM_HOLDS(acted == expected + deletions);
    return nullptr;
}

}  // namespace

std::vector<law> laws_of_memory() {
    return {
        {.sentence = "what a block frees is freed at its commit only",
         .broken = freed_at_commit_only,
         .needs_software = true,
         .needs_barriers = true},
        {"a cancel gives back what the block allocated", cancel_gives_back},
        {.sentence = "a restart gives back what the attempt allocated",
         .broken = restart_gives_back,
         .needs_barriers = true},
        {"a nested cancel gives back its blocks and frees nothing", nested_blocks_go_with_their_cancel},
        {"what a nested block freed is freed with the outer commit", nested_commit_frees},
        {"all forms of new, delete, malloc and free work in a block", all_forms_work},
        {.sentence = "an exception carries memory of the block out",
         .broken = exceptions_carry_memory,
         .needs_barriers = true},
        {"fresh blocks hold what was copied into them", fresh_blocks_hold_what_was_copied},
        {.sentence = "large write sets are taken back by a cancel, a restart, a nested cancel",
         .broken = large_write_sets_are_taken_back,
         .needs_barriers = true},
        {"where there is no room, std::bad_alloc leaves the block", no_room_is_an_exception},
        {.sentence = "a commit or a cancel that gives memory to an allocator with blocks loses nothing",
         .broken = allocator_may_have_blocks<false>,
         .counts_attempts = true},
        {.sentence = "a restart that gives memory to an allocator with blocks loses nothing",
         .broken = allocator_may_have_blocks<true>,
         .counts_attempts = true,
         .needs_barriers = true},
    };
}

}  // namespace holdfast::itm
