// The Access concept through which workloads see a pool: load, store, allocate, free, atomically,
// lock. Workloads use nothing else, so that benchmarks, explorer and simulator share their source.
#pragma once

#include <holdfast/engine/engine.hpp>

#include <mutex>

namespace holdfast {

/// Access to a pool of `Engine`. Copyable; cheap.
template <class Engine>
class pool_access {
public:
    explicit pool_access(open_pool& pool) noexcept : pool_(&pool) {}

    template <class T>
    T load(const T* home) const {
        return read_value<Engine>(home);
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        store_value<T>(current_transaction<Engine>(), home, value);
    }
    /// Says that the object is about to be written.
    template <class T>
    void will_write(T* object) const {
        Engine::will_write(object, sizeof(T));
    }
    void* allocate(std::size_t bytes) const { return Engine::allocate(bytes); }
    void free(void* address) const { Engine::deallocate(address); }

    /// True when the transaction committed.
    template <class F>
    bool atomically(F&& f) const {
        return run_transaction<Engine>(*pool_, f).has_value();
    }
    template <class Lock, class F>
    bool atomically(Lock& lock, F&& f) const {
        return run_transaction<Engine>(*pool_, f, lock).has_value();
    }

private:
    open_pool* pool_;
};

}  // namespace holdfast
