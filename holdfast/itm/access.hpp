// The library's Access (workload/access.hpp) by atomic blocks: loads and stores are the plain ones, which the compiler
// instruments, through the functor too.
#pragma once

#include <holdfast/itm/called_in_block.hpp>
#include <holdfast/itm/itm.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace holdfast::itm {

namespace detail {

extern "C" [[noreturn, gnu::transaction_pure]] void _ITM_abortTransaction(std::uint32_t why);

/// Cancels the block of the innermost atomically.
[[noreturn, gnu::transaction_pure]] inline void give_up() { _ITM_abortTransaction(1); }

}  // namespace detail

/// Models workload::access. Copyable; no state. Threads are isolated from each other by their blocks: locks are
/// ignored. Outside of atomically it is plain memory.
class itm_access {
public:
    template <class T>
    T load(const T* home) const {
        return *home;
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        *home = value;
    }
    template <class T>
    void will_write(T*) const noexcept {}

    /// If there is no room, control leaves the innermost atomically, which returns false.
    void* allocate(std::size_t bytes) const {
        void* const made = std::malloc(bytes);
        if (made == nullptr) detail::give_up();
        return made;
    }
    void free(void* address) const { std::free(address); }

    /// Runs f as one atomic block, or a copy of it (called_in_block.hpp). A nested block can be cancelled alone. False:
    /// it was rolled back for lack of memory.
    template <class F>
    bool atomically(F&& f) const {
        detail::called_in_block<std::remove_reference_t<F>> called(f);
        bool committed = false;
        __transaction_atomic {
            called();
            committed = true;
            // Never taken. The compiler must expect a cancel, which only allocate does.
            if (holdfast_itm_value_or_holdfast_itm_versioned_is_not_linked != 0) HOLDFAST_CANCEL;
        }
        return committed;
    }
    template <class Lock, class F>
    bool atomically(Lock&, F&& f) const {
        return atomically(f);
    }
};

}  // namespace holdfast::itm
