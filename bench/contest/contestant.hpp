// Whatever is measured: an engine of ours, a floor, a rival in a child process.
#pragma once

#include <holdfast/persist/counters.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::bench {

/// What our own code asked of the medium and of the log; sums over all threads.
struct costs {
    persist::counters medium;
    bool has_log = false;                 ///< a pool's costs: its log fills and is truncated
    std::uint64_t truncations = 0;        ///< of that log; checkpoints on a file at `power`
    std::optional<std::uint64_t> groups;  ///< commit groups, where commits gather into groups
};

/// What a batch showed besides its time and its costs.
struct observation {
    std::string metric;
    std::string unit;
    double value = 0;
};

/// One batch of transactions, run to the end.
struct batch {
    double ns = 0;  ///< wall time by CLOCK_MONOTONIC around the whole batch, or thread_cpu_ns of its timed parts
    std::uint64_t transactions = 0;
    std::optional<costs> spent;       ///< nothing for rivals: they count nothing
    std::vector<observation> seen{};  ///< the same metrics in every batch of a case
};

/// Keeps its data between batches. One thread calls it.
class contestant {
public:
    virtual ~contestant() = default;
    /// Runs `transactions` transactions of the case `name` on all threads together.
    /// Throws failure when it cannot.
    virtual batch run(const std::string& name, std::uint64_t transactions) = 0;
};

}  // namespace holdfast::bench
