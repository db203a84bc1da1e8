// cc_htm whose aliases are in sets: `using store = holdfast::cc_htm_sets;`
#pragma once

#include <holdfast/engine/cc_htm_alias_home.hpp>

namespace holdfast {

using cc_htm_sets_home = cc_htm_alias_home<alias_sets>;

namespace detail {
using isolation_by_value_over_sets = stm::basic_value<cc_htm_sets_home>;
using isolation_by_version_over_sets = stm::basic_versioned<cc_htm_sets_home>;

[[gnu::tls_model("initial-exec")]] extern constinit thread_local isolation_by_value_over_sets value_over_sets;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local isolation_by_version_over_sets version_over_sets;
}  // namespace detail

namespace stm {
template <>
inline basic_value<cc_htm_sets_home>& basic_value<cc_htm_sets_home>::of_this_thread() noexcept {
    return holdfast::detail::value_over_sets;
}
template <>
inline basic_versioned<cc_htm_sets_home>& basic_versioned<cc_htm_sets_home>::of_this_thread() noexcept {
    return holdfast::detail::version_over_sets;
}
extern template class basic_value<cc_htm_sets_home>;
extern template class basic_versioned<cc_htm_sets_home>;
}  // namespace stm

/// cc_htm whose homes are on the medium: a committed word that is not home has an entry in the paper's table of sets
/// (lag_options::set_bytes, set_ways). No page is copied; each load looks into a set first. A transaction that finds no
/// free entries runs again, as after a conflict. One with more words in a set than the set has ways waits until they
/// are home. Pools are those of cc_htm. On an ordinary file it is cc_htm.
using cc_htm_sets = basic_cc_htm<detail::isolation_by_value_over_sets>;
using cc_htm_versioned_sets = basic_cc_htm<detail::isolation_by_version_over_sets>;

}  // namespace holdfast
