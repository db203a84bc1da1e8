// Random small programs of transactions on threads that take turns: which thread runs is drawn from a seed wherever the
// algorithms let others in, so that a run repeats exactly. What they did is a history.
#pragma once

#include <holdfast/stm/history_test.hpp>
#include <holdfast/stm/stm_test_support.hpp>

#include <sched.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <semaphore>

namespace holdfast::stm::test {

/// While there is one, its thread and those that it starts stay on the processor where it was made: passing the turn
/// to a thread of another processor takes ten times as long.
class one_processor {
public:
    one_processor() noexcept : known_(sched_getaffinity(0, sizeof before_, &before_) == 0) {
        cpu_set_t here;
        CPU_ZERO(&here);
        CPU_SET(static_cast<unsigned>(sched_getcpu()), &here);
        if (known_) sched_setaffinity(0, sizeof here, &here);
    }
    one_processor(const one_processor&) = delete;
    one_processor& operator=(const one_processor&) = delete;
    ~one_processor() {
        if (known_) sched_setaffinity(0, sizeof before_, &before_);
    }

private:
    cpu_set_t before_{};
    bool known_;
};

/// Threads one of which runs at a time. One object at a time.
class turns {
public:
    static constexpr unsigned most_threads = 4;
    static constexpr int no_end = 3;

    turns() {
        for (unsigned i = 0; i < most_threads; ++i) threads_.emplace_back([this, i] { live(i); });
    }
    turns(const turns&) = delete;
    turns& operator=(const turns&) = delete;
    ~turns() {
        over_ = true;
        for (auto& each : turn_) each.release();
        for (std::thread& each : threads_) each.join();
    }

    /// Runs body(thread) in each of `count` threads, turns drawn from `seed`. Where they never come to an end the
    /// process ends, with `no_end`.
    template <class F>
    void run(unsigned count, std::uint64_t seed, F body) {
        seed_ = seed;
        random_.seed(seed);
        switch_one_in_ = 1 + static_cast<unsigned>(random_() % 6);
        steps_ = 0;
        alive_ = (1u << count) - 1;
        body_ = std::move(body);
        now_ = this;
        between = step;
        pass_to(draw());
        all_done_.acquire();
        between = nullptr;
    }
    std::uint64_t tick() noexcept { return ++steps_; }

private:
    static constexpr std::uint64_t most_steps = 1'000'000;

    void live(unsigned self) {
        own_ = static_cast<int>(self);
        for (;;) {
            turn_[self].acquire();
            if (over_) break;
            body_(self);
            alive_ &= ~(1u << self);
            if (alive_ == 0)
                all_done_.release();
            else
                pass_to(draw());
        }
        own_ = -1;
    }
    unsigned draw() {
        unsigned drawn;
        do drawn = static_cast<unsigned>(random_() % most_threads);
        while ((alive_ >> drawn & 1) == 0);
        return drawn;
    }
    void pass_to(unsigned next) { turn_[next].release(); }

    static bool step() noexcept {
        if (own_ < 0) return false;
        turns& all = *now_;
        if (++all.steps_ >= most_steps) {
            std::fprintf(stderr, "no end with seed %llu\n", static_cast<unsigned long long>(all.seed_));
            std::_Exit(no_end);
        }
        if (all.random_() % all.switch_one_in_ != 0) return true;
        const unsigned next = all.draw();
        const auto self = static_cast<unsigned>(own_);
        if (next == self) return true;
        all.pass_to(next);
        all.turn_[self].acquire();
        return true;
    }

    static inline turns* now_ = nullptr;
    static inline thread_local int own_ = -1;

    one_processor here_;
    std::array<std::binary_semaphore, most_threads> turn_{std::binary_semaphore{0}, std::binary_semaphore{0},
                                                          std::binary_semaphore{0}, std::binary_semaphore{0}};
    std::binary_semaphore all_done_{0};
    std::list<std::thread> threads_;
    std::function<void(unsigned)> body_;
    std::mt19937_64 random_;
    unsigned switch_one_in_ = 1;
    std::uint64_t seed_ = 0;
    std::uint64_t steps_ = 0;
    unsigned alive_ = 0;
    bool over_ = false;
};

/// What one transaction of a program does.
struct plan {
    enum class kind : unsigned char { load, load_for_write, store, become_irrevocable };
    struct step {
        kind what;
        unsigned word;
    };
    std::vector<step> steps;
    bool serial = false;
    bool read_only = false;
    bool rolls_back = false;
};

inline plan random_plan(std::mt19937_64& random) {
    plan made;
    const auto one_in = [&](unsigned n) { return random() % n == 0; };
    made.serial = one_in(12);
    const bool only_loads = one_in(4);
    const std::uint64_t count = 1 + random() % 5;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto word = static_cast<unsigned>(random() % history_words);
        plan::kind what = plan::kind::load;
        if (!only_loads && one_in(2)) what = one_in(5) ? plan::kind::load_for_write : plan::kind::store;
        if (!only_loads && one_in(20)) what = plan::kind::become_irrevocable;
        made.steps.push_back({what, word});
    }
    made.read_only = only_loads && one_in(2);
    const auto is_irrevocable = [](const plan::step& each) { return each.what == plan::kind::become_irrevocable; };
    made.rolls_back = one_in(10) && std::none_of(made.steps.begin(), made.steps.end(), is_irrevocable);
    return made;
}

