// An alarm, in the order in which it is done by the watcher's thread
//   1. Claimed: the first trigger wins, what others say meanwhile is ignored. The lock of the list of pools is taken
//      before any thread is stopped, so that no stopped thread holds it.
//   2. All other threads are stopped. Without that nothing is sealed (see the header).
//   3. Each pool is saved (save.hpp): log, lines, seal.
//   4. If the process still runs after a while, or is told so, the power has stayed: each save is taken back, durably,
//      and then the threads run on.
// From 1 to the end of 4 nothing is locked or allocated: a stopped thread may hold the allocator's lock.
#include <holdfast/powerfail/process_handler.hpp>

#include <holdfast/powerfail/charge_list.hpp>
#include <holdfast/powerfail/parking.hpp>
#include <holdfast/powerfail/priority_mutex.hpp>
#include <holdfast/powerfail/save.hpp>
#include <holdfast/powerfail/save_speed.hpp>
#include <holdfast/powerfail/triggers.hpp>
#include <holdfast/powerfail/watcher.hpp>

#include <holdfast/base/threads.hpp>
#include <holdfast/persist/file.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace holdfast::powerfail {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// A save takes longer than what was measured of it where lines are in another core's caches, or pages left the TLB.
constexpr double caution = 1.5;

std::uint64_t as_us(double ns) noexcept { return static_cast<std::uint64_t>(ns / 1000) + 1; }

/// How long it takes to stop all threads, in the middle of some tries: one that found the processors busy says little.
/// 0: it did not work.
double ns_to_stop_all(nanoseconds patience, unsigned& threads) noexcept {
    constexpr int tries = 5;
    double all_ns[tries];
    for (double& each : all_ns) {
        const auto begin = clock::now();
        if (!parking::stop(patience)) return 0;
        each = std::chrono::duration<double, std::nano>(clock::now() - begin).count();
        threads = parking::count();
        parking::release();
    }
    std::ranges::sort(all_ns);
    return all_ns[tries / 2];
}

/// What stopping one of several threads takes that all wait, in ns. Where it fails, so will what `arm` tries.
double measured_park_ns() {
    constexpr unsigned threads = 8;
    std::atomic<bool> over{false};
    std::vector<std::thread> waiting;
    for (unsigned i = 0; i < threads; ++i) waiting.push_back(start_without_signals([&] { over.wait(false); }));
    unsigned stopped = 1;
    const double ns = ns_to_stop_all(std::chrono::milliseconds{50}, stopped);
    over = true;
    over.notify_all();
    for (std::thread& each : waiting)
        if (each.joinable()) each.join();
    return ns / std::max(stopped, 1u);
}

}  // namespace

class process_handler::implementation {
public:
    explicit implementation(process_handler_options wanted) : options(std::move(wanted)) {
        if (options.on_sigpwr) watcher::take_sigpwr();
        if (!options.parks) return;
        parking::prepare();
        park_ns_per_thread_ = measured_park_ns();
    }
    ~implementation() {
        if (is_of_this_process()) {
            stop_threads();
        } else {
            leave_to_parent();
        }
    }
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;

    result<void> ready() {
        const std::lock_guard starting(starting_);
        return open_triggers();
    }
    bool arm(charge& taken);
    bool arm_on_file(charge& taken);
    void grown(charge& of, std::uint64_t pool_bytes) noexcept;
    void disarm(charge& given_back) noexcept;
    result<alarm_report> fail_power();
    void power_is_back() noexcept {
        // A child has the parent's watcher, and what wakes that under a number that may be another file's by now.
        if (!is_of_this_process()) return;
        note_power();
        tell(news::power_is_back);
    }
    bool give_up();
    save_budget budget() const {
        return asked(save_budget{}, [&] { return budget_with(0, 0); });
    }
    std::size_t pools() const {
        return asked(std::size_t{0}, [&] { return pools_.all().size(); });
    }
    alarm_report last_alarm() const {
        return asked(alarm_report{}, [&] { return last_; });
    }
    std::string last_decline() const {
        return asked(std::string(), [&] { return last_decline_; });
    }

