// A home that knows which words are not mapped any more: a look at one of them would end a program. For transactions
// that are irrevocable, whose code gives memory straight back to the kernel.
#pragma once

#include <holdfast/stm/scheduled_test.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast::stm {

/// Ordinary memory, of which one line may be gone.
struct unmapped_home : plain_home {
    static found look(const word* home) noexcept {
        if (is_gone && home >= gone->words && home < gone->words + 8) ++looks_at_gone;
        return plain_home::look(home);
    }
    static found peek(const word* home) noexcept { return look(home); }
    static bool look_at_many(const word* first, std::size_t count, void* to) noexcept {
        for (std::size_t i = 0; i < count; ++i) look(first + i);
        return plain_home::look_at_many(first, count, to);
    }

    // One thread runs at a time.
    static inline const test::line* gone = nullptr;
    static inline bool is_gone = false;
    static inline unsigned looks_at_gone = 0;
};

using unmapped_values = basic_value<unmapped_home>;
using unmapped_versions = basic_versioned<unmapped_home>;

extern constinit thread_local unmapped_values unmapped_values_of_this_thread;
extern constinit thread_local unmapped_versions unmapped_versions_of_this_thread;

template <>
inline unmapped_values& unmapped_values::of_this_thread() noexcept {
    return unmapped_values_of_this_thread;
}
template <>
inline unmapped_versions& unmapped_versions::of_this_thread() noexcept {
    return unmapped_versions_of_this_thread;
}
extern template class basic_value<unmapped_home>;
extern template class basic_versioned<unmapped_home>;

namespace test {

/// Three threads use a line while a word says that it is there: by loads, by a range behind which the pointer is read,
/// by stores. A fourth one becomes irrevocable, at the beginning or behind a store, takes the line out of reach, and
/// has it unmapped inside. How often somebody looked at it then.
template <class A>
unsigned looks_at_unmapped(turns& threads, std::uint64_t seed) {
    line shared, other, used;
    shared.words[0] = 1;
    unmapped_home::gone = &used;
    unmapped_home::is_gone = false;
    unmapped_home::looks_at_gone = 0;
    const auto unmap = [&] {
        A& open = A::of_this_thread();
        const bool from_begin = seed % 2 == 0;
        for (bool serial = from_begin;; serial = true) {
            open.begin({.serial = serial, .restart = [] {}});
            if (!serial) open.store(&other.words[0], 1, 0xFF);
            if (open.active() && open.become_irrevocable()) break;
            if (open.active()) open.roll_back();
        }
        open.store(&shared.words[0], 0, 0xFF);
        let_others_run();
        unmapped_home::is_gone = true;
        for (int i = 0; i < 20; ++i) let_others_run();
        if (!open.commit()) std::abort();
    };
    const auto use = [&](unsigned thread) {
        for (int i = 0; i < 4; ++i)
            atomically<A>([&] {
                A& open = A::of_this_thread();
                word is_there[8] = {};
                if (thread == 1) open.read_range(is_there, shared.words, sizeof is_there);
                if (thread != 1) is_there[0] = open.load(&shared.words[0]);
                if (is_there[0] == 0) return;
                const word found = open.load(&used.words[thread]);
                if (thread == 2) open.store(&used.words[thread], found + 1, 0xFF);
                open.load(&used.words[4 + thread]);
            });
    };
    threads.run(4, seed, [&](unsigned thread) { thread == 0 ? unmap() : use(thread); });
    return unmapped_home::looks_at_gone;
}

/// The first of `count` seeds with which somebody looks at what is unmapped, or none.
template <class A>
std::optional<std::uint64_t> first_seed_unmapped(std::uint64_t count) {
    turns threads;
    for (std::uint64_t seed = 1; seed <= count; ++seed)
        if (looks_at_unmapped<A>(threads, seed) != 0) return seed;
    return std::nullopt;
}

}  // namespace test
}  // namespace holdfast::stm
