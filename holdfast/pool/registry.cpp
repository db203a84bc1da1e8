#include <holdfast/pool/open_pool.hpp>
#include <holdfast/pool/registry.hpp>

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <vector>

namespace holdfast {
namespace {

struct registry {
    std::shared_mutex mutex{};
    std::vector<open_pool*> pools{};
    bool follows_forks = false;
};

/// Where a thread found a pool last, good until the pools change. Its size then: it may have grown since.
struct found_range {
    std::uint64_t changes = 0;
    const std::byte* base = nullptr;
    std::uint64_t bytes = 0;
    open_pool* pool = nullptr;
};
inline constinit thread_local found_range last_found;

/// A signal handler may look for a pool: it must not interrupt the thread that has the registry for itself.
class no_signals {
public:
    no_signals() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~no_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    no_signals(const no_signals&) = delete;
    no_signals& operator=(const no_signals&) = delete;

private:
    sigset_t before_;
};

registry& the_registry() noexcept;

void before_fork() { the_registry().mutex.lock(); }
void after_fork_in_parent() { the_registry().mutex.unlock(); }
void after_fork_in_child() {
    mark_pools_inherited();
    pool_changes.fetch_add(1, std::memory_order_release);
    // Begun anew, not unlocked: it knows its writer by the thread's id, and here that is another.
    ::new (&the_registry().mutex) std::shared_mutex;
}

registry& the_registry() noexcept {
    // Never destroyed: pools of static duration close after everything else. In memory that is there: who asks first
    // may be somebody who must not fail.
    alignas(registry) static std::byte room[sizeof(registry)];
    static auto* const instance = ::new (room) registry{
        .follows_forks = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0};
    return *instance;
}

/// At a fork, what is registered first waits last. A transaction that runs alone may ask for pools: this lock is taken
/// behind the locks of transactions, which are registered when static objects are made, and before that of files.
[[gnu::constructor(102)]] void follow_forks() { the_registry(); }

}  // namespace

void mark_pools_inherited() noexcept {
    for (open_pool* pool : the_registry().pools) pool->inherited_ = true;
}

void register_pool(open_pool& pool) {
    auto& all = the_registry();
    const no_signals quiet;
    const std::unique_lock lock(all.mutex);
    if (!all.follows_forks && pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
        throw std::bad_alloc();
    all.follows_forks = true;
    all.pools.push_back(&pool);
    pool_changes.fetch_add(1, std::memory_order_release);
}

void unregister_pool(open_pool& pool) noexcept {
    auto& all = the_registry();
    const no_signals quiet;
    const std::unique_lock lock(all.mutex);
    std::erase(all.pools, &pool);
    pool_changes.fetch_add(1, std::memory_order_release);
}

bool is_open_pool(const open_pool* pool, std::uint64_t instance) noexcept {
    auto& all = the_registry();
    const std::shared_lock lock(all.mutex);
    const auto found = std::find(all.pools.begin(), all.pools.end(), pool);
    return found != all.pools.end() && pool->instance() == instance && !pool->is_inherited();
}

open_pool* find_open_pool(const void* address) noexcept {
    auto& all = the_registry();
    const auto* at = static_cast<const std::byte*>(address);
    if (last_found.changes == pool_changes.load(std::memory_order_acquire) &&
        static_cast<std::uint64_t>(at - last_found.base) < last_found.bytes) [[likely]]
        return last_found.pool;
    const std::shared_lock lock(all.mutex);
    const auto found = std::find_if(all.pools.begin(), all.pools.end(),
                                    [&](const open_pool* pool) { return pool->contains(address); });
    if (found == all.pools.end() || (*found)->is_inherited()) return nullptr;
    last_found = {pool_changes.load(std::memory_order_relaxed), (*found)->base(), (*found)->size(), *found};
    return *found;
}

}  // namespace holdfast
