#include <crash/record/scheduler.hpp>

#include <crash/record/interpose.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::crash {
namespace {

using futex_word = std::atomic<std::uint32_t>;
static_assert(sizeof(futex_word) == 4 && futex_word::is_always_lock_free);

void sleep_while(const futex_word& word, std::uint32_t value) noexcept {
    const int before = errno;
    while (word.load(std::memory_order_acquire) == value)
        ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
    errno = before;
}

void set_and_wake(futex_word& word, std::uint32_t value) noexcept {
    const int before = errno;
    word.store(value, std::memory_order_release);
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    errno = before;
}

class run;

struct thread_state {
    enum class status : std::uint8_t { can_run, blocked, ended };

    run* of = nullptr;
    std::uint8_t number = 0;
    status now = status::can_run;
    futex_word has_baton{0};
    scheduled::wait waits_for;
    std::uint64_t waits_since = 0;  ///< orders the waits of a run
    bool out_of_time = false;
};

/// Only who has the baton touches it, but for what is atomic.
class run {
public:
    run(std::size_t threads, const schedule& order) : count_(threads), order_(order) {
        for (std::size_t i = 0; i < threads; ++i) {
            threads_[i].of = this;
            threads_[i].number = static_cast<std::uint8_t>(i);
        }
        for (std::size_t i = 0; i < scheduled::known_clocks; ++i)
            ::clock_gettime(static_cast<clockid_t>(i), &clocks_at_start_[i]);
    }

    thread_state& thread(std::size_t number) noexcept { return threads_[number]; }
    std::uint64_t steps() const noexcept { return steps_; }
    void start() noexcept { set_and_wake(threads_[order_.first].has_baton, 1); }
    /// Until all threads have ended or none will: false.
    bool wait() noexcept {
        sleep_while(outcome_, still_runs);
        return outcome_.load() == all_ended;
    }

    void step(thread_state& self, bool hands_on) noexcept {
        if (++steps_ > steps_at_most) give_up(self);
        while (passed_ < order_.preemptions.size() && order_.preemptions[passed_] <= steps_) {
            hands_on = hands_on || order_.preemptions[passed_] == steps_;
            ++passed_;
        }
        if (hands_on) hand_on(self);
    }
    bool block(thread_state& self, const scheduled::wait& reason) noexcept {
        self.now = thread_state::status::blocked;
        self.waits_for = reason;
        self.waits_since = ++waits_;
        self.out_of_time = false;
        hand_on(self);
        return !self.out_of_time;
    }
    thread_state* longest_blocked_on(const void* object) noexcept {
        thread_state* found = nullptr;
        for (std::size_t i = 0; i < count_; ++i) {
            thread_state& each = threads_[i];
            if (each.now != thread_state::status::blocked || each.waits_for.object != object) continue;
            if (found == nullptr || each.waits_since < found->waits_since) found = &each;
        }
        return found;
    }
    void end(thread_state& self) noexcept {
        self.now = thread_state::status::ended;
        hand_on(self);
    }

    std::string describe() const;
    timespec clock_at_start(clockid_t clock) const noexcept {
        return clocks_at_start_[static_cast<std::size_t>(clock)];
    }

    std::uint64_t elapsed_ns = 0;
    std::exception_ptr thrown;

private:
    static constexpr std::uint32_t still_runs = 0, all_ended = 1, stuck = 2;

    void hand_on(thread_state& self) noexcept {
        thread_state* next = next_to_run(self);
        if (next == &self) return;
        if (next == nullptr) {
            const auto has_ended = [](const thread_state& each) { return each.now == thread_state::status::ended; };
            if (!std::all_of(threads_.begin(), threads_.begin() + count_, has_ended)) return give_up(self);
            return set_and_wake(outcome_, all_ended);
        }
        self.has_baton.store(0, std::memory_order_relaxed);
        set_and_wake(next->has_baton, 1);
        if (self.now != thread_state::status::ended) sleep_while(self.has_baton, 0);
    }

    thread_state* next_to_run(const thread_state& after) noexcept {
        for (std::size_t i = 1; i <= count_; ++i) {
            thread_state& each = threads_[(after.number + i) % count_];
            if (each.now == thread_state::status::can_run) return &each;
        }
        return first_out_of_time();
    }

    thread_state* first_out_of_time() noexcept {
        thread_state* found = nullptr;
        std::uint64_t limit_ns = scheduled::wait::no_limit;
        for (std::size_t i = 0; i < count_; ++i) {
            thread_state& each = threads_[i];
            if (each.now != thread_state::status::blocked || each.waits_for.limit_ns >= limit_ns) continue;
            found = &each;
            limit_ns = each.waits_for.limit_ns;
        }
        if (found == nullptr) return nullptr;
        found->now = thread_state::status::can_run;
        found->out_of_time = true;
        elapsed_ns = std::max(elapsed_ns, limit_ns);
        return found;
    }

    void give_up(const thread_state& self) noexcept {
        const bool has_ended = self.now == thread_state::status::ended;
        set_and_wake(outcome_, stuck);
        // Nothing can be unwound from inside a lock: whoever is left stays.
        while (!has_ended) ::pause();
    }

