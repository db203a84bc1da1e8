// What stands in for hardware transactions beside software ones in tests: a policy of basic_hybrid for every machine.
// Code with barriers runs in a transaction of stand_in_test.hpp. Code without runs alone, on memory itself; a test says
// which memory is put back when it aborts. Owns what is subscribed, and what is planned for plain code.
//
// How it differs from the processor:
//   * A subscribed word is looked at behind each load and store, and at the end.
//   * A commit makes the counter of `Software` odd while it stores, so that software sees all of it or nothing, and
//     leaves it as it was, or as the commit stored it.
//   * Plain code has the counter odd from its beginning: nobody else loads or stores meanwhile.
//   * An abort calls attempt.aborted, or is said at the end; plain code is aborted at its beginning, at its end, or
//     where it calls interrupt().
#pragma once

#include <holdfast/htm/hybrid.hpp>
#include <holdfast/htm/stand_in_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace holdfast::htm::test {

/// How one transaction of plain code ends.
struct plain_end {
    enum class place : unsigned char { commits, at_begin, at_end };
    place where = place::commits;
    unsigned why = 0;
};

namespace detail {

/// Bytes that an abort of plain code puts back.
struct kept_bytes {
    void* home;
    std::vector<unsigned char> old;
};

struct hybrid_thread {
    struct word_seen {
        const word* home;
        word found;
    };
    static constexpr std::size_t most_subscribed = 4;
    static constexpr std::size_t most_planned = 16;

    attempt how;
    bool moves_counter = false;
    bool locks_counter = false;
    word counter = 0;
    std::size_t subscribed_count = 0;
    std::array<word_seen, most_subscribed> subscribed{};
    plain_end end;
    std::size_t next_planned = 0;
    std::size_t planned_count = 0;
    std::array<plain_end, most_planned> planned{};
    unsigned drawn = 0;
};

inline constinit thread_local hybrid_thread hybrid_of_thread;
/// One thread alone has memory that is put back.
inline std::vector<kept_bytes> kept;

}  // namespace detail

template <class Software>
class hybrid_stand_in {
public:
    static constexpr bool stores_directly = false;

    static void set(const stand_in_settings& how) noexcept { stand_in::set(how); }
    static void set_seed(std::uint64_t seed) noexcept { stand_in::set_seed(seed); }
    static void plan(std::initializer_list<abort_at> next) { stand_in::plan(next); }

    /// What plain code of this thread does next; it commits behind that.
    static void plan_plain(std::initializer_list<plain_end> next) {
        own().next_planned = 0;
        own().planned_count = next.size();
        std::copy(next.begin(), next.end(), own().planned.begin());
    }
    /// One in so many transactions of plain code aborts at its beginning, beside what is planned; 0: none does.
    static void abort_plain(unsigned one_in) noexcept { plain_aborts_one_in_ = one_in; }
    /// Memory that aborted plain code has not changed. The part of the stack above the block is among it. For tests of
    /// one thread, on the stack of the program, whose blocks end in a call that is no sibling call.
    static void put_back(std::initializer_list<std::pair<void*, std::size_t>> regions) {
        detail::kept.clear();
        for (const auto& [home, bytes] : regions)
            detail::kept.push_back({home, std::vector<unsigned char>(bytes)});
        if (!detail::kept.empty()) detail::kept.push_back({nullptr, std::vector<unsigned char>(stack_bytes)});
    }
    /// Where plain code does what the processor cannot.
    static void interrupt(unsigned why) {
        if (!own().how.is_plain) return;
        give_up_plain();
        own().how.aborted(why);
    }

    static bool is_available() noexcept { return stand_in::is_available(); }

