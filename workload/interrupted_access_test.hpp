// Transactions that threads interrupt, for tests.
#pragma once

#include <holdfast/stm/atomically.hpp>

#include <thread>
#include <type_traits>

namespace holdfast::workload {

/// Lets other threads run in the middle of a transaction, after each `Every`th store of a thread, so that threads meet
/// also on few processors.
template <class Algorithm, unsigned Every>
class interrupted_access : public stm::stm_access<Algorithm> {
public:
    /// How many of those stores pass without an interruption for one with. Changed while no thread uses an Access of
    /// this type.
    static inline unsigned spared = 0;

    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        static constinit thread_local unsigned stores = 0, passed = 0;
        stm::stm_access<Algorithm>::store(home, value);
        if (++stores % Every == 0 && passed++ % (spared + 1) == 0) std::this_thread::yield();
    }
};

}  // namespace holdfast::workload
