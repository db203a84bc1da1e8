#include <holdfast/htm/rtm_run.hpp>

namespace holdfast::htm {

constinit thread_local rtm rtm_of_this_thread;
template class basic_rtm<stm::plain_home, hardware>;

static_assert(stm::algorithm<rtm>);

}  // namespace holdfast::htm
