#include <holdfast/powerfail/watcher.hpp>

#include <holdfast/base/threads.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include <csignal>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace holdfast::powerfail {
namespace {

// A handler and not signalfd: that would need the signal blocked in each thread of the program, whenever it began.
constinit std::atomic<int> wakes_at_sigpwr{-1};
constinit std::atomic<pid_t> has_waking{0};  ///< the process; in its children the number may be any other file's
constinit std::atomic<bool> sigpwr_came{false};
constinit std::atomic<watcher::clock::rep> sigpwr_came_at{0};

void wake(int descriptor) noexcept {
    if (descriptor < 0) return;
    const std::uint64_t one = 1;
    // It is full only if nobody has read yet.
    static_cast<void>(!::write(descriptor, &one, sizeof one));
}

void note_sigpwr(int) {
    const int kept = errno;
    sigpwr_came_at.store(watcher::clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    sigpwr_came.store(true, std::memory_order_release);
    const int wakes = wakes_at_sigpwr.load(std::memory_order_acquire);
    if (wakes >= 0 && has_waking.load(std::memory_order_relaxed) == ::getpid()) wake(wakes);
    errno = kept;
}

/// With a real-time priority, above that of the thread that has started this one.
void run_before_others() noexcept {
    int policy = SCHED_OTHER;
    sched_param its{};
    ::pthread_getschedparam(::pthread_self(), &policy, &its);
    const bool is_real_time = policy == SCHED_FIFO || policy == SCHED_RR;
    its.sched_priority = std::min(::sched_get_priority_max(SCHED_FIFO),
                                  is_real_time ? its.sched_priority + 1 : ::sched_get_priority_min(SCHED_FIFO));
    // Where this is not permitted the thread runs as the others do.
    static_cast<void>(::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &its));
}

}  // namespace

watcher::watcher(std::vector<std::unique_ptr<trigger>> triggers, bool on_sigpwr, duties calls)
    : triggers_(std::move(triggers)),
      wakes_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      on_sigpwr_(on_sigpwr),
      calls_(std::move(calls)) {
    for (const auto& each : triggers_) polled_.push_back({each->descriptor(), POLLIN, 0});
    polled_.push_back({wakes_, POLLIN, 0});
    last_heard_.assign(triggers_.size(), clock::now());
    if (!on_sigpwr_) return;
    has_waking.store(::getpid(), std::memory_order_relaxed);
    wakes_at_sigpwr.store(wakes_, std::memory_order_release);
    take_sigpwr();
}

void watcher::take_sigpwr() noexcept {
    struct sigaction noting{};
    noting.sa_handler = &note_sigpwr;
    noting.sa_flags = SA_RESTART;
    ::sigaction(SIGPWR, &noting, nullptr);
}

std::optional<watcher::clock::time_point> watcher::forget_sigpwr() noexcept {
    if (!sigpwr_came.exchange(false, std::memory_order_acq_rel)) return {};
    return clock::time_point(clock::duration(sigpwr_came_at.load(std::memory_order_relaxed)));
}

watcher::~watcher() {
    // The handler stays: a signal that comes late would end the process.
    if (on_sigpwr_) wakes_at_sigpwr.store(-1, std::memory_order_release);
    stops_.store(true, std::memory_order_release);
    wake(wakes_);
    if (thread_.joinable()) thread_.join();
    if (wakes_ >= 0) ::close(wakes_);
}

bool watcher::start() noexcept {
    if (wakes_ < 0) return false;
    std::fill(last_heard_.begin(), last_heard_.end(), clock::now());
    thread_ = start_without_signals([this] { watch(); });
    return thread_.joinable();
}

void watcher::tell(news what) noexcept {
    if (what == news::power_fails) told_fails_.store(true, std::memory_order_release);
    if (what == news::power_is_back) told_back_.store(true, std::memory_order_release);
    wake(wakes_);
}

