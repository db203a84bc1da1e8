#include <holdfast/itm/conflicting_blocks_test.hpp>
#include <holdfast/itm/itm.hpp>

#include <sched.h>

#include <cstdint>
#include <cstdlib>

extern "C" [[gnu::transaction_pure]] void _ITM_LU8(const std::uint64_t* variable);

namespace holdfast::itm {
namespace {

[[gnu::transaction_pure, gnu::noinline]] void run_once(const std::function<void()>& f, std::atomic<bool>& wants) {
    if (wants.exchange(false)) f();
}
[[gnu::transaction_pure, gnu::noinline]] void count(int& counter) { ++counter; }

}  // namespace

void set(long* home, long value) {
    __transaction_atomic { *home = value; }
}
long read_in_block(const long* home) {
    long found;
    __transaction_atomic { found = *home; }
    return found;
}
long add_in_block(long* home, long more) {
    long sum;
    __transaction_atomic { sum = *home += more; }
    return sum;
}
bool add_and_cancel(long* home) {
    bool kept = false;
    __transaction_atomic {
        *home += 1;
        kept = true;
        if (*home != 0) HOLDFAST_CANCEL;
    }
    return kept;
}

[[gnu::transaction_pure, gnu::noinline]] static void call(void (*f)()) { f(); }

void move_some(long* words, int round, void (*pause)()) {
    __transaction_atomic {
        words[63] += 1;
        call(pause);
        words[round % 7] -= 1;
        words[7 + round % 11] += 1;
    }
}
void move_one(long* words, void (*pause)()) {
    __transaction_atomic {
        words[0] += 1;
        call(pause);
        words[1] -= 1;
    }
}
void let_others_run() {
    static thread_local unsigned calls = 0;
    if (++calls % 16 == 0) sched_yield();
}

void read_change_read(long* words, const std::function<void()>& change, std::atomic<bool>& wants, int& behind) {
    __transaction_atomic {
        const long first = words[0];
        run_once(change, wants);
        words[16] = first + words[8];
        count(behind);
    }
}

[[gnu::transaction_pure, gnu::noinline]] static void add_plainly(long* own) {
    _ITM_LU8(reinterpret_cast<const std::uint64_t*>(own));
    *own += 1;
}
void add_to_own_and_read(long* own, long* words, const std::function<void()>& change, std::atomic<bool>& wants) {
    __transaction_atomic {
        add_plainly(own);
        const long first = words[0];
        run_once(change, wants);
        words[16] = first + words[8];
    }
}

[[gnu::transaction_pure, gnu::noinline]] static void tell_if_undone(const char* what) {
    _ITM_addUserUndoAction([](void* said) { undone += static_cast<const char*>(said); }, const_cast<char*>(what));
}
void tell_and_read(long* words, const std::function<void()>& change, std::atomic<bool>& wants) {
    __transaction_atomic {
        tell_if_undone("a");
        const long first = words[0];
        tell_if_undone("b");
        run_once(change, wants);
        words[16] = first + words[8];
    }
}

[[gnu::transaction_pure, gnu::noinline]] static void tell_at_commit() {
    _ITM_addUserCommitAction([](void*) { ++told; }, 1, nullptr);
    tell_if_undone("u");
}
void add_and_tell(long* home) {
    __transaction_atomic {
        tell_at_commit();
        *home += 1;
    }
}

counted_object* make_counted(long value) {
    counted_object* made;
    __transaction_atomic {
        made = new counted_object;
        made->value = value;
    }
    return made;
}
void delete_counted(counted_object* object) {
    __transaction_atomic { delete object; }
}

}  // namespace holdfast::itm
