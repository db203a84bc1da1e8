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

/// What line_path::streamed_from_bytes is to be. Measuring takes about a millisecond, stores to `scratch` the bytes
/// that are there, and counts nothing. Builds for an observer do not measure: there records are streamed, as they are
/// where there is no memory to measure with, or less than 800 KiB of `scratch`.
/// Requires: `scratch` is 64-aligned memory of the medium, whole lines, and nobody else uses it.
/// What holds if the process dies inside: `scratch` is as it was.
std::uint32_t choose_streamed_from(record_way wanted, const line_path& path, std::span<std::byte> scratch) noexcept;

}  // namespace holdfast::persist
