// Reading, checking and writing the two superblock copies.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/persist/file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace holdfast {

/// The valid copy with the higher generation. Checks magic, version, features, checksum and that
/// every range lies inside the file; another layout or engine is not its concern.
/// Errors: not_a_pool, truncated, version_unsupported, feature_unsupported, corrupt, io; each names
/// file, offset, expected and found. Changes nothing.
result<format::superblock> read_superblock(const persist::file& from);

/// Seals `next` (checksum) and writes it durably over the older copy: the copy chosen by its
/// generation's parity, so that a torn write leaves the other. Errors: io.
result<void> write_superblock(persist::file& to, format::superblock next);

/// The text in a zero-padded character array.
template <std::size_t N>
std::string_view text_of(const char (&padded)[N]) noexcept {
    std::size_t length = 0;
    while (length < N && padded[length] != 0) ++length;
    return {padded, length};
}

/// Fills the array with the text and zeros behind it; what does not fit is cut off.
template <std::size_t N>
void put_text(char (&padded)[N], std::string_view text) noexcept {
    std::memset(padded, 0, N);
    std::memcpy(padded, text.data(), std::min(N, text.size()));
}

}  // namespace holdfast
