// A cache line that holds an object twice. Freestanding C++17: the weaver and kernels read it.
#pragma once

#include <stddef.h>

namespace holdfast {
namespace format {

/// What the medium takes whole and in the order of the stores to it.
inline constexpr size_t cache_line_bytes = 64;
/// The object lies at the beginning of each half.
inline constexpr size_t half_line_bytes = 32;
/// The last byte says which half is valid, by its offset: 0 or 32.
inline constexpr size_t line_index_offset = 63;
/// The bytes in front of the index, in the second half.
inline constexpr size_t line_payload_bytes = 31;

static_assert(half_line_bytes * 2 == cache_line_bytes, "two halves");
static_assert(half_line_bytes + line_payload_bytes == line_index_offset, "the index is behind the second object");

}  // namespace format
}  // namespace holdfast
