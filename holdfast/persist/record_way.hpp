// The way of log records to byte-addressable media: streamed past the cache, or stored through it and written back.
//
// Processors differ. Some fence a line that was written back sooner than one that was streamed, others later, and long
// records may have it the other way round than short ones. So each opening measures.
#pragma once

#include <holdfast/persist/line_path.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

namespace holdfast::persist {

std::string_view name_of(record_way way) noexcept;
std::optional<record_way> record_way_named(std::string_view name) noexcept;

/// line_path::streamed_from_bytes where no record is streamed.
inline constexpr std::uint32_t never_streamed = std::numeric_limits<std::uint32_t>::max();

/// How long records of one size take each way, fences included.
struct record_times {
    std::uint32_t bytes;
    double streamed_ns;
    double written_back_ns;
};
/// line_path::streamed_from_bytes by what was measured of sizes in ascending order: the first size at which writing
/// back does not save at least 5 %; 0 if that is the first of all, `never_streamed` if writing back saves it at each.
std::uint32_t streamed_from(std::span<const record_times> measured) noexcept;

/// What line_path::streamed_from_bytes is to be. Measuring takes about a millisecond, stores to `scratch` the bytes
/// that are there, and counts nothing. Builds for an observer do not measure: there records are streamed, as they are
/// where there is no memory to measure with, or less than 800 KiB of `scratch`.
/// Requires: `scratch` is 64-aligned memory of the medium, whole lines, and nobody else uses it.
/// What holds if the process dies inside: `scratch` is as it was.
std::uint32_t choose_streamed_from(record_way wanted, const line_path& path, std::span<std::byte> scratch) noexcept;

}  // namespace holdfast::persist
