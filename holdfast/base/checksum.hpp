// CRC32C (Castagnoli), the one checksum of the format, and its interleaved form for records.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast {

/// The raw CRC32C register after `size` bytes, begun with `seed` and not inverted (the standard
/// check value is `~crc32c(data, size, ~0u)`).
/// Uses the processor's CRC instruction where it has one. Pure; thread-safe.
std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t seed = 0) noexcept;

/// The record checksum over `count` 8-byte words: word i runs through CRC32C stream i mod 4,
/// each stream begun with `seed`; the result is the CRC32C of two words: the first two registers
/// and the last two, each pair multiplied by an odd constant.
/// Four streams, because one waits three cycles for each word.
std::uint32_t interleaved_crc32c(const std::uint64_t* words, std::size_t count, std::uint32_t seed) noexcept;

namespace detail {
/// The table-driven forms, for processors without the instruction and for tests.
std::uint32_t crc32c_portable(const void* data, std::size_t size, std::uint32_t seed) noexcept;
std::uint32_t interleaved_crc32c_portable(const std::uint64_t* words, std::size_t count,
                                          std::uint32_t seed) noexcept;
}  // namespace detail

}  // namespace holdfast