void watcher::watch() noexcept {
    run_before_others();
    if (on_sigpwr_) {
        sigset_t power;
        sigemptyset(&power);
        sigaddset(&power, SIGPWR);
        ::pthread_sigmask(SIG_UNBLOCK, &power, nullptr);
    }
    for (;;) {
        const heard all = wait(clock::time_point::max());
        if (all.fails) {
            // What is told meanwhile is heard, and ignored, by `wait_for_power`. What comes behind that, when threads
            // may run again, is an alarm of its own.
            calls_.power_fails(clock::now());
            // What was to wake this thread may have been read while it waited for the power.
            if (stops_.load(std::memory_order_acquire)) wake(wakes_);
        }
        if (all.is_back) calls_.power_is_back();
        // Behind an alarm that came just before: nobody else would hear of it.
        if (all.stops) return;
        if (std::exchange(loss_to_tell_, false)) calls_.lost();
    }
}

void watcher::wait_for_power(std::chrono::milliseconds at_most) noexcept {
    const auto until = at_most.count() == 0 ? clock::time_point::max() : clock::now() + at_most;
    for (;;) {
        const heard all = wait(until);
        if (all.is_back || clock::now() >= until) return;
    }
}

int watcher::wait_ms(clock::time_point until) const noexcept {
    for (std::size_t i = 0; i < triggers_.size(); ++i) {
        const auto allowed = triggers_[i]->silence_allowed();
        if (polled_[i].fd >= 0 && allowed.count() != 0) until = std::min(until, last_heard_[i] + allowed);
    }
    // A descriptor that the program closes wakes nobody. What was to wake this thread, closed, is not waited for.
    constexpr std::chrono::milliseconds usual{1000}, without_waking{10};
    until = std::min(until, clock::now() + (polled_.back().fd < 0 ? without_waking : usual));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
}

/// One look at everything, or none before `until`.
watcher::heard watcher::wait(clock::time_point until) noexcept {
    heard all;
    ::poll(polled_.data(), polled_.size(), wait_ms(until));
    const auto now = clock::now();
    if ((polled_.back().revents & POLLIN) != 0) {
        std::uint64_t ignored = 0;
        static_cast<void>(!::read(wakes_, &ignored, sizeof ignored));
    }
    // A program has closed what is not its own, such as a daemon that closes all that it has inherited.
    if ((polled_.back().revents & POLLNVAL) != 0) {
        note_loss(polled_.size() - 1);
        wakes_.store(-1, std::memory_order_release);
        if (on_sigpwr_) wakes_at_sigpwr.store(-1, std::memory_order_release);
    }
    // First: what was told before the end is heard with it.
    all.stops = stops_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < triggers_.size(); ++i) listen_to(i, now, all);
    all.fails |= told_fails_.exchange(false, std::memory_order_acq_rel);
    if (on_sigpwr_) all.fails |= sigpwr_came.exchange(false, std::memory_order_acq_rel);
    all.is_back |= told_back_.exchange(false, std::memory_order_acq_rel);
    return all;
}

void watcher::listen_to(std::size_t index, clock::time_point now, heard& all) noexcept {
    pollfd& its = polled_[index];
    if (its.fd < 0) return;
    if (its.revents == 0) {
        const auto allowed = triggers_[index]->silence_allowed();
        // Looked at once more: this thread itself may have been kept from running.
        if (allowed.count() == 0 || now < last_heard_[index] + allowed || ::poll(&its, 1, 0) != 0) return;
        return note_loss(index);
    }
    last_heard_[index] = now;
    if ((its.revents & POLLNVAL) != 0) return note_loss(index);
    switch (triggers_[index]->read()) {
        case news::nothing: return;
        case news::power_fails: all.fails = true; return;
        case news::power_is_back: all.is_back = true; return;
        case news::lost: return note_loss(index);
    }
}

void watcher::note_loss(std::size_t index) noexcept {
    polled_[index].fd = -1;
    has_lost_trigger_.store(true, std::memory_order_release);
    loss_to_tell_ = true;
}

}  // namespace holdfast::powerfail
