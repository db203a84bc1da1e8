// Locks, waits, sleeps and clocks of scheduled threads: never asleep in the kernel, where the schedule would
// end, but handing on. All other threads get what they called.
#include <crash/record/interpose.hpp>
#include <crash/record/scheduler.hpp>

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace holdfast::crash {

void interpose_locks() noexcept {}

namespace {

/// The C library's own functions.
struct definitions {
    template <class F>
    struct next {
        explicit next(const char* name) : call(next_definition<F>(name)) {}
        template <class... Arguments>
        int operator()(Arguments... arguments) const {
            return call(arguments...);
        }
        F* call;
    };
    using of_mutex = next<int(pthread_mutex_t*)>;
    using of_rwlock = next<int(pthread_rwlock_t*)>;
    using of_condition = next<int(pthread_cond_t*)>;

    of_mutex lock{"pthread_mutex_lock"}, try_lock{"pthread_mutex_trylock"}, unlock{"pthread_mutex_unlock"};
    next<int(pthread_mutex_t*, const timespec*)> lock_until{"pthread_mutex_timedlock"};
    next<int(pthread_mutex_t*, clockid_t, const timespec*)> lock_until_by{"pthread_mutex_clocklock"};
    of_rwlock read_lock{"pthread_rwlock_rdlock"}, try_read_lock{"pthread_rwlock_tryrdlock"};
    of_rwlock write_lock{"pthread_rwlock_wrlock"}, try_write_lock{"pthread_rwlock_trywrlock"};
    of_rwlock unlock_both{"pthread_rwlock_unlock"};
    next<int(pthread_cond_t*, pthread_mutex_t*)> wait{"pthread_cond_wait"};
    next<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> wait_until{"pthread_cond_timedwait"};
    next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> wait_until_by{"pthread_cond_clockwait"};
    of_condition signal{"pthread_cond_signal"}, broadcast{"pthread_cond_broadcast"};
    next<int()> yield{"sched_yield"};
    next<int(const timespec*, timespec*)> sleep{"nanosleep"};
    next<int(clockid_t, int, const timespec*, timespec*)> sleep_by{"clock_nanosleep"};
    next<int(clockid_t, timespec*)> look{"clock_gettime"};
};

const definitions& real() noexcept {
    static const definitions all;
    return all;
}

constexpr std::int64_t second_ns = 1'000'000'000;

std::int64_t to_ns(const timespec& time) { return time.tv_sec * second_ns + time.tv_nsec; }

/// The processor time of a process or thread is none of a run's.
bool is_known(clockid_t clock) {
    return clock >= 0 && clock < scheduled::known_clocks && clock != CLOCK_PROCESS_CPUTIME_ID &&
           clock != CLOCK_THREAD_CPUTIME_ID;
}

/// The time of a clock as the run's own.
std::uint64_t since_start_ns(clockid_t clock, const timespec* time) {
    const std::int64_t start_ns = is_known(clock) ? to_ns(scheduled::clock_at_start(clock)) : 0;
    const auto now_ns = static_cast<std::int64_t>(scheduled::elapsed_ns());
    return static_cast<std::uint64_t>(std::max(to_ns(*time) - start_ns, now_ns));
}

void sleep_until(std::uint64_t time_ns) {
    scheduled::pass_time(time_ns - scheduled::elapsed_ns());
    scheduled::yield();
}

/// Takes what `try_lock` takes, as soon as it is this thread's turn and nobody holds it.
template <class Try, class Lock>
int lock_in_turn(const scheduled::wait& reason, const Try& try_lock, Lock* lock) {
    for (;;) {
        const int failed = try_lock(lock);
        if (failed != EBUSY) return failed;
        if (!scheduled::block(reason)) return ETIMEDOUT;
    }
}

int lock_mutex(pthread_mutex_t* mutex, const void* caller, std::uint64_t limit_ns = scheduled::wait::no_limit) {
    scheduled::step();
    return lock_in_turn({"the mutex", mutex, caller, limit_ns}, real().try_lock, mutex);
}

int wait_for(pthread_cond_t* condition, pthread_mutex_t* mutex, const void* caller,
             std::uint64_t limit_ns = scheduled::wait::no_limit) {
    if (const int failed = real().unlock(mutex)) return failed;
    scheduled::wake_all(mutex);
    const bool woken = scheduled::block({"the condition", condition, caller, limit_ns});
    const int failed = lock_in_turn({"the mutex", mutex, caller}, real().try_lock, mutex);
    return failed == 0 && !woken ? ETIMEDOUT : failed;
}

int after_unlock(const void* lock, int failed) {
    scheduled::wake_all(lock);
    scheduled::step();
    return failed;
}

}  // namespace
}  // namespace holdfast::crash

