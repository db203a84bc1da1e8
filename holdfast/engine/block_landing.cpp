#include <holdfast/engine/block_landing.hpp>

#include <holdfast/engine/conflict.hpp>

#include <cxxabi.h>

#include <new>

namespace holdfast::detail {
namespace {

/// The thread's exception state (Itanium C++ ABI, section 2.2.2).
struct exceptions_of_thread {
    void* caught;
    unsigned uncaught;
};
exceptions_of_thread& exceptions() noexcept {
    return *reinterpret_cast<exceptions_of_thread*>(abi::__cxa_get_globals());
}

/// Ends the handlers that the jump has left, and forgets what was on its way there: an object in flight is known to
/// nobody, and is not freed.
[[noreturn]] void go_on_as_exception(const block_landing& here, block_exit why) {
    exceptions_of_thread& now = exceptions();
    while (now.caught != here.caught && now.caught != nullptr) abi::__cxa_end_catch();
    now.uncaught = here.uncaught;
    if (why == block_exit::no_memory) throw std::bad_alloc{};
    throw transaction_conflict{};
}

/// Leaves the chain as it was, also where an exception leaves.
struct innermost {
    explicit innermost(block_landing& own) noexcept : own_(own) { innermost_landing = &own_; }
    ~innermost() { innermost_landing = own_.outer; }
    innermost(const innermost&) = delete;
    innermost& operator=(const innermost&) = delete;

private:
    block_landing& own_;
};

}  // namespace

void call_as_landing(void (*run)(void*), void* argument) {
    block_landing here;
    here.outer = innermost_landing;
    here.caught = exceptions().caught;
    here.uncaught = exceptions().uncaught;
    const innermost chained(here);
    const int arrived = holdfast_stm_save(&here.where);
    if (arrived != 0) go_on_as_exception(here, static_cast<block_exit>(arrived));
    run(argument);
}

void jump_to_landing(const block_landing& to, block_exit why) noexcept {
    stm::resume(to.where, static_cast<int>(why));
}

}  // namespace holdfast::detail
