// What the tests of pools on ordinary files at `on_power_fail` share.
#pragma once

#include <holdfast/pool/pool_test_support.hpp>

#include <holdfast/powerfail/handler.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace holdfast::test {

/// Takes every pool, and says when its power fails.
class told_handler final : public powerfail::handler {
public:
    bool arm(powerfail::charge&) override { return false; }
    bool arm_on_file(powerfail::charge& taken) override {
        taken_ = &taken;
        if (when_armed) when_armed(taken);
        return true;
    }
    void disarm(powerfail::charge& given_back) noexcept override {
        if (when_disarmed) when_disarmed(given_back);
        taken_ = nullptr;
    }
    std::function<void(powerfail::charge&)> when_armed, when_disarmed;
    std::uint64_t pool_bytes() const noexcept { return taken_->pool_bytes; }
    bool has_charge() const noexcept { return taken_ != nullptr; }
    bool lose() { return taken_->lost(); }

private:
    powerfail::charge* taken_ = nullptr;
};

inline void wait_for(const std::function<bool()>& what) {
    while (!what()) std::this_thread::yield();
}

class armed_on_file_test : public ::testing::Test {
protected:
    armed_on_file_test() { powerfail::use_handler(&told_); }
    ~armed_on_file_test() override { powerfail::use_handler(nullptr); }

    std::string path() const { return scratch_.file("pool"); }
    static create_options options_at(level durability, std::uint64_t order = 0) {
        auto options = small_pool(durability, order);
        options.where.tmpfs_is_file = true;
        return options;
    }
    pool_pointer make(const std::string& name = "pool", std::uint64_t order = 0) const {
        return open_pool::create(scratch_.file(name), redo_like, options_at(level::on_power_fail, order)).value();
    }
    result<pool_pointer> open(const open_options& options = options_at(level::power)) const {
        return open_pool::open(path(), redo_like, options);
    }
    /// What an opening finds in the last word, or why there is none.
    std::string found(const open_options& options = options_at(level::power)) const {
        auto pool = open(options);
        return pool ? std::to_string(*last_word(**pool)) : std::string(name_of(pool.error().code));
    }
    static void begin_next_boot(const char* name = "tuesday") { stand_ins_now.boot_id = name; }
    static std::uint64_t syncs() { return persist::thread_counters().syncs; }

    scratch_directory scratch_{"/dev/shm"};
    boot_named boot_{"monday"};
    told_handler told_;
};

}  // namespace holdfast::test
