// Access as tests need it that explore structures of workload/: to a pool after recovery, and in a transaction that is
// open.
#pragma once

#include <workload/access.hpp>

#include <holdfast/engine/access.hpp>

#include <cstddef>
#include <type_traits>

namespace holdfast::workload::test {

/// What checks see of a pool after recovery.
template <class Engine>
struct recovered_access {
    template <class T>
    T load(const T* home) const {
        return read_value<Engine>(home);
    }
    template <class T>
    void store(T*, const std::type_identity_t<T>&) const {}
    template <class T>
    void will_write(T*) const {}
    void* allocate(std::size_t) const { return nullptr; }
    void free(void*) const {}
    template <class F>
    bool atomically(F&& f) const {
        f();
        return true;
    }
};

/// In the transaction that is open.
template <class Engine>
struct prepared_access : recovered_access<Engine> {
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        store_value<T>(current_transaction<Engine>(), home, value);
    }
    void* allocate(std::size_t bytes) const { return Engine::allocate(bytes); }
    void free(void* address) const { Engine::deallocate(address); }
};

}  // namespace holdfast::workload::test
