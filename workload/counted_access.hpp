// An Access that counts what a workload asks of memory.
#pragma once

#include <workload/access.hpp>

#include <type_traits>

namespace holdfast::workload {

struct access_counts {
    std::uint64_t loads = 0;
    std::uint64_t stores = 0;
};

/// `Access` with its loads and stores counted. One thread. The counts must outlive it.
template <access Access>
class counted_access {
public:
    counted_access(Access memory, access_counts& counts) noexcept : memory_(memory), counts_(&counts) {}

    template <class T>
    T load(const T* home) const {
        ++counts_->loads;
        return memory_.load(home);
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        ++counts_->stores;
        memory_.store(home, value);
    }
    template <class T>
    void will_write(T* object) const {
        memory_.will_write(object);
    }
    void* allocate(std::size_t bytes) const { return memory_.allocate(bytes); }
    void free(void* address) const { memory_.free(address); }
    template <class F>
    bool atomically(F&& f) const {
        return memory_.atomically(f);
    }

private:
    Access memory_;
    access_counts* counts_;
};

}  // namespace holdfast::workload
