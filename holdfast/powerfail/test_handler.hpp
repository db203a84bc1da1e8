// The library's handler as tests use it: it has all the time that it wants, and they say when the power fails.
#pragma once

#include <holdfast/persist/test_scratch.hpp>
#include <holdfast/powerfail/process_handler.hpp>
#include <holdfast/powerfail/save.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace holdfast::powerfail::test {

/// In force from construction to destruction.
class test_handler final : public handler {
public:
    explicit test_handler(std::uint64_t bytes_at_most = ~std::uint64_t{0}) : bytes_at_most_(bytes_at_most) {
        use_handler(this);
    }
    ~test_handler() override { use_handler(nullptr); }

    bool arm(charge& taken) override {
        if (taken.log_bytes + taken.pool_bytes > bytes_at_most_ || !handler_.arm(taken)) return false;
        const std::lock_guard guard(mutex_);
        charges_.push_back(&taken);
        return true;
    }
    bool arm_on_file(charge& taken) override { return handler_.arm_on_file(taken); }
    void grown(charge& of, std::uint64_t pool_bytes) noexcept override { handler_.grown(of, pool_bytes); }
    void disarm(charge& given_back) noexcept override {
        handler_.disarm(given_back);
        const std::lock_guard guard(mutex_);
        std::erase(charges_, &given_back);
    }

    std::size_t pools() const { return handler_.pools(); }
    /// The power fails; `stays`: and comes back before anything was lost. Else the saves are the last thing that
    /// happens: the handler takes them back before it returns, and they are made again. `parked` is called last, with
    /// all threads still. Requires: no pool is armed or disarmed meanwhile.
    alarm_report fail_power(bool stays = false, std::function<void()> parked = {}) {
        parked_ = std::move(parked);
        const alarm_report report = handler_.fail_power().value();
        if (!stays)
            for (charge* const each : charges_) save(*each->shadow, each->pool, each->lines);
        return report;
    }
    /// Nobody would save any more. Returns whether all pools go on without.
    bool lose() { return handler_.give_up(); }

private:
    process_handler_options options() {
        process_handler_options made;
        made.hold_up = std::chrono::hours{1};
        made.stays_after = std::chrono::milliseconds{0};
        made.share = 1;
        made.on_sigpwr = false;
        // An emulator has threads of its own among those of the process.
        made.parks = !persist::test::emulated();
        made.when_saved = [this] {
            if (parked_) parked_();
            handler_.power_is_back();
        };
        return made;
    }

    std::uint64_t bytes_at_most_;
    std::mutex mutex_;
    std::vector<charge*> charges_;
    std::function<void()> parked_;
    process_handler handler_{options()};
};

}  // namespace holdfast::powerfail::test
