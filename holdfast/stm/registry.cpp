#include <holdfast/stm/registry.hpp>

#include <holdfast/stm/stop.hpp>
#include <holdfast/stm/wait.hpp>

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace holdfast::stm {

void waiter::pause() noexcept {
    constexpr unsigned short_pauses = 128;
    constexpr unsigned yields = 4096;
    ++pauses_;
    if (let_others_run()) return;
    if (pauses_ <= short_pauses) {
        relax_processor();
    } else if (pauses_ <= short_pauses + yields) {
        sched_yield();
    } else {
        const timespec moment{0, 50'000};
        // Not the C library's call: a thread can be cancelled there, and cannot be unwound from here.
        syscall(SYS_nanosleep, &moment, nullptr);
        --pauses_;
    }
}

registry::slot* registry::claim() noexcept {
    for (unsigned at = 0; at < most_threads; ++at) {
        bool taken = false;
        if (!slots_[at].taken.load(std::memory_order_relaxed) &&
            slots_[at].taken.compare_exchange_strong(taken, true, std::memory_order_acq_rel)) {
            use(at + 1);
            return &slots_[at];
        }
    }
    return nullptr;
}

void registry::use(unsigned count) noexcept {
    unsigned used = used_.load(std::memory_order_relaxed);
    while (used < count && !used_.compare_exchange_weak(used, count, std::memory_order_seq_cst)) {
    }
    if (count > 1 && !none_is_only_.load(std::memory_order_acquire)) end_only_thread();
}

/// Of several threads that come here at once each waits.
void registry::end_only_thread() noexcept {
    // Either this thread sees from now on what the only one does, or that one sees that it is not the only one.
    order_other_threads();
    for (waiter wait; alone_.load(std::memory_order_acquire) && !is_planted(fault::alone_not_waited_for);) wait.pause();
    none_is_only_.store(true, std::memory_order_release);
}

void registry::prepare() noexcept {
    cheap_publishing.store(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0,
                           std::memory_order_relaxed);
}

namespace {
/// Before other constructors, which may start threads. One that runs transactions before publishes by an exchange.
[[gnu::constructor(101)]] void prepare_at_load() noexcept { registry::prepare(); }
}  // namespace

void registry::order_other_threads() noexcept {
    if (cheap_publishing.load(std::memory_order_relaxed)) {
        // It knew the process when it was loaded.
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
            stop("membarrier(2)", "the kernel, or a filter of system calls, does not allow it any more");
    } else {
        // The other half of the beginners' exchange.
        static std::atomic<unsigned> order{0};
        order.fetch_add(1, std::memory_order_seq_cst);
        complete_fence();
    }
}

std::uint64_t registry::oldest() const noexcept {
    std::uint64_t found = inactive;
    const unsigned used = used_.load(std::memory_order_seq_cst);
    for (unsigned at = 0; at < used; ++at) {
        const std::uint64_t since = slots_[at].since.load(std::memory_order_seq_cst);
        if (since < found) found = since;
    }
    return found;
}

bool registry::others_are_active(const slot* own) const noexcept {
    const unsigned used = used_.load(std::memory_order_relaxed);
    for (unsigned at = 0; at < used; ++at)
        if (&slots_[at] != own && slots_[at].since.load(std::memory_order_relaxed) != inactive) return true;
    return false;
}

void registry::wait_for_older(std::uint64_t time, const slot* own) const noexcept {
    const unsigned used = used_.load(std::memory_order_seq_cst);
    for (unsigned at = 0; at < used; ++at) {
        if (&slots_[at] == own) continue;
        waiter wait;
        while (slots_[at].since.load(std::memory_order_seq_cst) < time) wait.pause();
    }
}

void registry::forget_others(const slot* own) noexcept {
    for (slot& each : slots_) {
        if (&each == own) continue;
        each.since.store(inactive, std::memory_order_relaxed);
        each.taken.store(false, std::memory_order_relaxed);
    }
    prepare();
}

}  // namespace holdfast::stm
