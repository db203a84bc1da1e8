// `value` over the home that keeps some words.
#include <holdfast/stm/keeping_test.hpp>
#include <holdfast/stm/value_ranges_run.hpp>
#include <holdfast/stm/value_run.hpp>
#include <holdfast/stm/value_threads_run.hpp>

namespace holdfast::stm {

constinit thread_local keeping_values keeping_value_of_this_thread;
template class basic_value<keeping_home>;

}  // namespace holdfast::stm
