// `value` over the home whose commits are numbered.
#include <holdfast/stm/numbers_test.hpp>
#include <holdfast/stm/value_ranges_run.hpp>
#include <holdfast/stm/value_run.hpp>
#include <holdfast/stm/value_threads_run.hpp>

namespace holdfast::stm {

constinit thread_local numbered_values numbered_value_of_this_thread;
template class basic_value<numbered_home>;

}  // namespace holdfast::stm
