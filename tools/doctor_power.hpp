// What `holdfast doctor` says of power failures: who would save pools here, how long a save takes, and a drill.
#pragma once

#include "output.hpp"

#include <holdfast/persist/storage.hpp>
#include <holdfast/powerfail/kernel_module.hpp>
#include <holdfast/powerfail/process_handler.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::tools {

/// A false alarm on a scratch pool.
struct power_drill {
    powerfail::alarm_report alarm;
    std::chrono::nanoseconds at_power{};  ///< on an ordinary file: when the pool was at `power`, since the alarm
    unsigned threads = 0;       ///< that committed meanwhile
    std::uint64_t commits = 0;  ///< before and after it, all found again
    bool is_clean = false;      ///< a check of the pool found nothing, and no commit is missing
};

struct power_findings {
    std::optional<powerfail::module_state> module;  ///< the kernel's, if it has one with a region
    std::string without_module;                     ///< why there is none
    std::vector<powerfail::module_save> saves;      ///< that the module has kept, and no pool has replayed
    std::optional<powerfail::module_drill> module_drill;
    std::string without_module_drill;  ///< empty: none was asked for, or it was made
    bool has_daemon = false;
    bool is_on_file = false;  ///< pools sync instead, and need a warning of as long as that takes
    std::string obstacle;  ///< why no pool can be armed here; empty: the next two were measured
    powerfail::save_budget budget;
    std::uint64_t pool_bytes = 0;  ///< of the scratch pool whose save the budget is
    std::chrono::microseconds hold_up{};
    std::optional<power_drill> drill;
};

/// Makes a scratch pool in `directory`, which `on` describes, and removes it. `drill_threads`: 0 for no drill. Throws
/// failure.
power_findings examine_power(const std::string& directory, const persist::storage& on, unsigned drill_threads);

/// For a pool that is not there any more. Throws failure: the kernel module has no save under the key, or there is no
/// module.
void forget_save(std::uint64_t key);

json json_of(const power_findings& found);
std::string text_of(const power_findings& found);

}  // namespace holdfast::tools
