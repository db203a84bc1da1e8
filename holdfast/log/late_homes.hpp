// What a log asks of those who bring the homes of its records to the medium later than the commit.
#pragma once

#include <cstdint>

namespace holdfast {

/// Segments of a log.
struct log_room {
    std::uint32_t free = 0;
    std::uint32_t full = 0;  ///< free once S passes them
    std::uint32_t of = 0;    ///< in all
};

/// Homes that may be stored, or written back, after their commit has given its lane back.
class late_homes {
public:
    /// Below this sequence every commit that has given its lane back has its homes stored, and durable where the pool
    /// promises it. Thread-safe.
    virtual std::uint64_t first_not_home() const noexcept = 0;
    /// Returns when this holds for every commit that gave its lane back before the call. Thread-safe. Requires: the
    /// caller holds no lock of the log.
    virtual void bring_home() = 0;
    /// The same for a part of them, the oldest, where that gives the log room; called again if it was not enough.
    virtual void bring_some_home() { bring_home(); }
    /// A lane has taken a segment. Returns at once. Thread-safe.
    virtual void note_room(const log_room& now) noexcept = 0;

protected:
    ~late_homes() = default;
};

}  // namespace holdfast
