// What the caches need of the memory behind them; the memory system implements it, tests put a mock in its place.
#pragma once

#include <sim/port/ports.hpp>

namespace holdfast::sim {

/// Why a line is written, and who will wait until it is durable.
struct write_origin {
    port::reason why = port::reason::eviction;
    hart_set awaited_by{};
};

class memory_below {
public:
    virtual ~memory_below() = default;

    /// The newest bytes of a line, queued writes included. Returns when they have arrived.
    virtual time read(address line, line_data& into, time at) = 0;
    /// Returns when the write is accepted, later than `at` if the queue was full.
    virtual time write(const line_write& what, write_origin origin, time at) = 0;
    /// Bytes of one line that bypass the caches, through the write-combining buffer. Returns when they are accepted.
    virtual time stream(hart_id hart, address where, std::span<const std::byte> bytes, time at) = 0;
    /// A write of this line that is on its way, whoever caused it, is from now on awaited by `hart`.
    virtual void await(hart_id hart, address line, time at) = 0;
    /// When all writes that the hart awaits are at the persist point.
    virtual time fence(hart_id hart, time at) = 0;

    /// A read will follow; a hint for the host, which has nothing to do with the simulated machine.
    virtual void prefetch(address) const {}

    /// Without time: what a read would return, and bytes put where they belong.
    virtual void peek(address line, line_data& into) const = 0;
    virtual void poke(const line_write& what) = 0;
};

}  // namespace holdfast::sim
