#include <holdfast/engine/cc_htm_home.hpp>
#include <holdfast/stm/value_ranges_run.hpp>
#include <holdfast/stm/value_run.hpp>
#include <holdfast/stm/value_threads_run.hpp>

namespace holdfast {

constinit thread_local detail::isolation_by_value detail::value_of_cc_htm;
template class stm::basic_value<cc_htm_home>;

}  // namespace holdfast
