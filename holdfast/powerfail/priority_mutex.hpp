// A lock whose holder runs with the priority of who waits for it: a handler with a real-time priority must not wait for
// a thread that nobody lets run.
#pragma once

#include <pthread.h>

namespace holdfast::powerfail {

class priority_mutex {
public:
    priority_mutex() noexcept {
        pthread_mutexattr_t kind;
        pthread_mutexattr_init(&kind);
        pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
        pthread_mutex_init(&mutex_, &kind);
        pthread_mutexattr_destroy(&kind);
    }
    ~priority_mutex() { pthread_mutex_destroy(&mutex_); }
    priority_mutex(const priority_mutex&) = delete;
    priority_mutex& operator=(const priority_mutex&) = delete;

    void lock() noexcept { pthread_mutex_lock(&mutex_); }
    void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

private:
    pthread_mutex_t mutex_;
};

}  // namespace holdfast::powerfail
