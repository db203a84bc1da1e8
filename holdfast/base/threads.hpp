// Threads that the library itself starts, and what threads of the program may not do inside it.
#pragma once

#include <pthread.h>
#include <signal.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace holdfast {

/// On how many processors the calling thread may run; 1 where the kernel does not say.
unsigned processors_of_this_thread() noexcept;

/// Whether the process has had no other thread yet. False also where the C library does not say.
inline bool is_process_single_threaded() noexcept {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded != 0;
#else
    return false;
#endif
}

/// While it lives, a pthread_cancel of the calling thread waits: what the library has begun cannot be unwound half-way.
class cancellation_held {
public:
    cancellation_held() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~cancellation_held() { pthread_setcancelstate(before_, nullptr); }
    cancellation_held(const cancellation_held&) = delete;
    cancellation_held& operator=(const cancellation_held&) = delete;

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

/// The signal by which a power-failure handler stops the threads of its process (powerfail/parking.hpp). A program does
/// not use it.
inline int signal_that_parks() noexcept { return SIGRTMAX - 1; }

/// A thread that gets no signals but the one that parks: the program's handlers expect its own threads. It is not
/// joinable where none could be started; the caller then does its work.
template <class F>
std::thread start_without_signals(F&& f) noexcept {
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, signal_that_parks());
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread started;
    try {
        started = std::thread(std::forward<F>(f));
    } catch (const std::system_error&) {
        // None: the caller is told by what it gets.
    } catch (const std::bad_alloc&) {
        // The same.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

}  // namespace holdfast
