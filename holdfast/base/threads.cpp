#include <holdfast/base/threads.hpp>

#include <sched.h>

namespace holdfast {

unsigned processors_of_this_thread() noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    // Refused where there are more processors than the set can name.
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<unsigned>(CPU_COUNT(&set));
}

}  // namespace holdfast
