#include <holdfast/engine/cc_htm_home.hpp>
#include <holdfast/htm/rtm_run.hpp>

namespace holdfast {

constinit thread_local detail::isolation_by_hardware detail::hardware_of_cc_htm;
template class htm::basic_rtm<cc_htm_home, htm::hardware>;

}  // namespace holdfast
