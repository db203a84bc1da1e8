// How the lines of one mapping become durable.
#pragma once

#include <cstdint>

namespace holdfast::persist {

/// How the lines of one mapping reach its persistence domain. Plain data, copied to where it is used.
struct line_path {
    /// False where the CPU caches are inside the persistence domain: a fence alone orders.
    bool write_back_needed = true;
    /// Extra time for each line sent to the medium, paid at the fence; emulates slower media.
    std::uint32_t delay_ns = 0;
};

}  // namespace holdfast::persist
