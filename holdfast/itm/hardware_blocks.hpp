// What the runtime does besides where an algorithm runs blocks in hardware (htm/hybrid.hpp): it says which of a block's
// two codes runs, and takes into software what hardware cannot do. For all other algorithms nothing of it is left.
//
//   * A block begins in hardware over its code without barriers, or over that with barriers where the algorithm says so
//     or where there is no other. An abort comes back out of begin, which is still running as far as anybody can tell;
//     the last try is in software, with barriers.
//   * A block inside one that is in hardware begins nothing: it runs as the outer one does. Its code without barriers
//     may not exist: barriers load and store plainly then.
//   * A cancel, a restart that the program asks for, and becoming irrevocable abort: the same block runs in software,
//     comes there again and does it.
#pragma once

#include <holdfast/itm/abi.hpp>
#include <holdfast/stm/algorithm.hpp>

#include <cstdint>

namespace holdfast::itm {

template <class Algorithm>
struct hardware_blocks {
    static constexpr bool exist =
        requires(Algorithm& algorithm, const stm::start& start) { algorithm.begin_block(start); };

    /// Opens an attempt of the outermost block. Returns the action that says which code runs.
    static std::uint32_t open_attempt(Algorithm& algorithm, [[maybe_unused]] std::uint32_t properties,
                                      const stm::start& start) noexcept {
        if constexpr (exist) {
            if ((properties & property::uninstrumented) != 0)
                return algorithm.begin_block(start) ? action::run_uninstrumented : action::run_instrumented;
        }
        algorithm.begin(start);
        return action::run_instrumented;
    }

    /// The same for a block inside. Requires: in hardware. Does not return where it has to be irrevocable.
    static std::uint32_t begin_inner(std::uint32_t properties, bool needs_no_rollback) noexcept {
        if (needs_no_rollback) leave();
        const bool is_plain = Algorithm::of_this_thread().runs_plain_code();
        return is_plain && (properties & property::uninstrumented) != 0 ? action::run_uninstrumented
                                                                        : action::run_instrumented;
    }

    /// Returns only where the transaction is not in hardware.
    static void leave() noexcept {
        if constexpr (exist) {
            if (Algorithm::of_this_thread().in_hardware()) Algorithm::of_this_thread().leave_hardware();
        }
    }
};

}  // namespace holdfast::itm
