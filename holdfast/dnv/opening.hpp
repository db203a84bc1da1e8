// What dnv_open does with a pool that is open already: the crash explorer opens pools in another way.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/dnv/engine.hpp>
#include <holdfast/handle/pool.hpp>

namespace holdfast::dnv {

/// Makes it the dnv pool of the process: its window, and what is not in it yet. `protects`: a new one has codes.
/// Requires: none is open. What holds if the process dies inside, and errors: as dnv_open; none is open then.
result<void> take_over(engine::pool opened, bool protects);
/// Lets go of the open pool as a killed process would; without one it does nothing. Requires: as dnv_close.
void abandon() noexcept;

}  // namespace holdfast::dnv