    process_handler_options options;

private:
    using triggers = std::vector<std::unique_ptr<trigger>>;
    struct armed_pool : held_charge {
        std::uint64_t bytes;
        save_cost cost;
        bool is_on_file = false;
    };

    /// For so long after an alarm the power may be failing still, unless somebody says that it is back.
    void note_failure(clock::time_point known_at) noexcept {
        failing_until_.store((known_at + options.hold_up).time_since_epoch().count(), std::memory_order_release);
    }
    void note_power() noexcept { failing_until_.store(0, std::memory_order_release); }
    bool may_be_failing() const noexcept {
        return clock::now().time_since_epoch().count() < failing_until_.load(std::memory_order_acquire);
    }
    bool is_of_this_process() const noexcept { return process_.load(std::memory_order_acquire) == ::getpid(); }
    /// False: there is no watcher. It hears it even if it is to end now.
    bool tell(news what) noexcept {
        // Who ends it waits for those who came before.
        if (told_.load() == nullptr) return false;
        telling_.fetch_add(1);
        watcher* const told = told_.load();
        if (told != nullptr) told->tell(what);
        telling_.fetch_sub(1);
        return told != nullptr;
    }
    /// A child has inherited a lock that nobody in it may have to give back; until it arms a pool it has none of this.
    template <class Value, class Ask>
    Value asked(Value of_child, Ask ask) const {
        if (!is_of_this_process()) return of_child;
        const std::lock_guard lock(mutex_);
        return ask();
    }
    result<void> check_options() const;
    void leave_to_parent() noexcept;
    void begin_in_child() noexcept;
    void begin_in_child_once() noexcept;
    result<void> open_triggers();
    void stop_watcher() noexcept;
    void stop_threads() noexcept;
    result<void> start_threads();
    void alarm(clock::time_point begun) noexcept;
    void save_all(alarm_report& now, clock::time_point begun) noexcept;
    void ask_to_give_up() noexcept;
    void give_up_when_asked();
    save_budget budget_with(double copy_ns, double write_back_ns) const noexcept;
    bool decline(std::string why) {
        last_decline_ = std::move(why);
        return false;
    }
    bool can_stop_threads();
    bool can_take(const result<void>& started, bool on_file);
    bool keep(const armed_pool& taken);

    const save_speed speed_;
    double park_ns_per_thread_ = 0;
    double park_ns_ = 0;  ///< of all, as the last pool was armed
    std::atomic<pid_t> process_ = ::getpid();  ///< negative: the child of that number begins
    std::mutex starting_;           ///< guards the threads
    std::mutex calling_;            ///< one `fail_power` at a time
    mutable priority_mutex mutex_;  ///< guards what follows
    charge_list<armed_pool, priority_mutex> pools_{mutex_};
    alarm_report last_;
    std::string last_decline_;
    std::optional<triggers> opened_;  ///< for the next watcher
    std::optional<watcher> watcher_;
    watcher* alarmed_by_ = nullptr;  ///< for its thread, also while `watcher_` is being reset
    std::atomic<watcher*> told_{nullptr};
    std::atomic<unsigned> telling_{0};  ///< those who may use what they found there
    std::thread loser_;
    std::atomic<std::uint32_t> alarms_{0};
    std::atomic<clock::rep> failing_until_{0};  ///< of the clock; 0: it is not
    enum : std::uint32_t { nothing_lost, all_lost, ended };
    std::atomic<std::uint32_t> lost_{nothing_lost};
};

/// A child has no threads but its own; what it has inherited of the others cannot be joined.
void process_handler::implementation::leave_to_parent() noexcept {
    ::new (static_cast<void*>(&loser_)) std::thread;
    ::new (static_cast<void*>(&watcher_)) std::optional<watcher>;
}

void process_handler::implementation::begin_in_child() noexcept {
    leave_to_parent();
    ::new (static_cast<void*>(&starting_)) std::mutex;
    ::new (static_cast<void*>(&calling_)) std::mutex;
    ::new (static_cast<void*>(&mutex_)) priority_mutex;
    pools_.all().clear();
    opened_.reset();
    told_ = nullptr;
    telling_ = 0;
    lost_ = nothing_lost;
    if (options.parks) parking::prepare();
}