    static unsigned begin(const attempt& how) noexcept {
        own().how = how;
        own().moves_counter = own().locks_counter = false;
        own().subscribed_count = 0;
        if (!how.is_plain) return stand_in::begin(how);
        const bool is_planned = own().next_planned != own().planned_count;
        own().end = is_planned ? own().planned[own().next_planned++] : drawn_end();
        if (own().end.where == plain_end::place::at_begin) {
            own().how.is_plain = false;
            return own().end.why;
        }
        if (!detail::kept.empty()) detail::kept.back().home = reinterpret_cast<void*>(how.frames_below);
        for (detail::kept_bytes& each : detail::kept) std::memcpy(each.old.data(), each.home, each.old.size());
        return status::started;
    }
    static word subscribe(const word* home) noexcept {
        const word found = stm::detail::load_home(home);
        if (own().how.is_plain && home == Software::counter()) return lock_counter(found) ? found : found | 1;
        own().subscribed[own().subscribed_count++] = {home, found};
        return found;
    }
    static word load(const word* home) {
        const word found = stand_in::load(home);
        look_at_subscribed();
        return found;
    }
    static void store(word* home, word value, std::uint8_t mask) {
        if (home == Software::counter()) own().moves_counter = true;
        stand_in::store(home, value, mask);
        look_at_subscribed();
    }
    template <unsigned Code>
    static void abort() noexcept {
        if (own().how.is_plain)
            give_up_plain();
        else
            stand_in::abort<Code>();
    }
    static unsigned end() noexcept {
        if (own().how.is_plain) return end_plain();
        if (!may_end()) {
            unlock_counter();
            stand_in::abort<0>();
            return status::conflict | status::retry;
        }
        const unsigned why = stand_in::end();
        // Else the commit has stored it, behind everything else.
        if (why != status::started || !own().moves_counter) unlock_counter();
        own().locks_counter = false;
        return why;
    }
    static void give_back(stm::grown_array<stm::block>& freed) noexcept { stand_in::give_back(freed); }

private:
    static constexpr std::size_t stack_bytes = 1024;

    static detail::hybrid_thread& own() noexcept { return detail::hybrid_of_thread; }

    static bool holds_subscribed() noexcept {
        for (std::size_t i = 0; i < own().subscribed_count; ++i) {
            const auto& each = own().subscribed[i];
            const bool is_own = own().locks_counter && each.home == Software::counter();
            if (!is_own && stm::detail::load_home(each.home) != each.found) return false;
        }
        return true;
    }
    static void look_at_subscribed() {
        if (holds_subscribed()) return;
        stand_in::abort<0>();
        own().how.aborted(status::conflict | status::retry);
    }
    static bool may_end() noexcept {
        for (std::size_t i = 0; i < own().subscribed_count; ++i)
            if (own().subscribed[i].home == Software::counter() && !lock_counter(own().subscribed[i].found))
                return false;
        return holds_subscribed();
    }
    static bool lock_counter(word even) noexcept {
        own().counter = even;
        own().locks_counter = (even & 1) == 0 && __atomic_compare_exchange_n(Software::counter(), &even, even + 1,
                                                                             false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
        return own().locks_counter;
    }
    static void unlock_counter() noexcept {
        if (own().locks_counter) __atomic_store_n(Software::counter(), own().counter, __ATOMIC_RELEASE);
        own().locks_counter = false;
    }

    /// Every other one is worth another try.
    static plain_end drawn_end() noexcept {
        if (plain_aborts_one_in_ == 0 || ++own().drawn % plain_aborts_one_in_ != 0) return {};
        const bool again = own().drawn / plain_aborts_one_in_ % 2 == 0;
        return {plain_end::place::at_begin, again ? status::retry : status::capacity};
    }
    static void give_up_plain() noexcept {
        own().how.is_plain = false;
        for (const detail::kept_bytes& each : detail::kept) std::memcpy(each.home, each.old.data(), each.old.size());
        unlock_counter();
    }
    static unsigned end_plain() noexcept {
        if (own().end.where == plain_end::place::at_end) {
            give_up_plain();
            return own().end.why;
        }
        own().how.is_plain = false;
        // To those with barriers the stores are a commit like theirs: they compare what they have loaded.
        word nobody = 0;
        stand_in::take(nobody);
        unlock_counter();
        return status::started;
    }

    static inline unsigned plain_aborts_one_in_ = 0;
};

using hybrid_stood_in = basic_hybrid<stm::value, hybrid_stand_in<stm::value>>;
inline constinit thread_local hybrid_stood_in hybrid_stood_in_of_this_thread;

}  // namespace holdfast::htm::test

namespace holdfast::htm {
template <>
inline test::hybrid_stood_in& test::hybrid_stood_in::of_this_thread() noexcept {
    return test::hybrid_stood_in_of_this_thread;
}
}  // namespace holdfast::htm

static_assert(holdfast::htm::hybrid_hardware<holdfast::htm::test::hybrid_stand_in<holdfast::stm::value>>);
