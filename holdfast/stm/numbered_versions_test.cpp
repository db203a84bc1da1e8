// `versioned` over the home whose commits are numbered.
#include <holdfast/stm/numbers_test.hpp>
#include <holdfast/stm/versioned_ranges_run.hpp>
#include <holdfast/stm/versioned_run.hpp>
#include <holdfast/stm/versioned_threads_run.hpp>

namespace holdfast::stm {

constinit thread_local numbered_versions numbered_versions_of_this_thread;
template class basic_versioned<numbered_home>;

}  // namespace holdfast::stm
