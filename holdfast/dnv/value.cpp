// The runtime of blocks over `value` and staged homes, and the functions of Table 1 that blocks call. Compiled without
// -fgnu-tm; one object file, of which begin takes all (itm/export.hpp).
#include <holdfast/dnv/between_attempts_run.hpp>
#include <holdfast/dnv/dnv.hpp>
#include <holdfast/dnv/home.hpp>
#include <holdfast/itm/export.hpp>
#include <holdfast/stm/value_run.hpp>
#include <holdfast/stm/value_threads_run.hpp>

namespace holdfast::stm {

using staged_value = basic_value<dnv::home>;
[[gnu::tls_model("initial-exec")]] constinit thread_local staged_value staged_value_of_this_thread;

template <>
staged_value& staged_value::of_this_thread() noexcept {
    return staged_value_of_this_thread;
}
template class basic_value<dnv::home>;

}  // namespace holdfast::stm

namespace holdfast::dnv {

bool home::between_attempts() noexcept { return settle_attempt<stm::staged_value>(); }

}  // namespace holdfast::dnv

HOLDFAST_ITM_EXPORT(holdfast::stm::staged_value)

#include <holdfast/dnv/export.hpp>

HOLDFAST_DNV_EXPORT(holdfast::stm::staged_value)
