// Access to ordinary memory, in no transaction: loads and stores as they are.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <type_traits>

namespace holdfast::workload {

/// An `access`. One thread, or threads that never meet.
struct plain_access {
    template <class T>
    T load(const T* home) const {
        return *home;
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        *home = value;
    }
    template <class T>
    void will_write(T*) const {}
    void* allocate(std::size_t bytes) const { return std::malloc(bytes); }
    void free(void* address) const { std::free(address); }
    template <class F>
    bool atomically(F&& f) const {
        f();
        return true;
    }
    template <class Lock, class F>
    bool atomically(Lock&, F&& f) const {
        f();
        return true;
    }
};

}  // namespace holdfast::workload
