// Under what the kernel module keeps the log of a pool.
#pragma once

#include <cstdint>

namespace holdfast::powerfail {

/// Where programs ask the kernel module.
inline constexpr const char* usual_module_device = "/dev/holdfast";

/// A key, and what tells this life of a pool from others.
struct save_name {
    std::uint64_t key = 0;  ///< 0: the log has no name, and cannot be saved
    std::uint64_t session[4] = {};

    bool operator==(const save_name&) const = default;
};

}  // namespace holdfast::powerfail