/// Several threads of the child may open its first pools.
void process_handler::implementation::begin_in_child_once() noexcept {
    const pid_t self = ::getpid();
    for (pid_t seen = process_; seen != self; seen = process_) {
        if (seen == -self || !process_.compare_exchange_strong(seen, -self)) {
            std::this_thread::yield();
            continue;
        }
        begin_in_child();
        process_.store(self, std::memory_order_release);
    }
}

/// Of pools that are saved with all threads stopped. A save that is taken back while the power still fails is none.
result<void> process_handler::implementation::check_options() const {
    if (options.stays_after.count() == 0 || options.stays_after > options.hold_up) return {};
    const auto text_of = [](auto time) {
        return std::to_string(std::chrono::microseconds(time).count()) + " us";
    };
    return error{.code = errc::invalid_argument,
                 .what = "a save would be revoked while the power is still failing",
                 .expected = "a `stays_after` of 0, or longer than the `hold_up` of " + text_of(options.hold_up),
                 .found = text_of(options.stays_after)};
}

/// Requires: starting_ is held.
result<void> process_handler::implementation::open_triggers() {
    if (opened_ || (watcher_ && !watcher_->has_lost_trigger())) return {};
    triggers all;
    const auto take = [&](const std::string& name, auto open) -> result<void> {
        if (name.empty()) return {};
        auto opened = open(name);
        if (!opened) return opened.error();
        all.push_back(std::move(*opened));
        return {};
    };
    const auto link = [&](const std::string& socket) { return daemon_link(socket, options.daemon_silence); };
    if (auto taken = take(options.carrier, carrier); !taken) return taken;
    if (auto taken = take(options.button, power_button); !taken) return taken;
    if (auto taken = take(options.daemon, link); !taken) return taken;
    opened_ = std::move(all);
    return {};
}

/// Begins again where a trigger was lost. Requires: starting_ is held.
result<void> process_handler::implementation::start_threads() {
    if (watcher_ && !watcher_->has_lost_trigger()) return {};
    const auto no_thread = [] { return error{.code = errc::io, .what = "no thread could be started"}; };
    // Where they cannot be had, the threads that are there still let pools go on at `power`.
    if (auto opened = open_triggers(); !opened) return opened;
    if (!loser_.joinable()) {
        lost_ = nothing_lost;
        loser_ = start_without_signals([this] { give_up_when_asked(); });
        if (!loser_.joinable()) return no_thread();
    }
    stop_watcher();
    // What it has not come to say, or nobody hears from here on if no other can be started.
    if (pools() != 0) ask_to_give_up();
    // What is armed from now on is not what the thread is giving up.
    while (pools() == 0 && lost_.load(std::memory_order_acquire) == all_lost)
        std::this_thread::sleep_for(std::chrono::microseconds{100});
    // One that came while there was nothing to save is no alarm.
    if (pools() == 0)
        if (const auto came_at = watcher::forget_sigpwr()) note_failure(*came_at);
    watcher_.emplace(std::move(*opened_), options.on_sigpwr,
                     watcher::duties{[this](clock::time_point begun) { alarm(begun); }, [this] { ask_to_give_up(); },
                                     [this] { note_power(); }});
    opened_.reset();
    alarmed_by_ = &*watcher_;
    if (!watcher_->start()) {
        watcher_.reset();
        return no_thread();
    }
    told_ = &*watcher_;
    return {};
}

void process_handler::implementation::stop_watcher() noexcept {
    told_ = nullptr;
    while (telling_ != 0) std::this_thread::sleep_for(std::chrono::microseconds{100});
    watcher_.reset();
}

void process_handler::implementation::stop_threads() noexcept {
    stop_watcher();
    lost_ = ended;
    lost_.notify_all();
    if (loser_.joinable()) loser_.join();
}

