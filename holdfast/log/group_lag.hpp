// Commits that return before the group that they joined is synced: at most as many as the pool may lose.
#pragma once

#include <holdfast/log/groups.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace holdfast {

/// Counts the commits of a group log, and waits for a group when too many are not synced. Thread-safe.
/// What holds if the process dies, or the power fails: at most `lag` commits that have returned are missing, the last
/// ones.
class group_lag {
public:
    explicit group_lag(std::uint32_t lag) noexcept : lag_(lag) {}

    /// Held while a commit joins a group.
    std::mutex& order() noexcept { return order_; }
    /// A commit has joined that group; returns its number. Requires: order() is held.
    std::uint64_t joined(std::uint64_t group) noexcept {
        last_group_.store(group, std::memory_order_release);
        return joined_.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    /// Returns when at most `lag` commits up to `number`, which joined `group`, are missing. Errors: outcome_unknown,
    /// poisoned, of the sync.
    result<void> wait(group_log& log, std::uint64_t group, std::uint64_t number) {
        if (number <= synced_.load(std::memory_order_acquire) + lag_) return {};
        auto durable = log.wait({group});
        if (!durable) return durable;
        std::uint64_t before = synced_.load(std::memory_order_relaxed);
        while (before < number &&
               !synced_.compare_exchange_weak(before, number, std::memory_order_release, std::memory_order_relaxed)) {
        }
        return {};
    }
    /// A transaction that has stored nothing: where nothing may be missing, it waits for what it may have read.
    result<void> wait_for_reads(group_log& log) {
        const std::uint64_t group = last_group_.load(std::memory_order_acquire);
        if (lag_ != 0 || group == 0) return {};
        return log.wait({group});
    }

private:
    std::mutex order_;
    std::uint64_t lag_;
    std::atomic<std::uint64_t> joined_{0};
    std::atomic<std::uint64_t> synced_{0};
    std::atomic<std::uint64_t> last_group_{0};
};

}  // namespace holdfast
