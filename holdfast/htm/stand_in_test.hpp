// What stands in for hardware transactions in tests: a policy of basic_rtm for every machine. Transactions are isolated
// by `value`, over a home of its own: loads and stores go through it, so that what is stored waits for the commit, and
// an abort forgets it. They abort by a seed, or as a test says. Owns that `value`, its clock, and what is planned.
//
// How it differs from the processor:
//   * A conflict is found at the next load or at the commit, by comparing values. The fallback's word is the first that
//     is compared: it is taken by a serial transaction of the same `value`, so that every open one has to compare.
//   * An abort cannot come back to where the transaction began: it calls attempt.aborted, as a conflict of the other
//     algorithms does, and the frames in between are left.
//   * The stamp is drawn while the commit has the counter of `value` odd: where else a stamp may be drawn depends on
//     the processor's caches.
#pragma once

#include <holdfast/htm/rtm_instructions.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/value_ranges_run.hpp>
#include <holdfast/stm/value_run.hpp>
#include <holdfast/stm/value_threads_run.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace holdfast::htm::test {

/// One clock for all: stamps are 1, 2, 3.
class counted_clock {
public:
    static std::uint64_t stamp() noexcept { return last_.fetch_add(1, std::memory_order_seq_cst) + 1; }
    static std::uint64_t now() noexcept { return last_.load(std::memory_order_seq_cst); }
    static std::uint64_t now_before_loads() noexcept { return now(); }

private:
    static inline constinit std::atomic<std::uint64_t> last_{0};
};

struct stand_in_home : stm::plain_home {
    static constexpr bool stores_early = false;
    static inline constinit thread_local std::uint64_t stamp = 0;
    static inline constinit thread_local std::atomic<std::uint64_t>* numbers = nullptr;
    static inline constinit thread_local std::uint64_t number = 0;
    /// The commit has the counter of `value`, and nothing is home yet.
    static void log() noexcept {
        stamp = counted_clock::stamp();
        if (numbers != nullptr) number = numbers->fetch_add(1);
    }
};

using stand_in_memory = stm::basic_value<stand_in_home>;
inline constinit thread_local stand_in_memory stand_in_memory_of_this_thread;

}  // namespace holdfast::htm::test

namespace holdfast::stm {
template <>
inline htm::test::stand_in_memory& htm::test::stand_in_memory::of_this_thread() noexcept {
    return htm::test::stand_in_memory_of_this_thread;
}
}  // namespace holdfast::stm

namespace holdfast::htm::test {

/// How transactions of all threads abort. Set it while nothing runs.
struct stand_in_settings {
    bool available = true;
    /// One in so many aborts, at a load, a store or its end, with some status; 0: none does. By the seed, and in the
    /// order in which transactions begin.
    unsigned aborts_one_in = 0;
    std::uint64_t seed = 1;
    /// Who stores more often aborts, with status::capacity.
    std::size_t most_stores = ~std::size_t{0};
};

/// A transaction that aborts with this status before its load or store number `at`, from 0; an end counts as one, too.
struct abort_at {
    unsigned at;
    unsigned why;
};

namespace detail {

/// What the stand-in knows of a thread.
struct stood_in_thread {
    static constexpr unsigned never = ~0u;
    static constexpr std::size_t most_planned = 32;

    attempt how;
    unsigned steps_left = never;
    unsigned why = 0;
    bool is_planned = false;
    bool had_conflict = false;
    std::size_t stores_left = 0;
    std::size_t next_planned = 0;
    std::size_t planned_count = 0;
    std::array<abort_at, most_planned> planned{};
};

}  // namespace detail

class stand_in {
public:
    static constexpr bool stores_directly = false;
    static constexpr unsigned never = detail::stood_in_thread::never;

    static void set(const stand_in_settings& how) noexcept {
        settings_ = how;
        begun_ = 0;
    }
    static void set_seed(std::uint64_t seed) noexcept {
        settings_.seed = seed;
        begun_ = 0;
    }
    /// What the next transactions of this thread do, before those that go by the seed.
    static void plan(std::initializer_list<abort_at> next) {
        own_.next_planned = 0;
        own_.planned_count = next.size();
        std::copy(next.begin(), next.end(), own_.planned.begin());
    }
    /// How many of them are left.
    static std::size_t planned() noexcept { return own_.planned_count - own_.next_planned; }
    /// How many transactions were begun since the settings were set.
    static std::uint64_t begun() noexcept { return begun_; }

    static bool is_available() noexcept { return settings_.available; }

