// Every interleaving of small programs, from the source itself. A thread is a function that makes one call at a time;
// each access to a shared word is a step. To take a thread's next step, its call is run again from its beginning:
// accesses that it has made give what they gave, the next one is made, and at the one after that the call is left. So a
// state is the shared words and what each thread has seen in its call; it can be put back, and recognised when it comes
// again. (stm/scheduled_test.hpp has real threads that take turns: right for random schedules of larger programs.)
// This explores the order of accesses; what weaker memory orders would allow it does not show.
#pragma once

#include <holdfast/htm/blue_red_faults.hpp>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace holdfast::htm::test {

/// Programs: threads, and words that they share. One object at a time, on one thread.
class machine {
public:
    /// What a call has come to: turned away, it is made again when any word has changed.
    enum class call : unsigned char { over, turned_away };

    /// `words` are compared by their places from `base`. make_call(thread) makes the thread's next call;
    /// is_over(thread) tells whether there is none; look() judges each state.
    machine(const void* base, unsigned threads, std::function<call(unsigned)> make_call,
            std::function<bool(unsigned)> is_over, std::function<void()> look)
        : base_(static_cast<const char*>(base)), make_call_(std::move(make_call)), is_over_(std::move(is_over)),
          look_(std::move(look)), threads_(threads) {
        now_ = this;
    }
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;
    ~machine() { now_ = nullptr; }

    static constexpr unsigned every_schedule = 6;

    /// All schedules with at most `most_preemptions` switches away from a thread that could go on: up to 5, or
    /// every_schedule.
    void explore(unsigned most_preemptions) {
        visited_.assign(1u << 16, 0);
        for (unsigned first = 0; first < threads_.size() && violation_.empty(); ++first)
            take_and_explore(first, most_preemptions);
    }
    /// One schedule, drawn from `seed`: threads change at one access in `1 + seed % 6`.
    void run_randomly(std::uint64_t seed) {
        std::mt19937_64 random(seed);
        const unsigned switch_one_in = 1 + static_cast<unsigned>(seed % 6);
        unsigned current = 0;
        while (violation_.empty() && !all_over()) {
            const bool stays = is_enabled(current) && random() % switch_one_in != 0;
            unsigned tries = 0;
            while (!stays || !is_enabled(current)) {
                current = static_cast<unsigned>(random() % threads_.size());
                if (is_enabled(current)) break;
                if (++tries == 1000) return fail("all threads wait for each other");
            }
            if (++steps_ == most_steps) return fail("the program has no end");
            step(current);
            undo_.clear();
            schedule_.clear();
        }
    }

    /// Empty: no state was wrong.
    const std::string& violation() const noexcept { return violation_; }
    std::uint64_t states() const noexcept { return states_; }
    void fail(const char* what) {
        if (!violation_.empty()) return;
        violation_ = what;
        if (!schedule_.empty()) violation_ += "; the steps of threads were:";
        for (const unsigned each : schedule_) violation_ += " " + std::to_string(each);
    }

    /// A word's new value: what may be put back.
    static void put(std::uint64_t& word, std::uint64_t value) {
        if (word == value) return;
        if (now_ == nullptr) {
            word = value;
            return;
        }
        now_->undo_.push_back({&word, word});
        now_->change(word, value);
        now_->disturbed_ |= ~(1u << now_->running_);
    }
    /// One access, a step of the thread that runs; outside of calls, and while a state is looked at, just the access.
    template <class F>
    static std::uint64_t access(F access_it) {
        if (now_ == nullptr || !now_->in_call_) return access_it();
        machine& all = *now_;
        thread& self = all.threads_[all.running_];
        if (all.replayed_ < self.seen.size()) return self.seen[all.replayed_++];
        if (all.has_stepped_) std::longjmp(all.leave_call_, 1);
        all.has_stepped_ = true;
        const std::uint64_t found = access_it();
        self.seen.push_back(found);
        self.seen_hash = mixed(self.seen_hash ^ found);
        ++all.replayed_;
        return found;
    }
    /// The thread has nothing to do before a word changes, and stays in its call.
    static void pause() {
        access([]() -> std::uint64_t {
            thread& self = now_->threads_[now_->running_];
            self.asleep_at = self.paused_at;
            self.paused_at = now_->hash_;
            return 0;
        });
    }

private:
    static constexpr std::size_t most_accesses = 400;  ///< of one call
    static constexpr std::uint64_t most_steps = 200'000;

