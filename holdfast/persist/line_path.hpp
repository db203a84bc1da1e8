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
    /// Log records of at least this size are streamed; shorter ones are stored through the cache and written back.
    std::uint32_t streamed_from_bytes = 0;
};

/// How log records reach byte-addressable media at `power`. Recovery reads both alike.
enum class record_way : std::uint8_t {
    measured,      ///< for each size of record whichever is cheaper where the pool is opened: record_way.hpp
    streamed,      ///< by stores that bypass the cache
    written_back,  ///< by stores to the cache and a write-back of each line
};

}  // namespace holdfast::persist
