// TXFence and TXBarrier of engines that checkpoint: all commits so far are home on the medium.
//
// Protocol of the barrier
//   1. Hold commits: on byte-addressable media no lane is in flight and none is taken (log/hold.cpp); on a file nobody
//      joins a group. A transaction that is open waits at its end, with a number not drawn yet.
//   2. Bring everything home: the queue, the alias tables, or the groups by a checkpoint.
//   3. Give back the private memory of homes, where there is any: each page of it is now what the medium has.
//   4. Call the function. Let commits go on.
#include <holdfast/pool/mapped_pool.hpp>

#include <holdfast/base/threads.hpp>

#include <chrono>
#include <thread>

namespace holdfast {

result<void> mapped_pool::fence() {
    const cancellation_held uncancelled;
    if (auto usable = check_usable("wait for its homes"); !usable) return usable;
    if (groups_) return groups_->checkpoint();
    bring_home();
    return {};
}

/// Step 1. A hold gives up after a while, and is tried again.
result<void> mapped_pool::hold_at_barrier() {
    constexpr std::chrono::milliseconds patience{100};
    for (;;) {
        auto held = lanes_->hold(patience);
        if (held) return held;
        if (held.error().code != errc::busy) {
            error reason = held.error();
            reason.path = path_;
            return reason;
        }
        std::this_thread::yield();
    }
}

namespace {

/// Step 4.
void run_in_barrier(const std::function<void()>& f) {
    struct leaver {
        ~leaver() { is_in_barrier = false; }
    };
    const leaver at_the_end;
    is_in_barrier = true;
    f();
}

}  // namespace

result<void> mapped_pool::barrier(const std::function<void()>& f) {
    // Before the lock, which in a child nobody lets go.
    if (auto usable = check_usable("hold its commits"); !usable) return usable;
    const std::lock_guard one_at_a_time(copying_);
    if (groups_) {
        const std::lock_guard nobody_joins(lagging_->order());
        if (auto done = groups_->checkpoint(); !done) return done;
        run_in_barrier(f);
        return {};
    }
    if (auto held = hold_at_barrier(); !held) return held;
    struct releaser {
        lane_log& lanes;
        ~releaser() { lanes.resume(); }
    };
    const releaser at_the_end{*lanes_};
    bring_home();
    if (medium_mapping_) {
        mapping_->give_back(0, size());
        retiring_->forget_pages();
    }
    run_in_barrier(f);
    return {};
}

}  // namespace holdfast