/// Runs random programs and keeps their histories. One object at a time.
template <class A>
class scheduled_programs {
public:
    /// Every thread has had a transaction before the first program: so the first repeats like all others.
    scheduled_programs() {
        turns_.run(turns::most_threads, 1, [](unsigned) {
            line own[2];
            atomically<A>([&] {
                A::of_this_thread().store(&own[0].words[0], A::of_this_thread().load(&own[1].words[0]), 0xFF);
            });
            if constexpr (A::home_policy::numbers_commits) A::of_this_thread().conclude();
        });
    }
    /// The history of the program of `seed`, with a last transaction that loads all words when the others are over.
    history run(std::uint64_t seed) {
        std::mt19937_64 random(seed);
        // What else goes by a seed begins again, too.
        if constexpr (requires { A::hardware_policy::set_seed(seed); }) A::hardware_policy::set_seed(seed);
        const auto threads = 2 + static_cast<unsigned>(random() % 3);
        std::vector<std::vector<plan>> plans(threads);
        for (auto& of_thread : plans) {
            const std::uint64_t count = 1 + random() % (threads == 4 ? 2 : 3);
            for (std::uint64_t i = 0; i < count; ++i) of_thread.push_back(random_plan(random));
        }
        halves_ = random() % 2 == 0;
        for (unsigned i = 0; i < history_words; ++i) *home(i) = 0;
        made_.clear();
        next_value_ = 1;
        instance_ = this;
        turns_.run(threads, seed, [&](unsigned thread) {
            for (const plan& each : plans[thread]) run_plan(thread, each);
        });
        attempt all_words{0, turns_.tick(), turns_.tick(), true, {}};
        for (unsigned i = 0; i < history_words; ++i) all_words.operations.push_back({false, i, part_of(*home(i), i)});
        made_.push_back(all_words);
        return made_;
    }
    /// Where the last program has a word. Two of them are in a line, so that lines conflict where words do not; or all,
    /// as halves of words of which two are neighbours.
    word* home(unsigned at) {
        constexpr unsigned places[] = {1, 4, 3};
        return halves_ ? &lines_[0].words[places[at / 2]] : &lines_[at / 2].words[at % 2 * 5];
    }

private:
    std::uint8_t mask(unsigned at) const { return !halves_ ? 0xFF : at % 2 == 0 ? 0x0F : 0xF0; }
    unsigned shift(unsigned at) const { return halves_ && at % 2 != 0 ? 32 : 0; }
    std::uint64_t part_of(word whole, unsigned at) const { return (whole & bits_of_mask(mask(at))) >> shift(at); }

    void run_plan(unsigned thread, const plan& wanted) {
        attempt doing;
        checkpoint here;
        unsigned conflicts = 0;
        doing.thread = thread;
        doing_[thread] = &doing;
        here_[thread] = &here;
        conflicts_[thread] = &conflicts;
        own_thread = thread;
        holdfast_stm_save(&here);
        while (!try_plan(thread, wanted)) restart_later(thread);
    }
    static void restart_later(unsigned thread) {
        instance_->end_attempt(thread, false);
        A::of_this_thread().roll_back();
        ++*instance_->conflicts_[thread];
    }
    [[noreturn]] static void restart() noexcept {
        restart_later(own_thread);
        resume(*instance_->here_[own_thread], 1);
    }
    void end_attempt(unsigned thread, bool committed) {
        attempt& doing = *doing_[thread];
        doing.ended = turns_.tick();
        doing.committed = committed;
        made_.push_back(doing);
    }

