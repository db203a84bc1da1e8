// Commits that are numbered: a home of the tests that draws numbers, and whether they are in the order of effects.
#pragma once

#include <holdfast/stm/scheduled_test.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::stm {

/// Ordinary memory, whose commits are numbered from one counter.
struct numbered_home : plain_home {
    static constexpr bool stores_early = false;
    static constexpr bool numbers_commits = true;
    static constexpr bool privatises = false;

    static inline std::uint64_t last = 0;  ///< one thread runs at a time
    static inline thread_local std::uint64_t drawn = 0;

    static bool draw_number(const write_log& writes) noexcept {
        if (!writes.empty()) drawn = ++last;
        return true;
    }
    static std::uint64_t number_of(const write_log& writes) noexcept { return writes.empty() ? 0 : drawn; }
};

using numbered_values = basic_value<numbered_home>;
using numbered_versions = basic_versioned<numbered_home>;

extern constinit thread_local numbered_values numbered_value_of_this_thread;
extern constinit thread_local numbered_versions numbered_versions_of_this_thread;

template <>
inline numbered_values& numbered_values::of_this_thread() noexcept {
    return numbered_value_of_this_thread;
}
template <>
inline numbered_versions& numbered_versions::of_this_thread() noexcept {
    return numbered_versions_of_this_thread;
}
extern template class basic_value<numbered_home>;
extern template class basic_versioned<numbered_home>;

namespace test {

/// Whether the commits that stored, in the order of their numbers, explain what each of them loaded, and lead to what
/// the last transaction of the history loads.
inline bool numbers_explain(const history& all) {
    std::vector<const attempt*> numbered;
    for (const attempt& each : all)
        if (each.committed && each.number != 0) numbered.push_back(&each);
    std::ranges::sort(numbered, {}, [](const attempt* each) { return each->number; });
    memory_state state{};
    const auto explains = [&](const attempt* each) { return each->explained_by(state); };
    return std::ranges::all_of(numbered, explains) && all.back().explained_by(state);
}

/// The first of `count` seeds from `first` with which it does not, or none.
template <class A>
std::optional<std::uint64_t> first_seed_misnumbered(std::uint64_t first, std::uint64_t count,
                                                    std::string* what = nullptr) {
    scheduled_programs<A> programs;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        numbered_home::last = 0;
        const history made = programs.run(seed);
        if (numbers_explain(made)) continue;
        if (what != nullptr) *what = text_of(made);
        return seed;
    }
    return std::nullopt;
}

}  // namespace test
}  // namespace holdfast::stm
