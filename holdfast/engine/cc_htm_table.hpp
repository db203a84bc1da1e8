// cc_htm whose aliases are in tables: `using store = holdfast::cc_htm_table;`
#pragma once

#include <holdfast/engine/cc_htm_alias_home.hpp>

namespace holdfast {

using cc_htm_table_home = cc_htm_alias_home<alias_tables>;

namespace detail {
using isolation_by_value_over_table = stm::basic_value<cc_htm_table_home>;
using isolation_by_version_over_table = stm::basic_versioned<cc_htm_table_home>;

[[gnu::tls_model("initial-exec")]] extern constinit thread_local isolation_by_value_over_table value_over_table;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local isolation_by_version_over_table version_over_table;
}  // namespace detail

namespace stm {
template <>
inline basic_value<cc_htm_table_home>& basic_value<cc_htm_table_home>::of_this_thread() noexcept {
    return holdfast::detail::value_over_table;
}
template <>
inline basic_versioned<cc_htm_table_home>& basic_versioned<cc_htm_table_home>::of_this_thread() noexcept {
    return holdfast::detail::version_over_table;
}
extern template class basic_value<cc_htm_table_home>;
extern template class basic_versioned<cc_htm_table_home>;
}  // namespace stm

/// cc_htm whose homes are the medium's: what is committed and not home waits in two tables that take turns
/// (lag_options::table_words). No page is copied; each load looks into the tables first. Pools are those of cc_htm. On
/// an ordinary file it is cc_htm.
using cc_htm_table = basic_cc_htm<detail::isolation_by_value_over_table>;
using cc_htm_versioned_table = basic_cc_htm<detail::isolation_by_version_over_table>;

}  // namespace holdfast