    bool try_plan(unsigned thread, const plan& wanted) {
        A& open = A::of_this_thread();
        attempt& doing = *doing_[thread];
        doing.operations.clear();
        loaded_for_write_[thread] = 0;
        doing.began = turns_.tick();
        let_others_run();
        open.begin({.read_only = wanted.read_only,
                    .serial = wanted.serial || *conflicts_[thread] > 5,
                    .restart = restart});
        for (const plan::step& each : wanted.steps) {
            let_others_run();
            if (each.what == plan::kind::become_irrevocable) {
                // What is stored home before the commit has no number.
                if (A::home_policy::numbers_commits) continue;
                if (!open.become_irrevocable()) return false;
            } else {
                doing.operations.push_back(run_step(open, doing, each));
            }
        }
        let_others_run();
        if (wanted.rolls_back) {
            open.roll_back();
            end_attempt(thread, false);
            return true;
        }
        if (!open.commit()) return false;
        if constexpr (A::home_policy::numbers_commits) {
            doing.number = A::home_policy::number_of(open.committed_writes());
            open.conclude();
        }
        end_attempt(thread, true);
        return true;
    }
    /// Hints are given wherever they are true.
    operation run_step(A& open, const attempt& doing, const plan::step& each) {
        const auto had = [&](bool store) {
            return std::any_of(doing.operations.begin(), doing.operations.end(), [&](const operation& one) {
                return one.word == each.word && one.is_store == store;
            });
        };
        word* const at = home(each.word);
        unsigned& loaded_for_write = loaded_for_write_[doing.thread];
        const bool was_loaded_for_write = (loaded_for_write >> each.word & 1) != 0;
        switch (each.what) {
        case plan::kind::store: {
            const std::uint64_t value = next_value_++;
            const word what = value << shift(each.word);
            if (had(true) || was_loaded_for_write)
                open.store_after_write(at, what, mask(each.word));
            else if (had(false))
                open.store_after_read(at, what, mask(each.word));
            else
                open.store(at, what, mask(each.word));
            return {true, each.word, value};
        }
        case plan::kind::load_for_write:
            loaded_for_write |= 1u << each.word;
            return {false, each.word, part_of(open.load_for_write(at), each.word)};
        default:
            if (had(false)) return {false, each.word, part_of(open.load_after_read(at), each.word)};
            if (had(true)) return {false, each.word, part_of(open.load_after_write(at), each.word)};
            return {false, each.word, part_of(open.load(at), each.word)};
        }
    }

    static inline scheduled_programs* instance_ = nullptr;
    static inline thread_local unsigned own_thread = 0;

    turns turns_;
    line lines_[history_words / 2];
    bool halves_ = false;
    history made_;
    std::uint64_t next_value_ = 1;
    std::array<attempt*, turns::most_threads> doing_{};
    std::array<checkpoint*, turns::most_threads> here_{};
    std::array<unsigned*, turns::most_threads> conflicts_{};
    std::array<unsigned, turns::most_threads> loaded_for_write_{};  ///< a bit for each word, of the open attempt
};

/// Two lines that transactions keep equal while a flag says that they are shared. One thread takes them out of reach
/// by a transaction, changes them directly, one after the other, and shares them again; turns are drawn from `seed`.
/// How often somebody found them different, or changed under his hands.
template <class A>
int torn_by_privatisation(turns& threads, std::uint64_t seed) {
    line shared, first, second;
    int torn = 0;
    shared.words[0] = 1;
    const auto privatiser = [&] {
        for (int i = 0; i < 2; ++i) {
            atomically<A>([&] { A::of_this_thread().store(&shared.words[0], 0, 0xFF); });
            const word mine = first.words[0];
            torn += second.words[0] != mine;
            first.words[0] = mine + 100;
            let_others_run();
            torn += second.words[0] != mine;
            second.words[0] = mine + 100;
            let_others_run();
            torn += first.words[0] != mine + 100;
            atomically<A>([&] { A::of_this_thread().store(&shared.words[0], 1, 0xFF); });
        }
    };
    const auto user = [&](bool stores) {
        for (int i = 0; i < 3; ++i)
            atomically<A>([&] {
                A& open = A::of_this_thread();
                if (open.load(&shared.words[0]) == 0) return;
                const word one = open.load(&first.words[0]);
                const word other = open.load(&second.words[0]);
                torn += one != other;
                if (!stores) return;
                open.store(&first.words[0], one + 1, 0xFF);
                open.store(&second.words[0], other + 1, 0xFF);
            });
    };
    threads.run(3, seed, [&](unsigned thread) { thread == 0 ? privatiser() : user(thread == 1); });
    return torn;
}

/// The first of `count` seeds with which privatisation goes wrong, or none.
template <class A>
std::optional<std::uint64_t> first_seed_torn(std::uint64_t count) {
    turns threads;
    for (std::uint64_t seed = 1; seed <= count; ++seed)
        if (torn_by_privatisation<A>(threads, seed) != 0) return seed;
    return std::nullopt;
}

/// The first of `count` seeds from `first` whose history is not opaque, or none.
template <class A>
std::optional<std::uint64_t> first_seed_not_opaque(std::uint64_t first, std::uint64_t count,
                                                   std::string* what = nullptr) {
    scheduled_programs<A> programs;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const history made = programs.run(seed);
        if (!opacity_checker(made, memory_state{}).is_opaque()) {
            if (what != nullptr) *what = text_of(made);
            return seed;
        }
    }
    return std::nullopt;
}

}  // namespace holdfast::stm::test
