#include <holdfast/htm/hybrid_run.hpp>
#include <holdfast/stm/value_ranges_run.hpp>
#include <holdfast/stm/value_run.hpp>
#include <holdfast/stm/value_threads_run.hpp>

namespace holdfast::htm {

constinit thread_local software_of_hybrid software_of_this_thread;
constinit thread_local hybrid hybrid_of_this_thread;

static_assert(stm::algorithm<hybrid>);
static_assert(hybrid_hardware<hardware>);

}  // namespace holdfast::htm

namespace holdfast {
template class stm::basic_value<htm::hybrid_home>;
template class htm::basic_hybrid<htm::software_of_hybrid, htm::hardware>;
}  // namespace holdfast