save_budget process_handler::implementation::budget_with(double copy_ns, double write_back_ns) const noexcept {
    for (const armed_pool& each : pools_.all()) {
        copy_ns += each.cost.copy_ns;
        write_back_ns += each.cost.write_back_ns;
    }
    return {as_us(park_ns_ * caution), as_us(copy_ns * caution), as_us(write_back_ns * caution),
            as_us(options.share * static_cast<double>(nanoseconds(options.hold_up).count()))};
}

/// Stops all threads for a moment. Requires: mutex_ is held, so that nobody else does.
bool process_handler::implementation::can_stop_threads() {
    if (!options.parks) return true;
    unsigned threads = 0;
    const double ns = ns_to_stop_all(options.hold_up, threads);
    park_ns_ = std::max(ns, park_ns_per_thread_ * std::max(options.threads, threads));
    return ns != 0;
}

/// Requires of this and the next: mutex_ is held.
bool process_handler::implementation::can_take(const result<void>& started, bool on_file) {
    if (!started) return decline(started.error().text());
    if (lost_.load(std::memory_order_acquire) != nothing_lost) return decline("the handler has been given up");
    if (may_be_failing()) return decline("the power is failing, and no trigger has reported its return");
    // Since `start_threads`, and those whom that is told to may be at the end of giving up what was armed before.
    if (watcher_->has_lost_trigger()) return decline("a trigger was lost at this moment");
    // Those of one kind are saved in milliseconds, with all threads stopped; the others in seconds, while threads run.
    if (!pools_.all().empty() && pools_.all().front().is_on_file != on_file)
        return decline(on_file ? "the handler has charge of pools that are not on ordinary files"
                               : "the handler has charge of pools on ordinary files");
    if (on_file) return true;
    const auto sound = check_options();
    return sound ? true : decline(sound.error().text());
}

bool process_handler::implementation::keep(const armed_pool& taken) {
    const save_budget with_it = budget_with(taken.cost.copy_ns, taken.cost.write_back_ns);
    if (with_it.sum_us() > with_it.allowed_us)
        return decline("a save would take " + std::to_string(with_it.sum_us()) + " us, and may take " +
                       std::to_string(with_it.allowed_us) + " us");
    pools_.all().push_back(taken);
    last_decline_.clear();
    return true;
}

bool process_handler::implementation::arm(charge& taken) {
    begin_in_child_once();
    const std::lock_guard starting(starting_);
    const auto started = start_threads();
    const std::lock_guard lock(mutex_);
    if (!can_take(started, false)) return false;
    if (!can_stop_threads()) return decline("a thread of the process cannot be stopped in time");
    const save_cost cost =
        speed_.measure(taken.pool, taken.pool_bytes, taken.shadow->log_offset, taken.log_bytes,
                       reinterpret_cast<const std::byte*>(taken.shadow) + format::shadow_log_offset, taken.lines);
    return keep({{&taken}, taken.pool_bytes, cost});
}

bool process_handler::implementation::arm_on_file(charge& taken) {
    begin_in_child_once();
    const std::lock_guard starting(starting_);
    const auto started = start_threads();
    const auto sync_ns = save_speed::measure_sync(persist::directory_of(taken.path), taken.pool_bytes);
    const std::lock_guard lock(mutex_);
    if (!can_take(started, true)) return false;
    if (!sync_ns) return decline(sync_ns.error().text());
    return keep({{&taken}, taken.pool_bytes, {0, *sync_ns}, true});
}

void process_handler::implementation::grown(charge& of, std::uint64_t pool_bytes) noexcept {
    const std::lock_guard lock(mutex_);
    armed_pool* const its = pools_.find(of);
    if (its == nullptr) return;
    its->cost.write_back_ns *= static_cast<double>(pool_bytes) / static_cast<double>(its->bytes);
    its->bytes = pool_bytes;
    const save_budget now = budget_with(0, 0);
    if (now.sum_us() > now.allowed_us) ask_to_give_up();
}

void process_handler::implementation::disarm(charge& given_back) noexcept {
    static_cast<void>(pools_.take(given_back));
}

bool process_handler::implementation::give_up() {
    return !is_of_this_process() || pools_.lose([](const armed_pool&) { return true; });
}

