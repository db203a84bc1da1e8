// `value` over the home that knows what is not mapped any more.
#include <holdfast/stm/unmapped_test.hpp>
#include <holdfast/stm/value_ranges_run.hpp>
#include <holdfast/stm/value_run.hpp>
#include <holdfast/stm/value_threads_run.hpp>

namespace holdfast::stm {

constinit thread_local unmapped_values unmapped_values_of_this_thread;
template class basic_value<unmapped_home>;

}  // namespace holdfast::stm
