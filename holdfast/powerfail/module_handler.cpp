// A pool is armed by one open file of the module's, whose end is the end of the registration. A thread polls these
// files: what it hears is that one of them saves nothing any more.
#include <holdfast/powerfail/module_handler.hpp>

#include <holdfast/base/threads.hpp>
#include <holdfast/powerfail/charge_list.hpp>
#include <holdfast/powerfail/kernel_module.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace holdfast::powerfail {

class module_handler::implementation {
public:
    explicit implementation(std::string device) : device_(std::move(device)) {}
    ~implementation() {
        if (is_of_this_process()) {
            ends_ = true;
            wake();
            if (thread_.joinable()) thread_.join();
        } else {
            leave_to_parent();
        }
        if (wakes_ >= 0) ::close(wakes_);
    }
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;

    bool arm(charge& taken);
    bool arm_on_file() {
        if (!is_of_this_process()) begin_in_child();
        const std::lock_guard lock(mutex_);
        return decline("the kernel module does not sync files");
    }
    void disarm(charge& given_back) noexcept;
    const std::string& device() const noexcept { return device_; }
    std::string last_decline() const {
        const std::lock_guard lock(mutex_);
        return last_decline_;
    }
    std::size_t pools() const {
        // A child has inherited a lock that nobody in it may have to give back.
        if (!is_of_this_process()) return 0;
        const std::lock_guard lock(mutex_);
        return armed_.all().size();
    }

private:
    struct armed_pool : held_charge {
        kernel_module module;
        std::uint32_t kept;
        bool is_lost = false;  ///< nobody saves it any more
    };

    bool is_of_this_process() const noexcept { return process_ == ::getpid(); }
    void leave_to_parent() noexcept { ::new (static_cast<void*>(&thread_)) std::thread; }
    void begin_in_child() noexcept;
    bool decline(std::string why) {
        last_decline_ = std::move(why);
        return false;
    }
    result<armed_pool> registered(charge& taken) const;
    bool start_thread();
    void wake() const noexcept {
        const std::uint64_t one = 1;
        if (wakes_ >= 0) static_cast<void>(::write(wakes_, &one, sizeof one));
    }
    void watch() noexcept;
    std::vector<pollfd> polled() const;
    void note_losses(const std::vector<pollfd>& heard) noexcept;
    const std::string device_;
    pid_t process_ = ::getpid();
    mutable std::mutex mutex_;  ///< guards what follows
    charge_list<armed_pool, std::mutex> armed_{mutex_};
    std::string last_decline_;
    int wakes_ = -1;
    std::thread thread_;
    std::atomic<bool> ends_{false};
};

/// The parent's registrations are not the child's, which only closes its descriptors of their files.
void module_handler::implementation::begin_in_child() noexcept {
    leave_to_parent();
    ::new (static_cast<void*>(&mutex_)) std::mutex;
    armed_.all().clear();
    if (wakes_ >= 0) ::close(std::exchange(wakes_, -1));
    process_ = ::getpid();
}

result<module_handler::implementation::armed_pool> module_handler::implementation::registered(charge& taken) const {
    const std::span log(reinterpret_cast<const std::byte*>(taken.shadow), format::shadow_log_offset + taken.log_bytes);
    // The pool may grow that far.
    const std::span<const std::byte> homes(taken.pool, taken.reserved_bytes);
    if (taken.name.key == 0) return error{.code = errc::level_unavailable, .what = "the pool's file has no identity"};
    auto module = kernel_module::open(device_);
    if (!module) return std::move(module).give_error();
    auto kept = module->keep(log, homes, taken.name);
    if (!kept) return std::move(kept).give_error();
    return armed_pool{{&taken}, std::move(*module), *kept};
}

bool module_handler::implementation::arm(charge& taken) {
    if (!is_of_this_process()) begin_in_child();
    const std::lock_guard lock(mutex_);
    if (!start_thread()) return decline("no thread could be started");
    auto made = registered(taken);
    if (!made) return decline(made.error().text());
    armed_.all().push_back(*std::move(made));
    last_decline_.clear();
    wake();
    return true;
}

void module_handler::implementation::disarm(charge& given_back) noexcept {
    // Waits for the end of a save, without the lock.
    if (auto ended = armed_.take(given_back)) ended->module.release(ended->kept, given_back.name.key);
}

/// Requires: mutex_ is held.
bool module_handler::implementation::start_thread() {
    if (thread_.joinable()) return true;
    if (wakes_ < 0) wakes_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wakes_ < 0) return false;
    thread_ = start_without_signals([this] { watch(); });
    return thread_.joinable();
}

/// Files of pools that are lost already would be heard for ever.
std::vector<pollfd> module_handler::implementation::polled() const {
    const std::lock_guard lock(mutex_);
    std::vector<pollfd> all{{wakes_, POLLIN, 0}};
    for (const armed_pool& each : armed_.all())
        if (!each.is_lost) all.push_back({each.module.descriptor(), 0, 0});
    return all;
}

void module_handler::implementation::note_losses(const std::vector<pollfd>& heard) noexcept {
    const std::lock_guard lock(mutex_);
    for (armed_pool& each : armed_.all())
        for (const pollfd& one : heard)
            each.is_lost |= one.fd == each.module.descriptor() && (one.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

void module_handler::implementation::watch() noexcept {
    bool all_done = true;
    while (!ends_.load(std::memory_order_acquire)) {
        try {
            // A pool that is being opened, or that could not be made durable, is asked again.
            constexpr int soon_ms = 1, for_ever = -1;
            std::vector<pollfd> all = polled();
            static_cast<void>(::poll(all.data(), all.size(), all_done ? for_ever : soon_ms));
            std::uint64_t told = 0;
            // Closed by a program that closes what is not its own: nothing wakes this thread any more.
            if ((all[0].revents & POLLNVAL) != 0) std::this_thread::sleep_for(std::chrono::milliseconds{10});
            if ((all[0].revents & POLLIN) != 0) static_cast<void>(::read(wakes_, &told, sizeof told));
            note_losses(all);
            all_done = armed_.lose([](const armed_pool& each) { return each.is_lost; });
        } catch (...) {
            // Without memory: later.
            all_done = false;
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
}

module_handler::module_handler(std::string device) : made_(std::make_unique<implementation>(std::move(device))) {}
module_handler::~module_handler() = default;

result<void> module_handler::ready() const {
    auto module = kernel_module::open(made_->device());
    if (!module) return std::move(module).give_error();
    return {};
}

bool module_handler::arm(charge& taken) { return made_->arm(taken); }
bool module_handler::arm_on_file(charge&) { return made_->arm_on_file(); }
void module_handler::disarm(charge& given_back) noexcept { made_->disarm(given_back); }
std::string module_handler::last_decline() const { return made_->last_decline(); }
std::size_t module_handler::pools() const { return made_->pools(); }

}  // namespace holdfast::powerfail