    static unsigned begin(const attempt& how) noexcept {
        own_.how = how;
        own_.stores_left = settings_.most_stores;
        choose(begun_.fetch_add(1));
        // Some abort before anything: an interrupt, or a page of the code.
        if (own_.steps_left == 0 && !own_.is_planned) return own_.why;
        memory().begin({.read_only = how.read_only, .frames_below = how.frames_below, .restart = on_conflict});
        return status::started;
    }
    /// A first attempt that only reads keeps no read set: there, everything that moves the counter aborts.
    static bool is_taken(const word& held) noexcept {
        if (own_.how.read_only && !own_.had_conflict) return stm::detail::load_home(&held) != 0;
        return memory().load(&held) != 0;
    }
    static word load(const word* home) {
        return step() ? memory().load(home) : 0;
    }
    static void store(word* home, word value, std::uint8_t mask) {
        if (!step()) return;
        if (own_.stores_left-- == 0) return come_to_nothing(status::capacity);
        memory().store(home, value, mask);
    }
    template <unsigned Code>
    static void abort() noexcept {
        if (memory().active()) memory().roll_back();
    }
    static unsigned end() noexcept {
        if (own_.steps_left == 0) {
            memory().roll_back();
            return own_.why;
        }
        if (!memory().commit()) {
            memory().roll_back();
            own_.had_conflict = true;
            return status::conflict | status::retry;
        }
        own_.had_conflict = false;
        return status::started;
    }
    static unsigned end_with_stamp(std::uint64_t& stamp) noexcept {
        const unsigned why = end();
        stamp = stand_in_home::stamp;
        return why;
    }
    static unsigned end_with_number(std::atomic<std::uint64_t>& counter, std::uint64_t& number) noexcept {
        stand_in_home::numbers = &counter;
        const unsigned why = end();
        stand_in_home::numbers = nullptr;
        number = stand_in_home::number;
        return why;
    }

    static bool take(word& held) noexcept {
        memory().begin({.serial = true});
        const bool is_free = memory().load(&held) == 0;
        if (is_free) memory().store(&held, 1, 0xFF);
        memory().commit();
        own_.had_conflict = false;
        return is_free;
    }
    static std::uint64_t stamp() noexcept { return counted_clock::stamp(); }
    static std::uint64_t now() noexcept { return counted_clock::now(); }
    static std::uint64_t now_before_loads() noexcept { return counted_clock::now_before_loads(); }
    /// Who compares what was read there must not fault.
    static void give_back(stm::grown_array<stm::block>& freed) noexcept {
        memory().begin({});
        for (const stm::block& each : freed)
            memory().free_at_commit(each.address, each.bytes, each.alignment, each.back);
        freed.clear();
        memory().commit();
        own_.had_conflict = false;
    }

private:
    static constexpr bool restarts_quietly = std::is_nothrow_invocable_v<decltype(stm::start::restart)>;

    static stand_in_memory& memory() noexcept { return stand_in_memory::of_this_thread(); }

    static void choose(std::uint64_t number) noexcept {
        own_.steps_left = never;
        own_.is_planned = planned() != 0;
        if (own_.is_planned) {
            const abort_at& next = own_.planned[own_.next_planned++];
            own_.steps_left = next.at;
            own_.why = next.why;
            return;
        }
        const std::uint64_t drawn = mixed(settings_.seed * 0x9E3779B97F4A7C15u + number);
        if (settings_.aborts_one_in == 0 || drawn % settings_.aborts_one_in != 0) return;
        constexpr unsigned statuses[] = {status::conflict | status::retry, status::retry, status::capacity, 0};
        own_.why = statuses[drawn >> 32 & 3];
        own_.steps_left = static_cast<unsigned>(drawn >> 40 & 7);
    }
    /// Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
    static std::uint64_t mixed(std::uint64_t x) noexcept {
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        return x ^ x >> 31;
    }
    /// False: the transaction is over, and who aborted it has returned.
    static bool step() {
        if (own_.steps_left == never) return true;
        if (own_.steps_left-- != 0) return true;
        come_to_nothing(own_.why);
        return false;
    }
    static void come_to_nothing(unsigned why) noexcept(restarts_quietly) {
        memory().roll_back();
        own_.how.aborted(why);
    }
    static void on_conflict() noexcept(restarts_quietly) {
        own_.had_conflict = true;
        come_to_nothing(status::conflict | status::retry);
    }

    static inline stand_in_settings settings_;
    static inline std::atomic<std::uint64_t> begun_{0};
    static inline constinit thread_local detail::stood_in_thread own_;
};

}  // namespace holdfast::htm::test
