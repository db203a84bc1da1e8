// What a log asks of those who store the homes of its records later than the commit.
#pragma once

#include <cstdint>

namespace holdfast {

/// Homes that may be stored after their commit has given its lane back.
class late_homes {
public:
    /// Below this sequence every commit that has given its lane back has its homes stored, and durable where the pool
    /// promises it. Thread-safe.
    virtual std::uint64_t first_not_home() const noexcept = 0;
    /// Returns when this holds for every commit that gave its lane back before the call. Thread-safe. Requires: the
    /// caller holds no lock of the log.
    virtual void bring_home() = 0;
    /// The log is running out of room: homes should be stored soon. Returns at once. Thread-safe.
    virtual void hurry() noexcept = 0;

protected:
    ~late_homes() = default;
};

}  // namespace holdfast
