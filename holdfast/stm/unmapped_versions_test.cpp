// `versioned` over the home that knows what is not mapped any more.
#include <holdfast/stm/unmapped_test.hpp>
#include <holdfast/stm/versioned_ranges_run.hpp>
#include <holdfast/stm/versioned_run.hpp>
#include <holdfast/stm/versioned_threads_run.hpp>

namespace holdfast::stm {

constinit thread_local unmapped_versions unmapped_versions_of_this_thread;
template class basic_versioned<unmapped_home>;

}  // namespace holdfast::stm