    struct thread {
        std::vector<std::uint64_t> seen;
        std::uint64_t seen_hash = 0;
        std::uint64_t began_at = 0;   ///< the words' hash when the call began
        std::uint64_t paused_at = 0;  ///< the same at its last pause
        std::uint64_t asleep_at = 0;  ///< while the words' hash is this one, nothing new can come of a step
    };
    struct old_value {
        std::uint64_t* word;
        std::uint64_t value;
    };

    static std::uint64_t mixed(std::uint64_t value) noexcept {
        value += 0x9E3779B97F4A7C15;
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
        value = (value ^ value >> 27) * 0x94D049BB133111EB;
        return value ^ value >> 31;
    }
    void change(std::uint64_t& word, std::uint64_t value) {
        const auto place = static_cast<std::uint64_t>(reinterpret_cast<const char*>(&word) - base_);
        hash_ ^= mixed(mixed(place) ^ word) ^ mixed(mixed(place) ^ value);
        word = value;
    }

    bool is_between_calls(unsigned which) const { return threads_[which].seen.empty(); }
    bool is_at_end(unsigned which) const { return is_between_calls(which) && is_over_(which); }
    bool is_enabled(unsigned which) const { return !is_at_end(which) && threads_[which].asleep_at != hash_; }
    bool all_over() const {
        for (unsigned each = 0; each < threads_.size(); ++each)
            if (!is_at_end(each)) return false;
        return true;
    }

    /// True: the call is over, or was left behind its next access.
    void step(unsigned which) {
        schedule_.push_back(which);
        running_ = which;
        replayed_ = 0;
        has_stepped_ = false;
        thread& self = threads_[which];
        self.asleep_at = 0;
        if (self.seen.empty()) {
            self.began_at = hash_;
            disturbed_ &= ~(1u << which);
        }
        in_call_ = true;
        if (setjmp(leave_call_) == 0) end_call(make_call_(which));
        in_call_ = false;
        if (threads_[running_].seen.size() > most_accesses) fail("a call has no end");
        look_();
    }
    void end_call(call result) {
        in_call_ = false;
        thread& self = threads_[running_];
        self.seen.clear();
        self.seen_hash = 0;
        self.paused_at = 0;
        const bool was_alone = (disturbed_ >> running_ & 1) == 0;
        if (result == call::turned_away && was_alone && self.began_at == hash_) self.asleep_at = hash_;
    }

    /// Whether this state, with `which` running, was explored with as many preemptions left. If not, it is from now on.
    bool is_known(unsigned which, unsigned preemptions) {
        std::uint64_t key = hash_ ^ mixed(which);
        for (unsigned each = 0; each < threads_.size(); ++each) {
            const thread& of = threads_[each];
            key ^= mixed(of.seen_hash + mixed(of.seen.size() * 64 + each * 2 + (of.asleep_at == hash_)));
        }
        key = (key & ~std::uint64_t{7}) | (preemptions + 1);
        if (2 * states_ >= visited_.size()) grow();
        for (std::size_t at = key >> 16 & (visited_.size() - 1);; at = (at + 1) & (visited_.size() - 1)) {
            std::uint64_t& known = visited_[at];
            if (known >> 3 == key >> 3) {
                if ((known & 7) >= (key & 7)) return true;
                known = key;
                return false;
            }
            if (known == 0) {
                known = key;
                ++states_;
                return false;
            }
        }
    }
    void grow() {
        std::vector<std::uint64_t> old(visited_.size() * 2, 0);
        old.swap(visited_);
        for (const std::uint64_t each : old) {
            std::size_t at = each >> 16 & (visited_.size() - 1);
            while (each != 0 && visited_[at] != 0) at = (at + 1) & (visited_.size() - 1);
            if (each != 0) visited_[at] = each;
        }
    }