void process_handler::implementation::ask_to_give_up() noexcept {
    std::uint32_t nothing = nothing_lost;
    if (lost_.compare_exchange_strong(nothing, all_lost)) lost_.notify_all();
}

/// A pool that is being opened, or that could not be made durable, is asked again.
void process_handler::implementation::give_up_when_asked() {
    lost_.wait(nothing_lost);
    while (lost_.load(std::memory_order_acquire) != ended) {
        bool done = false;
        try {
            done = give_up();
        } catch (...) {
            // Without memory: later.
            done = false;
        }
        std::uint32_t asked = all_lost;
        if (done && lost_.compare_exchange_strong(asked, nothing_lost)) lost_.wait(nothing_lost);
        if (!done) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

void process_handler::implementation::save_all(alarm_report& now, clock::time_point begun) noexcept {
    save_times last{begun, begun, begun};
    for (const armed_pool& each : pools_.all()) save(*each.of->shadow, each.of->pool, each.of->lines, &last);
    now.pools = pools_.all().size();
    now.log_copied = last.log_copied - begun;
    now.written_back = last.written_back - begun;
    now.sealed = last.sealed - begun;
    if (options.when_saved) options.when_saved();
    alarmed_by_->wait_for_power(options.stays_after);
    for (const armed_pool& each : pools_.all()) resume(*each.of->shadow, each.of->pool, each.of->lines);
    now.resumed = clock::now() - begun;
}

void process_handler::implementation::alarm(clock::time_point begun) noexcept {
    const std::lock_guard lock(mutex_);
    alarm_report now;
    now.number = last_.number + 1;
    note_failure(begun);
    if (!pools_.all().empty() && pools_.all().front().is_on_file) {
        now.at_power = pools_.all().size();
        ask_to_give_up();
    } else if (!pools_.all().empty()) {
        now.is_stopped = !options.parks || parking::stop(options.hold_up);
        now.threads = options.parks && now.is_stopped ? parking::count() : 0;
        now.parked = clock::now() - begun;
        if (now.is_stopped) {
            save_all(now, begun);
            note_power();
            if (options.parks) parking::release();
        } else {
            ask_to_give_up();
        }
    }
    now.released = clock::now() - begun;
    last_ = now;
    alarms_.fetch_add(1, std::memory_order_release);
    alarms_.notify_all();
}

result<alarm_report> process_handler::implementation::fail_power() {
    const auto refuse = [] {
        return error{.code = errc::misuse, .what = "no pool of this process was ever armed by this handler"};
    };
    if (!is_of_this_process()) return refuse();
    const std::lock_guard calling(calling_);
    const std::uint32_t before = alarms_.load(std::memory_order_acquire);
    if (!tell(news::power_fails)) {
        // It may be beginning again.
        const std::lock_guard starting(starting_);
        if (!tell(news::power_fails)) return refuse();
    }
    alarms_.wait(before, std::memory_order_acquire);
    return last_alarm();
}

process_handler::process_handler(process_handler_options options)
    : made_(std::make_unique<implementation>(std::move(options))) {}
process_handler::~process_handler() = default;
result<void> process_handler::ready() const { return made_->ready(); }
bool process_handler::arm(charge& taken) { return made_->arm(taken); }
bool process_handler::arm_on_file(charge& taken) { return made_->arm_on_file(taken); }
void process_handler::grown(charge& of, std::uint64_t pool_bytes) noexcept { made_->grown(of, pool_bytes); }
void process_handler::disarm(charge& given_back) noexcept { made_->disarm(given_back); }
std::string process_handler::last_decline() const { return made_->last_decline(); }
std::size_t process_handler::pools() const { return made_->pools(); }
save_budget process_handler::budget() const { return made_->budget(); }
result<alarm_report> process_handler::fail_power() { return made_->fail_power(); }
void process_handler::power_is_back() noexcept { made_->power_is_back(); }
bool process_handler::give_up() { return made_->give_up(); }
alarm_report process_handler::last_alarm() const { return made_->last_alarm(); }

}  // namespace holdfast::powerfail
