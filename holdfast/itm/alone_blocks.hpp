// What the runtime does besides while one thread has had blocks: it runs their code without barriers. For algorithms
// that cannot be alone nothing of it is left.
//
//   * A block begins alone if it has code without barriers and nothing cancels it: as an irrevocable one, but without
//     asking anybody. The second thread that begins a block waits for its end; from then on none is alone.
//   * A block inside runs without barriers, too. Where it may be cancelled it has barriers, which note what they store.
//   * Homes in a pool never run so: plain code stores past them.
#pragma once

#include <holdfast/itm/abi.hpp>
#include <holdfast/stm/algorithm.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" {
/// Whether blocks may run alone. Defined where the runtime is exported (export.hpp).
extern constinit bool holdfast_itm_runs_alone __attribute__((visibility("hidden")));
}

namespace holdfast::itm {

/// What the environment says: HOLDFAST_BLOCKS_ALONE=off.
inline bool may_run_alone() noexcept {
    const char* const said = std::getenv("HOLDFAST_BLOCKS_ALONE");
    return said == nullptr || std::string_view(said) != "off";
}

template <class Algorithm>
struct alone_blocks {
    static constexpr bool exist =
        requires(Algorithm& algorithm, const stm::start& start) { algorithm.begin_alone(start); };

    /// Opens the outermost block, for its code without barriers. False: nothing happened.
    [[gnu::always_inline]] static bool begin([[maybe_unused]] Algorithm& algorithm,
                                             [[maybe_unused]] std::uint32_t properties,
                                             [[maybe_unused]] const stm::start& start) noexcept {
        if constexpr (exist) {
            constexpr std::uint32_t needed = property::uninstrumented | property::no_abort;
            return (properties & needed) == needed && holdfast_itm_runs_alone && algorithm.begin_alone(start);
        }
        return false;
    }

    /// Whether the open transaction began so.
    static bool runs([[maybe_unused]] const Algorithm& algorithm) noexcept {
        if constexpr (exist) return algorithm.began_alone();
        return false;
    }

    /// Whether a block inside runs its code without barriers. `noted`: one around it may be cancelled.
    static bool runs_inside(const Algorithm& algorithm, std::uint32_t properties, bool noted) noexcept {
        constexpr std::uint32_t needed = property::uninstrumented | property::no_abort;
        return runs(algorithm) && !noted && (properties & needed) == needed;
    }
};

}  // namespace holdfast::itm
