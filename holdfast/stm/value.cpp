#include <holdfast/stm/value_ranges_run.hpp>
#include <holdfast/stm/value_run.hpp>
#include <holdfast/stm/value_threads_run.hpp>

namespace holdfast::stm {

constinit thread_local value value_of_this_thread;
template class basic_value<plain_home>;

static_assert(algorithm<value>);

}  // namespace holdfast::stm
