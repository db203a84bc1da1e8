// What is refused; refused_test.py says what the comments mean.

// CASE std::lock_guard
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::mutex mutex;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        std::lock_guard<std::mutex> guard(mutex);  // HERE
        ++a;
    }
};

// CASE std::lock_guard whose type is deduced
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::mutex mutex;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        std::lock_guard guard(mutex);  // HERE
        ++a;
    }
};

// CASE std::scoped_lock
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::mutex mutex;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        std::scoped_lock guard{mutex};  // HERE
        ++a;
    }
};

// CASE std::unique_lock in a const function
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::mutex mutex;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    int get() const {
        std::unique_lock<std::mutex> guard(mutex);  // HERE
        return a;
    }
};

// CASE std::shared_lock in a const function
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <shared_mutex>
std::shared_mutex shared;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    int get() const {
        std::shared_lock guard(shared);  // HERE
        return a;
    }
};

// CASE a recursive mutex
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::recursive_mutex recursive;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        std::lock_guard guard(recursive);  // HERE
        ++a;
    }
};

// CASE a lock by hand
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::mutex mutex;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        mutex.lock();  // HERE
        ++a;
        mutex.unlock();  // HERE
    }
};

// CASE a lock that is tried
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::mutex mutex;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        if (mutex.try_lock()) ++a;  // HERE
    }
};

// CASE two locks at once
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::mutex mutex;
std::mutex second;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        std::lock(mutex, second);  // HERE
        ++a;
    }
};

// CASE a lock in a lambda
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::mutex mutex;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        [this] {
            std::lock_guard guard(mutex);  // HERE
            ++a;
        }();
    }
};

// CASE a lock out of line
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::mutex mutex;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set();
};
void refused_one::set() {
    std::lock_guard guard(mutex);  // HERE
    ++a;
}

// CASE a lock that is a parameter
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::mutex mutex;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(std::mutex& of) {
        std::lock_guard guard(of);  // HERE
        ++a;
    }
};

// CASE a lock that a static member is
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::mutex mutex;
class [[NVM::transactional]] alignas(64) refused_one {
    static std::mutex own;
    int a = 0;

public:
    void set() {
        std::lock_guard guard(own);  // HERE
        ++a;
    }
};

// CASE a lock behind a pointer of the object
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <mutex>
std::mutex mutex;
class [[NVM::transactional]] alignas(64) refused_one {
    std::mutex* of = nullptr;
    int a = 0;

public:
    void set() {
        std::lock_guard guard(*of);  // HERE
        ++a;
    }
};

// CASE a mutex of POSIX
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <pthread.h>
pthread_mutex_t posix = PTHREAD_MUTEX_INITIALIZER;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        pthread_mutex_lock(&posix);  // HERE
        ++a;
        pthread_mutex_unlock(&posix);  // HERE
    }
};

// CASE a mutex of C
// REFUSED 'mtx_lock' takes or gives back a lock, inside a function whose transaction copied the object before
struct mtx { int of; };
int mtx_lock(mtx*);
mtx shared_mtx;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        mtx_lock(&shared_mtx);  // HERE
        ++a;
    }
};

// CASE a guard of the program's own
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
struct spinning_lock { void lock(); void unlock(); };
struct guard { guard(spinning_lock&); ~guard(); };
spinning_lock spinning;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        guard held(spinning);  // HERE
        ++a;
    }
};

// CASE a guard with another name
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
struct LockHolder { LockHolder(); ~LockHolder(); };
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        LockHolder held;  // HERE
        ++a;
    }
};

// CASE a spin lock
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <atomic>
std::atomic_flag flag;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        while (flag.test_and_set()) {}  // HERE
        ++a;
        flag.clear();  // HERE
    }
};

// CASE a function that locks
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
template <class F>
void with_lock(F f) { f(); }
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
        with_lock([this] { ++a; });  // HERE
    }
};

// CASE a condition variable
// REFUSED inside a function whose transaction copied the object before: another thread's update in between is lost
#include <condition_variable>
#include <mutex>
std::condition_variable woken;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set(std::unique_lock<std::mutex>& held) {
        woken.wait(held);  // HERE
        ++a;
    }
};

// CASE an atomic addition to a member
// REFUSED '__atomic_fetch_add' is an atomic operation, inside a function whose transaction copied the object before
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { __atomic_fetch_add(&a, 1, __ATOMIC_SEQ_CST); }  // HERE
};

// CASE an atomic exchange of a member
// REFUSED is an atomic operation, inside a function whose transaction copied the object before
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0, b = 0;

public:
    void set() { b = __atomic_exchange_n(&a, 1, __ATOMIC_SEQ_CST); }  // HERE
};

// CASE an atomic addition of the older kind
// REFUSED is an atomic operation, inside a function whose transaction copied the object before
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { __sync_fetch_and_add(&a, 1); }  // HERE
};

// CASE an atomic member
// REFUSED ALONE a member is not trivially copyable
#include <atomic>
class [[NVM::transactional]] alignas(64) refused_one {  // HERE
    std::atomic<int> a{0};

public:
    void set() { a = 1; }
};

// CASE a mutex for a member
// REFUSED ALONE its members must end at byte 31 at the latest
#include <mutex>
class [[NVM::transactional]] alignas(64) refused_one {  // HERE
    std::mutex own;
    int a = 0;

public:
    void set() { a = 1; }
};

// CASE a guard of the program's own that names no mutex
// REFUSED 'held' takes a lock, inside a function whose transaction copied the object before
#include <mutex>
std::mutex door;
struct entered {
    entered() { door.lock(); }
    ~entered() { door.unlock(); }
};
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set() { entered held; ++a; } };  // HERE

// CASE a structure with a guard for a member
// REFUSED 'held' takes a lock
#include <mutex>
std::mutex gate;
struct inside { std::lock_guard<std::mutex> of{gate}; };
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set() { inside held; ++a; } };  // HERE

// CASE functions that take a lock and give it back
// REFUSED 'enter' takes or gives back a lock
#include <mutex>
std::mutex hall;
void enter() { hall.lock(); }
class [[NVM::transactional]] alignas(64) refused_one { int a = 0; public: void set() { enter(); ++a; } };  // HERE

// CASE a function that calls another under a lock
// REFUSED 'synchronized' takes or gives back a lock
#include <mutex>
std::mutex room;
template <class Do>
void synchronized(Do it) { std::lock_guard<std::mutex> held(room); it(); }
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { synchronized([this] { ++a; }); }  // HERE
};

// CASE a lock for readers and writers
// REFUSED is a lock, inside a function
#include <pthread.h>
pthread_rwlock_t readers;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { pthread_rwlock_wrlock(&readers); ++a; }  // HERE
};

// CASE a semaphore of POSIX
// REFUSED is a lock, inside a function
#include <semaphore.h>
sem_t turn;
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { sem_wait(&turn); ++a; }  // HERE
};

// CASE a file that is locked
// REFUSED 'flock' takes or gives back a lock
#include <sys/file.h>
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() { flock(3, LOCK_EX); ++a; }  // HERE
};

// CASE a critical section of OpenMP
// REFUSED '#pragma omp critical' takes a lock, inside a function whose transaction copied the object before
class [[NVM::transactional]] alignas(64) refused_one {
    int a = 0;

public:
    void set() {
#pragma omp critical  // HERE
        ++a;
    }
};
