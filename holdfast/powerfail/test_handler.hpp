// A handler of tests: it is armed for whatever it may, saves when a test says that the power fails, and parks the other
// threads of the process meanwhile, wherever they are.
#pragma once

#include <holdfast/persist/test_scratch.hpp>
#include <holdfast/powerfail/handler.hpp>
#include <holdfast/powerfail/save.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast::powerfail::test {

/// Stops every other thread of the process by a signal, from construction to destruction. One at a time.
class parked_threads {
public:
    parked_threads() {
        parked = 0;
        released = false;
        struct sigaction park{};
        park.sa_handler = &stay;
        park.sa_flags = SA_RESTART;
        ::sigaction(SIGUSR2, &park, &before_);
        for_each_other([&](pid_t thread) {
            if (::syscall(SYS_tgkill, ::getpid(), thread, SIGUSR2) == 0) ++count_;
        });
        for (unsigned waits = 1; parked.load(std::memory_order_acquire) != count_; ++waits) {
            ::usleep(10);
            if (waits % 1000 != 0) continue;
            // A thread may have ended meanwhile.
            unsigned alive = 0;
            for_each_other([&](pid_t) { ++alive; });
            count_ = std::min(count_, alive);
        }
    }
    ~parked_threads() {
        released.store(true, std::memory_order_release);
        while (parked.load(std::memory_order_acquire) != 0) ::usleep(10);
        ::sigaction(SIGUSR2, &before_, nullptr);
    }
    parked_threads(const parked_threads&) = delete;
    parked_threads& operator=(const parked_threads&) = delete;

    unsigned count() const noexcept { return count_; }

private:
    template <class F>
    static void for_each_other(F&& f) {
        // There the emulator has threads of its own among them.
        if (persist::test::emulated()) return;
        const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
        for (const auto& each : std::filesystem::directory_iterator("/proc/self/task"))
            if (const pid_t thread = std::stoi(each.path().filename().string()); thread != self) f(thread);
    }
    static void stay(int) {
        parked.fetch_add(1, std::memory_order_acq_rel);
        while (!released.load(std::memory_order_acquire)) {
            timespec moment{0, 10'000};
            ::nanosleep(&moment, nullptr);
        }
        parked.fetch_sub(1, std::memory_order_acq_rel);
    }

    static inline std::atomic<unsigned> parked{0};
    static inline std::atomic<bool> released{false};
    unsigned count_ = 0;
    struct sigaction before_{};
};

/// In force from construction to destruction.
class test_handler final : public handler {
public:
    explicit test_handler(std::uint64_t bytes_at_most = ~std::uint64_t{0}) : bytes_at_most_(bytes_at_most) {
        use_handler(this);
    }
    ~test_handler() override { use_handler(nullptr); }

    bool arm(charge& taken) override {
        const std::lock_guard guard(mutex_);
        if (taken.log_bytes + taken.pool_bytes > bytes_at_most_) return false;
        charges_.push_back(&taken);
        return true;
    }
    void disarm(charge& given_back) noexcept override {
        const std::lock_guard guard(mutex_);
        std::erase(charges_, &given_back);
    }

    std::size_t pools() const {
        const std::lock_guard guard(mutex_);
        return charges_.size();
    }
    /// The power fails; `stays`: and comes back before anything was lost. `parked` is called last with all threads
    /// still.
    void fail_power(bool stays = false, const std::function<void()>& parked = {}) {
        const std::lock_guard guard(mutex_);
        const parked_threads all;
        for (charge* const each : charges_) {
            save(*each->shadow, each->pool, each->lines);
            if (stays) resume(*each->shadow, each->pool, each->lines);
        }
        if (parked) parked();
    }
    /// Nobody would save any more. Returns whether all pools go on without.
    bool lose() {
        std::vector<charge*> known;
        {
            const std::lock_guard guard(mutex_);
            known = charges_;
        }
        return std::ranges::all_of(known, [](charge* each) { return each->lost(); });
    }

private:
    std::uint64_t bytes_at_most_;
    mutable std::mutex mutex_;
    std::vector<charge*> charges_;
};

}  // namespace holdfast::powerfail::test