    void take_and_explore(unsigned which, unsigned preemptions) {
        const thread before = threads_[which];
        const std::size_t undo_from = undo_.size();
        const unsigned disturbed = disturbed_;
        step(which);
        if (violation_.empty() && !is_known(which, preemptions)) go_on(which, preemptions);
        while (undo_.size() > undo_from) {
            change(*undo_.back().word, undo_.back().value);
            undo_.pop_back();
        }
        threads_[which] = before;
        disturbed_ = disturbed;
        schedule_.pop_back();
    }
    void go_on(unsigned current, unsigned preemptions) {
        const bool could_stay = is_enabled(current);
        bool somebody_can = false;
        if (schedule_.size() > most_steps / 100) return fail("the program has no end");
        for (unsigned i = 0; i < threads_.size(); ++i) {
            const unsigned next = (current + i) % static_cast<unsigned>(threads_.size());
            if (!is_enabled(next)) continue;
            somebody_can = true;
            const unsigned cost = next != current && could_stay && preemptions != every_schedule ? 1 : 0;
            if (cost <= preemptions) take_and_explore(next, preemptions - cost);
            if (!violation_.empty()) return;
        }
        if (!somebody_can && !all_over()) fail("all threads wait for each other");
    }

    static inline machine* now_ = nullptr;

    const char* base_;
    std::function<call(unsigned)> make_call_;
    std::function<bool(unsigned)> is_over_;
    std::function<void()> look_;
    std::vector<thread> threads_;
    std::vector<old_value> undo_;
    std::vector<unsigned> schedule_;
    std::vector<std::uint64_t> visited_;
    std::uint64_t hash_ = 1;
    std::uint64_t states_ = 0;
    std::uint64_t steps_ = 0;
    std::string violation_;
    std::jmp_buf leave_call_;
    unsigned running_ = 0;
    unsigned disturbed_ = 0;  ///< a bit for each thread: others have changed words during its call
    std::size_t replayed_ = 0;
    bool has_stepped_ = false;
    bool in_call_ = false;
};

/// The queue's policy under the machine.
struct explored_atomics {
    template <class T>
    class variable {
        static_assert(sizeof(T) == 8 && std::is_trivially_copyable_v<T>);

    public:
        variable(T value) noexcept : value_(bits(value)) {}
        T load() const noexcept {
            return of(machine::access([this] { return value_; }));
        }
        void store(T value) noexcept {
            machine::access([this, value] { return replace(bits(value)); });
        }
        T exchange(T value) noexcept {
            return of(machine::access([this, value] { return replace(bits(value)); }));
        }
        T fetch_add(T more) noexcept {
            return of(machine::access([this, more] { return replace(value_ + bits(more)); }));
        }
        T fetch_or(T more) noexcept {
            return of(machine::access([this, more] { return replace(value_ | bits(more)); }));
        }
        bool compare_exchange_strong(T& expected, T value) noexcept {
            const std::uint64_t wanted = bits(expected);
            const std::uint64_t found = machine::access(
                [this, wanted, value] { return value_ == wanted ? replace(bits(value)) : value_; });
            expected = of(found);
            return found == wanted;
        }

    private:
        static std::uint64_t bits(T value) noexcept {
            std::uint64_t made;
            std::memcpy(&made, &value, sizeof made);
            return made;
        }
        static T of(std::uint64_t from) noexcept {
            T made;
            std::memcpy(&made, &from, sizeof made);
            return made;
        }
        std::uint64_t replace(std::uint64_t value) noexcept {
            const std::uint64_t before = value_;
            machine::put(value_, value);
            return before;
        }

        std::uint64_t value_;
    };

    static inline queue_fault planted = queue_fault::nothing;
    static bool is_planted(queue_fault which) noexcept { return planted == which; }
    static void pause() noexcept { machine::pause(); }
};

}  // namespace holdfast::htm::test
