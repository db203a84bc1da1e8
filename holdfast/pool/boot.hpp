// Which boot of the machine this is.
#pragma once

#include <string>

namespace holdfast {

/// The kernel's boot id; empty where it has none. HOLDFAST_BOOT_ID in the environment overrides
/// it, so that tests can stand for a reboot.
std::string current_boot_id();

}  // namespace holdfast
