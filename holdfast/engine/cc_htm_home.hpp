// What cc_htm asks of its isolation at a commit (stm/home.hpp, htm/rtm.hpp): that a number is drawn while its locks are
// held, or as the last act of a transaction of the processor, and that the write set stays until the record is made.
#pragma once

#include <holdfast/htm/rtm.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/stm/home.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>

namespace holdfast {

/// A home of stm/: the pool's words as this process has mapped them. What is stored here reaches the medium only when
/// its commit is retired.
struct cc_htm_home : stm::plain_home {
    static constexpr bool stores_early = false;
    static constexpr bool numbers_commits = true;
    static constexpr bool privatises = false;
    static constexpr aliases_in aliases = aliases_in::pages;
    /// A transaction of this thread begins on that pool; `alone`: serially.
    static void begin(open_pool&, bool /*alone*/) noexcept {}
    /// A word will be stored to by the commit, with the locks held.
    static void prefetch(const void* home) noexcept { persist::prefetch_for_store(home); }
    static bool draw_number(const stm::write_log& writes) noexcept;
    static bool prepare(const stm::write_log& writes) noexcept;
    static void log() noexcept;
    static void retire() noexcept;

    static htm::hardware_place enter_hardware() noexcept;
    static void drawn(std::uint64_t number) noexcept;
    static void leave_hardware() noexcept;
};

namespace detail {
using isolation_by_value = stm::basic_value<cc_htm_home>;
using isolation_by_version = stm::basic_versioned<cc_htm_home>;
using isolation_by_hardware = htm::basic_rtm<cc_htm_home, htm::hardware>;

[[gnu::tls_model("initial-exec")]] extern constinit thread_local isolation_by_value value_of_cc_htm;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local isolation_by_version version_of_cc_htm;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local isolation_by_hardware hardware_of_cc_htm;
}  // namespace detail

namespace stm {
template <>
inline basic_value<cc_htm_home>& basic_value<cc_htm_home>::of_this_thread() noexcept {
    return holdfast::detail::value_of_cc_htm;
}
template <>
inline basic_versioned<cc_htm_home>& basic_versioned<cc_htm_home>::of_this_thread() noexcept {
    return holdfast::detail::version_of_cc_htm;
}
extern template class basic_value<cc_htm_home>;
extern template class basic_versioned<cc_htm_home>;
}  // namespace stm

namespace htm {
template <>
inline basic_rtm<cc_htm_home, hardware>& basic_rtm<cc_htm_home, hardware>::of_this_thread() noexcept {
    return holdfast::detail::hardware_of_cc_htm;
}
extern template class basic_rtm<cc_htm_home, hardware>;
}  // namespace htm

}  // namespace holdfast
