#include <holdfast/stm/versioned_ranges_run.hpp>
#include <holdfast/stm/versioned_run.hpp>
#include <holdfast/stm/versioned_threads_run.hpp>

namespace holdfast::stm {

constinit thread_local versioned versioned_of_this_thread;
template class basic_versioned<plain_home>;

static_assert(algorithm<versioned>);

}  // namespace holdfast::stm
