// What the seam's primitives cost on the storage under a directory, measured there and now.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/persist/storage.hpp>

#include <string>

namespace holdfast::persist {

/// The cost of one operation over several repetitions, each the mean of many operations in a row.
struct measured_cost {
    double median_ns = 0;
    double min_ns = 0;
    double max_ns = 0;
    int repetitions = 0;  ///< 9, or fewer where the time was up
};

/// The floors under every commit: no engine can be faster than what it needs of these.
struct measured_costs {
    measured_cost fence;      ///< with nothing pending
    measured_cost line;       ///< store, write-back and fence of one line
    measured_cost lines8;     ///< the same for eight lines under one fence
    measured_cost append64;   ///< 64 streamed bytes and a fence, one append behind the other
    measured_cost append256;  ///< 256 streamed bytes and a fence
    std::uint32_t streamed_from_bytes = 0;  ///< what an opening would choose for records: record_way.hpp
    measured_cost sync;       ///< pwrite of 4 KiB and fdatasync
    measured_cost durable64;  ///< 64 bytes by pwritev2(RWF_DSYNC), zero-filled before
};

/// Measures on an unnamed temporary file of 4 MiB in `directory`, which `on` describes. The line
/// costs are those of a mapping of that file; they make nothing durable unless it is byte-addressable.
/// Takes about 300 ms, more only where a single sync does. Thread-safe; counts in the caller's counters.
/// Errors: as file::create_unnamed, file::allocate and mapping::map.
result<measured_costs> measure(const std::string& directory, const storage& on);

}  // namespace holdfast::persist
