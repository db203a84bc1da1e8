// Access to ordinary memory, for tests: loads and stores as they are, and a count of live blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace holdfast::workload::test {

struct plain_memory {
    std::int64_t live_blocks = 0;
};

class plain_access {
public:
    explicit plain_access(plain_memory& memory) noexcept : memory_(&memory) {}

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
    void* allocate(std::size_t bytes) const {
        ++memory_->live_blocks;
        return std::malloc(bytes);
    }
    void free(void* address) const {
        --memory_->live_blocks;
        std::free(address);
    }
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

private:
    plain_memory* memory_;
};

}  // namespace holdfast::workload::test
