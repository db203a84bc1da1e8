// `versioned` over the home that keeps some words.
#include <holdfast/stm/keeping_test.hpp>
#include <holdfast/stm/versioned_ranges_run.hpp>
#include <holdfast/stm/versioned_run.hpp>
#include <holdfast/stm/versioned_threads_run.hpp>

namespace holdfast::stm {

constinit thread_local keeping_versions keeping_versions_of_this_thread;
template class basic_versioned<keeping_home>;

}  // namespace holdfast::stm
