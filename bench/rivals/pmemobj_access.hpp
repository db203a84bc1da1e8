// The Access through which libpmemobj runs our workloads.
#pragma once

#include <bench/rivals/pmemobj_transaction.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace holdfast::bench {

/// When a range is saved before it changes.
enum class pmemobj_snapshots : std::uint8_t {
    each_store,   ///< whatever is stored, when it is stored
    each_object,  ///< whole objects, when they are announced; stores save nothing
};

template <pmemobj_snapshots Snapshots>
class pmemobj_access {
public:
    explicit pmemobj_access(PMEMobjpool* pool) noexcept : pool_(pool) {}

    template <class T>
    T load(const T* home) const {
        return *home;
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        if constexpr (Snapshots == pmemobj_snapshots::each_store) pmemobj_snapshot(home, sizeof(T));
        *home = value;
    }
    template <class T>
    void will_write(T* object) const {
        if constexpr (Snapshots == pmemobj_snapshots::each_object) pmemobj_snapshot(object, sizeof(T));
    }
    void* allocate(std::size_t bytes) const {
        const PMEMoid made = pmemobj_tx_alloc(bytes, 1);
        if (OID_IS_NULL(made)) child_failed(pmemobj_error());
        return pmemobj_direct(made);
    }
    void free(void* address) const {
        if (pmemobj_tx_free(pmemobj_oid(address)) != 0) child_failed(pmemobj_error());
    }
    template <class F>
    bool atomically(F&& f) const {
        return pmemobj_atomically(pool_, std::forward<F>(f));
    }

private:
    PMEMobjpool* pool_;
};

}  // namespace holdfast::bench
