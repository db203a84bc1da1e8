// A thread of the library that sleeps until somebody has work for it.
#pragma once

#include <holdfast/base/threads.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace holdfast {

/// Runs one function again and again, each time after a wake. Ended by destruction, between two runs.
class background_worker {
public:
    background_worker() = default;
    ~background_worker() {
        if (!thread_.joinable()) return;
        const cancellation_held uncancelled;
        {
            const std::lock_guard lock(sleeping_);
            stops_ = true;
        }
        woken_.notify_all();
        thread_.join();
    }
    background_worker(const background_worker&) = delete;
    background_worker& operator=(const background_worker&) = delete;

    /// `work` and what it uses outlive the worker. Where no thread can be started there is none, see is_there().
    template <class F>
    void start(F&& work) {
        thread_ = start_without_signals([this, work = std::forward<F>(work)] {
            while (sleep_until_woken()) work();
        });
    }
    bool is_there() const noexcept { return thread_.joinable(); }

    /// One more run begins after this, if not yet one that was asked for before. Returns at once. Thread-safe.
    void wake() noexcept {
        if (is_wanted_.load(std::memory_order_relaxed) || is_wanted_.exchange(true)) return;
        // Who sleeps has seen the flag, or hears of it.
        const std::lock_guard lock(sleeping_);
        woken_.notify_one();
    }

private:
    bool sleep_until_woken() {
        std::unique_lock lock(sleeping_);
        woken_.wait(lock, [this] { return stops_ || is_wanted_.load(); });
        is_wanted_.store(false);
        return !stops_;
    }

    std::atomic<bool> is_wanted_{false};
    std::mutex sleeping_;
    std::condition_variable woken_;
    bool stops_ = false;
    std::thread thread_;
};

}  // namespace holdfast
