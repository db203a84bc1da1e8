// Blocks as programs have them, without a cancel: what has one cannot run alone, with libitm neither.
#pragma once

#include <bench/contest/serve.hpp>

#include <holdfast/itm/access.hpp>

#include <cstddef>
#include <cstdlib>
#include <type_traits>

namespace holdfast::bench {

[[noreturn, gnu::transaction_pure, gnu::noinline]] inline void end_without_memory() {
    child_failed("there is no memory left");
}

/// An itm_access whose blocks cannot be rolled back by the program: where memory runs out, the measurement ends.
class block_access : public itm::itm_access {
public:
    void* allocate(std::size_t bytes) const {
        void* const made = std::malloc(bytes);
        if (made == nullptr) end_without_memory();
        return made;
    }
    template <class F>
    bool atomically(F&& f) const {
        itm::detail::called_in_block<std::remove_reference_t<F>> called(f);
        __transaction_atomic { called(); }
        return true;
    }
    template <class Lock, class F>
    bool atomically(Lock&, F&& f) const {
        return atomically(f);
    }
};

}  // namespace holdfast::bench