using namespace holdfast::crash;
namespace turn = holdfast::crash::scheduled;

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    if (!turn::is_on()) return real().lock(mutex);
    return lock_mutex(mutex, __builtin_return_address(0));
}
int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* limit) noexcept {
    if (!turn::is_on()) return real().lock_until(mutex, limit);
    return lock_mutex(mutex, __builtin_return_address(0), since_start_ns(CLOCK_REALTIME, limit));
}
int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* limit) noexcept {
    if (!turn::is_on()) return real().lock_until_by(mutex, clock, limit);
    return lock_mutex(mutex, __builtin_return_address(0), since_start_ns(clock, limit));
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
    turn::step();
    return real().try_lock(mutex);
}
int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept { return after_unlock(mutex, real().unlock(mutex)); }

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
    if (!turn::is_on()) return real().read_lock(lock);
    turn::step();
    return lock_in_turn({"the read lock", lock, __builtin_return_address(0)}, real().try_read_lock, lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
    if (!turn::is_on()) return real().write_lock(lock);
    turn::step();
    return lock_in_turn({"the write lock", lock, __builtin_return_address(0)}, real().try_write_lock, lock);
}
int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
    turn::step();
    return real().try_read_lock(lock);
}
int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
    turn::step();
    return real().try_write_lock(lock);
}
int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept { return after_unlock(lock, real().unlock_both(lock)); }

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
    if (!turn::is_on()) return real().wait(condition, mutex);
    return wait_for(condition, mutex, __builtin_return_address(0));
}
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* limit) {
    if (!turn::is_on()) return real().wait_until(condition, mutex, limit);
    return wait_for(condition, mutex, __builtin_return_address(0), since_start_ns(CLOCK_REALTIME, limit));
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* limit) {
    if (!turn::is_on()) return real().wait_until_by(condition, mutex, clock, limit);
    return wait_for(condition, mutex, __builtin_return_address(0), since_start_ns(clock, limit));
}
int pthread_cond_signal(pthread_cond_t* condition) noexcept {
    turn::wake_one(condition);
    turn::step();
    return real().signal(condition);
}
int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
    turn::wake_all(condition);
    turn::step();
    return real().broadcast(condition);
}

int sched_yield() noexcept {
    if (!turn::is_on()) return real().yield();
    turn::yield();
    return 0;
}
int nanosleep(const timespec* how_long, timespec* left) {
    if (!turn::is_on()) return real().sleep(how_long, left);
    sleep_until(turn::elapsed_ns() + static_cast<std::uint64_t>(to_ns(*how_long)));
    return 0;
}
int clock_nanosleep(clockid_t clock, int flags, const timespec* how_long, timespec* left) {
    if (!turn::is_on()) return real().sleep_by(clock, flags, how_long, left);
    if ((flags & TIMER_ABSTIME) == 0) return nanosleep(how_long, left);
    sleep_until(since_start_ns(clock, how_long));
    return 0;
}
int clock_gettime(clockid_t clock, timespec* now) noexcept {
    if (!turn::is_on() || !is_known(clock)) return real().look(clock, now);
    // A thread that waits for a time by looking at the clock gets there, too.
    turn::pass_time(1000);
    const std::int64_t now_ns = to_ns(turn::clock_at_start(clock)) + static_cast<std::int64_t>(turn::elapsed_ns());
    *now = {now_ns / second_ns, now_ns % second_ns};
    return 0;
}

}  // extern "C"
