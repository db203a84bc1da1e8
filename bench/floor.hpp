// The floors: what the medium itself costs, with nothing above it.
#pragma once

#include <bench/contest/scratch.hpp>
#include <bench/runner.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::bench {

/// Bare operations on bare storage.
enum class floor_operation : std::uint8_t {
    fence,      ///< with nothing pending
    line,       ///< store, write-back and fence of one line, another one each time
    line_again, ///< the same of one line, always the same one
    lines8,     ///< the same of eight lines under one fence
    append64,   ///< 64 streamed bytes and a fence; on a file, 64 bytes by pwritev2(RWF_DSYNC)
    append128,
    append256,
    sync,       ///< on a file: pwrite of 4 KiB and fdatasync
};

/// Its name as a case.
std::string name_of(floor_operation operation);

/// A contestant that repeats `operation` on `medium` (nvram or file), in a ring of `ring_bytes`,
/// whatever the case is called. Threads append to one ring, each to places of its own.
std::unique_ptr<contestant> make_floor(floor_operation operation, const std::string& medium, unsigned threads,
                                       std::uint64_t ring_bytes, scratch& space);

/// The case `floor` of a suite that is measured against append64: level power, no delay.
entry floor_entry(const std::string& medium, unsigned threads, std::uint64_t ring_bytes, scratch& space, bool recorded);

}  // namespace holdfast::bench