    std::array<thread_state, threads_at_most> threads_;
    std::size_t count_;
    schedule order_;
    std::size_t passed_ = 0;  ///< preemptions
    std::uint64_t steps_ = 0;
    std::uint64_t waits_ = 0;
    std::array<timespec, scheduled::known_clocks> clocks_at_start_{};
    futex_word outcome_{still_runs};
};

std::string run::describe() const {
    std::string text;
    for (std::size_t i = 0; i < count_; ++i) {
        const thread_state& each = threads_[i];
        text += (i == 0 ? "thread " : "; thread ") + std::to_string(i);
        if (each.now == thread_state::status::ended) text += " has ended";
        if (each.now == thread_state::status::can_run) text += " can go on";
        if (each.now != thread_state::status::blocked) continue;
        char places[64];
        std::snprintf(places, sizeof places, " %p at %p", each.waits_for.object, each.waits_for.caller);
        text += std::string(" waits for ") + each.waits_for.what + places;
    }
    return text;
}

constinit thread_local thread_state* this_thread = nullptr;

struct hands_on_at_the_end {
    ~hands_on_at_the_end() {
        thread_state& self = *std::exchange(this_thread, nullptr);
        self.of->end(self);
    }
};

void thread_main(thread_state& self, const std::function<void()>& function) {
    sleep_while(self.has_baton, 0);
    this_thread = &self;
    // Made first, so destroyed last: what the other thread-locals do at the end is still this thread's turn.
    [[maybe_unused]] static thread_local const hands_on_at_the_end last;
    try {
        function();
    } catch (...) {
        if (!self.of->thrown) self.of->thrown = std::current_exception();
    }
}

error stuck(const std::string& threads, std::uint64_t steps) {
    return error{.code = errc::busy,
                 .what = steps > steps_at_most ? "the scheduled threads go on without end"
                                               : "no scheduled thread can go on",
                 .expected = "all threads end within " + std::to_string(steps_at_most) + " steps",
                 .found = threads + ", after " + std::to_string(steps) + " steps"};
}

}  // namespace

schedule draw_schedule(std::uint64_t seed, unsigned threads, unsigned preemptions, std::uint64_t steps) {
    std::mt19937_64 random(seed);
    schedule drawn;
    drawn.first = static_cast<unsigned>(random() % threads);
    for (unsigned i = 0; i < preemptions && steps > 0; ++i) drawn.preemptions.push_back(1 + random() % steps);
    std::sort(drawn.preemptions.begin(), drawn.preemptions.end());
    drawn.preemptions.erase(std::unique(drawn.preemptions.begin(), drawn.preemptions.end()), drawn.preemptions.end());
    return drawn;
}

result<std::uint64_t> run_threads(std::span<const std::function<void()>> functions, const schedule& order) {
    if (functions.empty() || functions.size() > threads_at_most || order.first >= functions.size()) {
        return error{.code = errc::invalid_argument,
                     .what = "no such threads can be scheduled",
                     .expected = "1 to " + std::to_string(threads_at_most) + " threads, one of which begins",
                     .found = std::to_string(functions.size()) + ", beginning with " + std::to_string(order.first)};
    }
    interpose_locks();
    auto all = std::make_unique<run>(functions.size(), order);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < functions.size(); ++i)
        threads.emplace_back(thread_main, std::ref(all->thread(i)), std::cref(functions[i]));
    all->start();
    if (!all->wait()) {
        for (std::thread& each : threads) each.detach();
        // The threads that stay have their places in it.
        const run& left = *all.release();
        return stuck(left.describe(), left.steps());
    }
    for (std::thread& each : threads) each.join();
    if (all->thrown) std::rethrow_exception(all->thrown);
    return all->steps();
}

namespace scheduled {

bool is_on() noexcept { return this_thread != nullptr; }

std::uint8_t thread() noexcept { return this_thread != nullptr ? this_thread->number : std::uint8_t{0}; }

void step() noexcept {
    if (this_thread != nullptr) this_thread->of->step(*this_thread, false);
}

void yield() noexcept {
    if (this_thread != nullptr) this_thread->of->step(*this_thread, true);
}

bool block(const wait& reason) noexcept { return this_thread->of->block(*this_thread, reason); }

std::uint64_t elapsed_ns() noexcept { return this_thread != nullptr ? this_thread->of->elapsed_ns : 0; }

void pass_time(std::uint64_t ns) noexcept {
    if (this_thread != nullptr) this_thread->of->elapsed_ns += ns;
}

timespec clock_at_start(clockid_t clock) noexcept { return this_thread->of->clock_at_start(clock); }

void wake_one(const void* object) noexcept {
    if (this_thread == nullptr) return;
    if (thread_state* woken = this_thread->of->longest_blocked_on(object)) woken->now = thread_state::status::can_run;
}

void wake_all(const void* object) noexcept {
    if (this_thread == nullptr) return;
    while (thread_state* woken = this_thread->of->longest_blocked_on(object))
        woken->now = thread_state::status::can_run;
}

}  // namespace scheduled
}  // namespace holdfast::crash
