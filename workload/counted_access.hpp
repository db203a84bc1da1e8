// An Access that counts what a workload asks of memory.
#pragma once

#include <workload/access.hpp>

#include <type_traits>

namespace holdfast::workload {

struct access_counts {
    std::uint64_t loads = 0;
    std::uint64_t stores = 0;
    std::uint64_t loads_inside = 0;   ///< of these, in transactions
    std::uint64_t stores_inside = 0;

    access_counts operator-(const access_counts& before) const noexcept {
        return {loads - before.loads, stores - before.stores, loads_inside - before.loads_inside,
                stores_inside - before.stores_inside};
    }
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
        const access_counts before = *counts_;
        const bool committed = memory_.atomically(f);
        counts_->loads_inside += counts_->loads - before.loads;
        counts_->stores_inside += counts_->stores - before.stores;
        return committed;
    }

private:
    Access memory_;
    access_counts* counts_;
};

}  // namespace holdfast::workload
