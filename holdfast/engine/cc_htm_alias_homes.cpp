#include <holdfast/engine/cc_htm_sets.hpp>
#include <holdfast/engine/cc_htm_table.hpp>
#include <holdfast/stm/value_ranges_run.hpp>
#include <holdfast/stm/value_run.hpp>
#include <holdfast/stm/value_threads_run.hpp>
#include <holdfast/stm/versioned_ranges_run.hpp>
#include <holdfast/stm/versioned_run.hpp>
#include <holdfast/stm/versioned_threads_run.hpp>

namespace holdfast {

constinit thread_local detail::isolation_by_value_over_table detail::value_over_table;
constinit thread_local detail::isolation_by_version_over_table detail::version_over_table;
constinit thread_local detail::isolation_by_value_over_sets detail::value_over_sets;
constinit thread_local detail::isolation_by_version_over_sets detail::version_over_sets;
template class stm::basic_value<cc_htm_table_home>;
template class stm::basic_versioned<cc_htm_table_home>;
template class stm::basic_value<cc_htm_sets_home>;
template class stm::basic_versioned<cc_htm_sets_home>;

}  // namespace holdfast
