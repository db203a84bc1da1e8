// Laws of begin, end, cancel, nesting, restart, exceptions and actions.
#include <holdfast/itm/itm.hpp>
#include <holdfast/itm/laws_test.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

extern "C" {
[[noreturn, gnu::transaction_pure]] void _ITM_abortTransaction(std::uint32_t);
[[gnu::transaction_pure]] void _ITM_LU8(const std::uint64_t*);
[[gnu::transaction_pure]] void* _ITM_getTMCloneOrIrrevocable(void*);
void _ITM_registerTMCloneTable(void*, std::size_t);
void _ITM_deregisterTMCloneTable(void*);
}

namespace holdfast::itm {
namespace {

long shared_word, second_word;
int attempts;
std::string told;
/// What was told. The compiler knows nothing of actions and would take `told` for unchanged.
[[gnu::noipa]] std::string heard() { return told; }

/// Restarts the block until `times` attempts have come here.
[[gnu::transaction_pure, gnu::noinline]] void restart_until(int times) {
    if (++attempts < times) _ITM_abortTransaction(2);
}
[[gnu::transaction_pure, gnu::noinline]] void tell_later(const char* what) {
    _ITM_addUserCommitAction([](void* text) { told += static_cast<const char*>(text); }, 1, const_cast<char*>(what));
}
[[gnu::transaction_pure, gnu::noinline]] void tell_if_undone(const char* what) {
    _ITM_addUserUndoAction([](void* text) { told += static_cast<const char*>(text); }, const_cast<char*>(what));
}

/// A store that the compiler keeps whatever is stored next.
[[gnu::transaction_safe, gnu::noipa]] void put(long* home, long value) { *home = value; }

const char* stores_are_seen() {
    shared_word = 1;
    __transaction_atomic { shared_word += 4; }
    HOLDFAST_ITM_HOLDS(shared_word == 5);
    return nullptr;
}

const char* cancel_changes_nothing() {
    shared_word = 1;
    second_word = 2;
    bool behind = false;
    __transaction_atomic {
        shared_word = 10;
        second_word = 20;
        if (shared_word == 10) __transaction_cancel;
        shared_word = 30;
    }
    behind = true;
    HOLDFAST_ITM_HOLDS(shared_word == 1 && second_word == 2 && behind);
    return nullptr;
}

const char* nested_cancel_is_alone() {
    shared_word = second_word = 0;
    __transaction_atomic {
        shared_word = 1;
        __transaction_atomic {
            put(&shared_word, 2);
            second_word = 2;
            put(&shared_word, 3);
            if (second_word == 2) __transaction_cancel;
        }
        second_word += 10;
    }
    HOLDFAST_ITM_HOLDS(shared_word == 1);
    HOLDFAST_ITM_HOLDS(second_word == 10);
    return nullptr;
}

const char* nested_commit_belongs_to_outer() {
    shared_word = second_word = 0;
    __transaction_atomic {
        shared_word = 1;
        __transaction_atomic {
            second_word = 2;
            if (shared_word == 7) __transaction_cancel;
        }
        if (second_word == 2) __transaction_cancel;
    }
    HOLDFAST_ITM_HOLDS(shared_word == 0 && second_word == 0);
    return nullptr;
}

const char* cancels_nest_deeply() {
    static long values[3];
    for (long& each : values) each = 0;
    __transaction_atomic {
        put(&values[0], 1);
        __transaction_atomic {
            put(&values[1], 1);
            __transaction_atomic {
                put(&values[2], 1);
                put(&values[1], 7);
                if (values[2] == 1) __transaction_cancel;
            }
            values[0] = values[1] + 1;
            if (values[0] == 5) __transaction_cancel;
        }
    }
    HOLDFAST_ITM_HOLDS(values[0] == 2 && values[1] == 1 && values[2] == 0);
    return nullptr;
}

[[gnu::transaction_safe, gnu::noinline]] void inner_block() {
    __transaction_atomic { second_word += 1; }
}

const char* inner_end_does_not_commit() {
    shared_word = second_word = 0;
    __transaction_atomic {
        shared_word = 1;
        inner_block();
        if (second_word == 1) __transaction_cancel;
    }
    HOLDFAST_ITM_HOLDS(shared_word == 0 && second_word == 0);
    return nullptr;
}

[[gnu::transaction_may_cancel_outer, gnu::noinline]] void leave_all(long value) {
    __transaction_atomic {
        second_word = value;
        if (value == 3) __transaction_cancel [[outer]];
    }
}

const char* outer_cancel_takes_all_back() {
    shared_word = second_word = 0;
    __transaction_atomic [[outer]] {
        shared_word = 1;
        leave_all(3);
        shared_word = 4;
    }
    HOLDFAST_ITM_HOLDS(shared_word == 0 && second_word == 0);
    return nullptr;
}

/// As code does that the compiler could not instrument, it notes its variable and stores to it plainly.
[[gnu::transaction_pure, gnu::noinline]] void add_to_own(std::uint64_t* variable) {
    _ITM_LU8(variable);
    *variable += 1;
}

const char* restart_restores_locals() {
    attempts = 0;
    std::uint64_t own = 5;
    static std::uint64_t another = 7;
    another = 7;
    long sum = 3;
    __transaction_atomic {
        add_to_own(&own);
        add_to_own(&another);
        sum += 1;
        shared_word = sum;
        restart_until(3);
    }
    HOLDFAST_ITM_HOLDS(attempts >= 3);
    HOLDFAST_ITM_HOLDS(own == 6 && another == 8);
    HOLDFAST_ITM_HOLDS(sum == 4 && shared_word == 4);
    return nullptr;
}

[[gnu::transaction_safe, gnu::noinline]] long sum_of_frame(long depth) {
    long here[4] = {depth, 1, 2, 3};
    if (depth > 0) here[3] = sum_of_frame(depth - 1);
    return here[0] + here[3];
}

const char* frames_inside_are_plain() {
    attempts = 0;
    __transaction_atomic {
        shared_word = sum_of_frame(20);
        restart_until(2);
    }
    HOLDFAST_ITM_HOLDS(shared_word == 213);
    return nullptr;
}

struct thrown {
    int value;
};
[[gnu::transaction_safe, gnu::noinline]] void throw_if(int value) {
    if (value != 0) throw thrown{value};
}

const char* exception_commits() {
    shared_word = 0;
    int caught = 0;
    try {
        __transaction_atomic {
            shared_word = 3;
            throw_if(8);
            shared_word = 4;
        }
    } catch (const thrown& what) {
        caught = what.value;
    }
    HOLDFAST_ITM_HOLDS(shared_word == 3 && caught == 8 && std::uncaught_exceptions() == 0);
    return nullptr;
}

struct restarts_on_the_way {
    [[gnu::transaction_safe]] ~restarts_on_the_way() { restart_until(3); }
};
[[gnu::transaction_safe, gnu::noinline]] void throw_past_object(int value) {
    restarts_on_the_way object;
    throw_if(value);
}

const char* restart_drops_exceptions() {
    attempts = 0;
    shared_word = 0;
    int caught = 0;
    try {
        __transaction_atomic {
            shared_word += 1;
            throw_past_object(2);
        }
    } catch (const thrown& what) {
        caught = what.value;
    }
    HOLDFAST_ITM_HOLDS(attempts >= 3 && caught == 2 && shared_word == 1);
    HOLDFAST_ITM_HOLDS(std::uncaught_exceptions() == 0);
    return nullptr;
}

const char* commit_actions_in_order() {
    told.clear();
    attempts = 0;
    __transaction_atomic {
        tell_later("a");
        shared_word = 1;
        tell_later("b");
        restart_until(2);
    }
    HOLDFAST_ITM_HOLDS(heard() == "ab");
    return nullptr;
}

const char* commit_actions_of_cancelled_do_not_run() {
    told.clear();
    __transaction_atomic {
        tell_later("a");
        put(&second_word, 1);
        __transaction_atomic {
            tell_later("b");
            shared_word = 1;
            if (shared_word == 1) __transaction_cancel;
        }
        tell_later("c");
    }
    __transaction_atomic {
        tell_later("d");
        shared_word = 1;
        if (shared_word == 1) __transaction_cancel;
    }
    HOLDFAST_ITM_HOLDS(heard() == "ac");
    return nullptr;
}

const char* undo_actions_run_where_undone() {
    told.clear();
    __transaction_atomic {
        tell_if_undone("a");
        shared_word = 1;
    }
    HOLDFAST_ITM_HOLDS(heard().empty());
    __transaction_atomic {
        tell_if_undone("a");
        tell_if_undone("b");
        shared_word = 1;
        if (shared_word == 1) __transaction_cancel;
    }
    HOLDFAST_ITM_HOLDS(heard() == "ba");
    __transaction_atomic {
        tell_if_undone("c");
        __transaction_atomic {
            tell_if_undone("d");
            shared_word = 2;
            if (shared_word == 2) __transaction_cancel;
        }
    }
    HOLDFAST_ITM_HOLDS(heard() == "bad");
    return nullptr;
}

const char* actions_may_use_blocks() {
    shared_word = 0;
    attempts = 0;
    __transaction_atomic {
        _ITM_addUserCommitAction([](void*) { __transaction_atomic { shared_word += 10; } }, 1, nullptr);
        _ITM_addUserUndoAction([](void*) { __transaction_atomic { shared_word += 100; } }, nullptr);
        shared_word += 1;
        restart_until(2);
    }
    HOLDFAST_ITM_HOLDS(shared_word == 111);
    return nullptr;
}

int state_inside;
[[gnu::transaction_pure, gnu::noinline]] void look() { state_inside = _ITM_inTransaction(); }
[[gnu::noinline]] void no_clone() {
    asm volatile("" : : : "memory");  // which no clone can contain
    state_inside = _ITM_inTransaction();
    shared_word += 100;
}

const char* relaxed_becomes_irrevocable() {
    shared_word = 0;
    HOLDFAST_ITM_HOLDS(_ITM_inTransaction() == 0 && _ITM_getTransactionId() == 1);
    __transaction_atomic {
        shared_word = 1;
        look();
    }
    HOLDFAST_ITM_HOLDS(state_inside == 1);
    __transaction_relaxed {
        shared_word += 1;
        if (shared_word == 2) no_clone();
        shared_word += 1;
    }
    HOLDFAST_ITM_HOLDS(state_inside == 2 && shared_word == 103);
    __transaction_relaxed {
        no_clone();
        shared_word += 1;
    }
    HOLDFAST_ITM_HOLDS(state_inside == 2 && shared_word == 204 && _ITM_inTransaction() == 0);
    return nullptr;
}

[[gnu::transaction_safe]] void add_one() { shared_word += 1; }
[[gnu::transaction_safe]] void add_two() { shared_word += 2; }
typedef void safe_function() __attribute__((transaction_safe));

const char* clones_are_found() {
    // Newest first, as a table is that nobody sorted.
    static char functions[64];
    static char instrumented[64];
    static void* table[64][2];
    static int fewer = 0;  // another table each time: one that was here before is known
    const int count = 64 - fewer++ % 32;
    for (int each = 0; each < count; ++each) {
        table[each][0] = &functions[63 - each];
        table[each][1] = &instrumented[63 - each];
    }
    _ITM_registerTMCloneTable(table, static_cast<std::size_t>(count));
    bool found = true;
    for (int each = 64 - count; each < 64; ++each)
        found = found && _ITM_getTMCloneOrIrrevocable(&functions[each]) == &instrumented[each];
    _ITM_deregisterTMCloneTable(table);
    HOLDFAST_ITM_HOLDS(found);
    shared_word = 0;
    safe_function* const steps[] = {&add_two, &add_one};
    for (safe_function* const step : steps) {
        __transaction_atomic {
            step();
            look();
        }
        HOLDFAST_ITM_HOLDS(state_inside == 1);
    }
    HOLDFAST_ITM_HOLDS(shared_word == 3);
    return nullptr;
}

const char* threads_count_together() {
    static long counters[16];
    for (long& each : counters) each = 0;
    constexpr int threads = 4, rounds = 5000;
    std::vector<std::thread> workers;
    for (int each = 0; each < threads; ++each)
        workers.emplace_back([each] {
            for (int round = 0; round < rounds; ++round) __transaction_atomic {
                    counters[0] += 1;
                    counters[(round + each) % 15 + 1] += 1;
                    __transaction_atomic {
                        counters[0] += 7;
                        if (round % 3 != each % 3) __transaction_cancel;
                        counters[0] -= 7;
                    }
                }
        });
    for (std::thread& each : workers) each.join();
    long sum = 0;
    for (const long each : counters) sum += each;
    HOLDFAST_ITM_HOLDS(counters[0] == threads * rounds && sum == 2 * threads * rounds);
    return nullptr;
}

}  // namespace

std::vector<law> laws_of_blocks() {
    return {
        {"a block's stores are seen after it", stores_are_seen},
        {"a cancelled block changes nothing", cancel_changes_nothing},
        {"a nested cancel takes back the nested block alone", nested_cancel_is_alone},
        {"what a nested block committed goes with a cancelled outer one", nested_commit_belongs_to_outer},
        {"cancels nest as deeply as blocks", cancels_nest_deeply},
        {"the end of an inner block does not commit the outer one", inner_end_does_not_commit},
        {"an outer cancel takes all back", outer_cancel_takes_all_back},
        {.sentence = "a restart restores local variables",
         .broken = restart_restores_locals,
         .needs_barriers = true},
        {.sentence = "frames born inside a block are the block's own",
         .broken = frames_inside_are_plain,
         .needs_barriers = true},
        {"an exception that leaves a block commits it", exception_commits},
        {.sentence = "a restart drops the exceptions of the failed attempt",
         .broken = restart_drops_exceptions,
         .needs_barriers = true},
        {.sentence = "commit actions run after commit, in order",
         .broken = commit_actions_in_order,
         .needs_barriers = true},
        {"commit actions of a cancelled block do not run", commit_actions_of_cancelled_do_not_run},
        {"undo actions run where something is undone, newest first", undo_actions_run_where_undone, true},
        {.sentence = "actions may use blocks themselves",
         .broken = actions_may_use_blocks,
         .counts_attempts = true,
         .needs_barriers = true},
        {.sentence = "a relaxed block becomes irrevocable before it calls what has no clone",
         .broken = relaxed_becomes_irrevocable,
         .needs_software = true,
         .needs_barriers = true},
        {.sentence = "every clone is found, however its table is sorted",
         .broken = clones_are_found,
         .needs_barriers = true},
        {"threads that count together lose nothing", threads_count_together, true},
    };
}

}  // namespace holdfast::itm
