// A home that keeps some words: these are stored by commits alone, which log them before. Ordinary words are stored at
// once by transactions whose write set is large. For random programs that mix both kinds.
#pragma once

#include <holdfast/stm/scheduled_test.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>
#include <holdfast/stm/write_log.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace holdfast::stm {

/// Ordinary memory, of which the last six words of every line are kept.
struct keeping_home : plain_home {
    static constexpr bool keeps_words = true;

    static bool keeps(const void* home) noexcept {
        return reinterpret_cast<std::uintptr_t>(home) / sizeof(word) % 8 > 1;
    }
    static bool prepare(const write_log& writes) {
        prepared.clear();
        for (const write_log::entry& each : writes) {
            if (!keeps(each.home())) continue;
            if (each.mask() != 0xFF) ++wrong;
            prepared.push_back(each);
        }
        return true;
    }
    static void log() {
        for (const write_log::entry& each : prepared) logged[each.home()] = each.value;
        is_logged = true;
    }
    static void store(word* home, word what, std::uint8_t mask) noexcept {
        if (keeps(home) && (!is_logged || logged[home] != what)) ++wrong;
        detail::store_home(home, what, mask);
    }
    static void store_fresh(word* home, word what, std::uint8_t mask) noexcept {
        if (keeps(home)) ++wrong;
        detail::store_home(home, what, mask);
    }
    static void retire() noexcept { is_logged = false; }

    // One thread runs at a time.
    static inline std::map<const word*, word> logged;  ///< what every word was logged with last
    static inline unsigned wrong = 0;                  ///< how often a kept word was stored otherwise
    static inline thread_local std::vector<write_log::entry> prepared;
    static inline thread_local bool is_logged = false;
};

using keeping_values = basic_value<keeping_home>;
using keeping_versions = basic_versioned<keeping_home>;

extern constinit thread_local keeping_values keeping_value_of_this_thread;
extern constinit thread_local keeping_versions keeping_versions_of_this_thread;

template <>
inline keeping_values& keeping_values::of_this_thread() noexcept {
    return keeping_value_of_this_thread;
}
template <>
inline keeping_versions& keeping_versions::of_this_thread() noexcept {
    return keeping_versions_of_this_thread;
}
extern template class basic_value<keeping_home>;
extern template class basic_versioned<keeping_home>;

namespace test {

/// Whether every kept word is as it was logged last, and whoever stored to one has logged it: `all` ends with a
/// transaction that loads all words, and no stored value is 0.
template <class A>
bool log_explains(scheduled_programs<A>& programs, const history& all) {
    for (const auto& [home, what] : keeping_home::logged)
        if (*home != what) return false;
    const auto is_logged = [&](const operation& each) {
        const word* const home = programs.home(each.word);
        return !keeping_home::keeps(home) || each.value == 0 || keeping_home::logged.contains(home);
    };
    return keeping_home::wrong == 0 && std::ranges::all_of(all.back().operations, is_logged);
}

/// The first of `count` seeds whose history is not opaque, or is not what was logged; or none.
template <class A>
std::optional<std::uint64_t> first_seed_not_kept(std::uint64_t count, std::string* what) {
    scheduled_programs<A> programs;
    for (std::uint64_t seed = 1; seed <= count; ++seed) {
        keeping_home::logged.clear();
        keeping_home::wrong = 0;
        const history made = programs.run(seed);
        if (opacity_checker(made, memory_state{}).is_opaque() && log_explains(programs, made)) continue;
        *what = text_of(made);
        return seed;
    }
    return std::nullopt;
}

}  // namespace test
}  // namespace holdfast::stm
