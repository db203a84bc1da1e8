// Holding off commits, at no cost to them: a flag that a commit looks at after it has taken its lane.
//
// Taking a lane is a store, looking at the flag a load, and a processor may load first. The committer would need a
// full fence between the two, in every transaction. Instead the holder, who comes rarely, makes all threads
// of the process pass a fence (membarrier): whoever took a lane before it is seen by the holder, and whoever takes
// one after it sees the flag.
#include <holdfast/base/assertion.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/truncation.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

namespace holdfast {
namespace {

long membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0); }

result<void> fence_all_threads() {
    // Registering again is nothing, and a forked child may have to.
    const bool at_once = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
    if (membarrier(at_once ? MEMBARRIER_CMD_PRIVATE_EXPEDITED : MEMBARRIER_CMD_GLOBAL) == 0) return {};
    return error{.code = errc::io, .what = std::string("membarrier failed: ") + std::strerror(errno)};
}

}  // namespace

bool lane_log::all_idle() const noexcept {
    // Those in flight when the flag was set may still take idle shared lanes, but are in flight themselves then:
    // one whole round that finds all idle finds them done.
    return std::all_of(lanes_->begin(), lanes_->end(), [](const lane& each) {
        return each.in_flight_.load(std::memory_order_acquire) == lane::idle;
    });
}

result<void> lane_log::hold(std::chrono::milliseconds patience) {
    [[maybe_unused]] const bool was_held = held_.exchange(true, std::memory_order_seq_cst);
    HOLDFAST_ASSERT_ALWAYS(!was_held, "one thread at a time holds commits off");
    if (auto fenced = fence_all_threads(); !fenced) {
        resume();
        return fenced;
    }
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!all_idle()) {
        if (std::chrono::steady_clock::now() > deadline) {
            resume();
            return error{.code = errc::busy, .what = "other threads' transactions stay open for too long"};
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return {};
}

void lane_log::resume() noexcept {
    held_.store(false, std::memory_order_release);
    held_.notify_all();
}

void lane_log::go_on_durably(const log_geometry& geometry) noexcept {
    HOLDFAST_ASSERT_ALWAYS(held_.load() && retires_at_once_, "commits are held, and none left a record");
    const std::lock_guard guard(mutex_);
    segments_.move_to(geometry);
    for (lane& each : *lanes_) {
        each.segment_ = no_segment;
        each.segment_begin_ = nullptr;
        each.salt_owed_ = false;
        each.position_ = each.claim_ = each.ended_ = 0;
        each.filled_.clear();
    }
    if (const auto point = read_truncation_point(pool_ + geometry.offset)) truncation_slot_ = point->slot;
    truncated_.store(next_.load() - 1, std::memory_order_release);
    options_.persists = true;
    retires_at_once_ = false;
}

void lane_log::wait_while_held(lane& own) noexcept {
    do {
        own.in_flight_.store(lane::idle, std::memory_order_release);
        held_.wait(true, std::memory_order_acquire);
        own.in_flight_.store(next_.load(std::memory_order_relaxed), std::memory_order_seq_cst);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    } while (held_.load(std::memory_order_acquire));
}

}  // namespace holdfast
