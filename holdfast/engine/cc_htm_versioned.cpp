#include <holdfast/engine/cc_htm_home.hpp>
#include <holdfast/stm/versioned_ranges_run.hpp>
#include <holdfast/stm/versioned_run.hpp>
#include <holdfast/stm/versioned_threads_run.hpp>

namespace holdfast {

constinit thread_local detail::isolation_by_version detail::version_of_cc_htm;
template class stm::basic_versioned<cc_htm_home>;

}  // namespace holdfast
