// Every engine sees aligned 8-byte words with a byte mask. Sizes, alignment and straddling are
// resolved here, once.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace holdfast {

static_assert(std::endian::native == std::endian::little, "byte i of a word is bits 8i to 8i+7");

/// A word of the pool; may alias whatever type lives there.
using pool_word = std::uint64_t __attribute__((__may_alias__));

namespace detail {
/// A program uses few masks, so few of its lines are in the cache.
inline constexpr std::array<std::uint64_t, 256> bits_of_masks = [] {
    std::array<std::uint64_t, 256> made{};
    for (unsigned mask = 0; mask < made.size(); ++mask)
        for (unsigned byte = 0; byte < 8; ++byte)
            if ((mask >> byte & 1) != 0) made[mask] |= std::uint64_t{0xFF} << (8 * byte);
    return made;
}();
}  // namespace detail

/// 0xFF in each byte that `mask` names.
constexpr std::uint64_t bits_of_mask(std::uint8_t mask) noexcept { return detail::bits_of_masks[mask]; }
static_assert(bits_of_mask(0x81) == 0xFF000000000000FFull && bits_of_mask(0x06) == 0x0000000000FFFF00ull);

/// `word` with the bytes of `mask` from `value`.
constexpr std::uint64_t merged(std::uint64_t word, std::uint64_t value, std::uint8_t mask) noexcept {
    const std::uint64_t bits = bits_of_mask(mask);
    return (word & ~bits) | (value & bits);
}

namespace detail {

/// The aligned word that holds `address`, and the byte of it that `address` names.
struct word_position {
    pool_word* word;
    unsigned byte;
};

inline word_position word_of(const void* address) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return {reinterpret_cast<pool_word*>(at & ~std::uintptr_t{7}), static_cast<unsigned>(at & 7)};
}

/// Fewer bytes than these are stored word by word.
inline constexpr std::size_t smallest_run_bytes = 32;

/// Bytes [first, first + count) of a word as a mask. Requires: first + count <= 8.
constexpr std::uint8_t byte_mask(unsigned first, unsigned count) noexcept {
    return static_cast<std::uint8_t>(((1u << count) - 1u) << first);
}

/// The first `count` bytes at `from` as the lowest of a word; 1 <= count <= 8. By pieces in registers: bytes copied to
/// a word in memory cannot be loaded as that word before each of them has left the store buffer.
inline std::uint64_t load_piece(const unsigned char* from, std::size_t count) noexcept {
    const auto read = [from]<class Piece>(Piece piece, std::size_t at) {
        std::memcpy(&piece, from + at, sizeof piece);
        return std::uint64_t{piece} << (8 * at);
    };
    if (count == 8) return read(std::uint64_t{}, 0);
    std::uint64_t word = 0;
    if ((count & 4) != 0) word = read(std::uint32_t{}, 0);
    if ((count & 2) != 0) word |= read(std::uint16_t{}, count & 4);
    if ((count & 1) != 0) word |= read(std::uint8_t{}, count & 6);
    return word;
}

}  // namespace detail

/// Reads `size` bytes at `from` as the open transaction sees them.
template <class Transaction>
inline void load_bytes(Transaction& transaction, const void* from, void* to, std::size_t size) {
    auto* out = static_cast<unsigned char*>(to);
    auto [word, byte] = detail::word_of(from);
    while (size > 0) {
        const std::size_t count = size < 8 - byte ? size : 8 - byte;
        const std::uint64_t value = transaction.load(word) >> (8 * byte);
        std::memcpy(out, &value, count);
        out += count;
        size -= count;
        byte = 0;
        ++word;
    }
}

/// Stores `size` bytes at `home` in the open transaction; bytes around them stay untouched. A transaction that has
/// `store_run` gets whole words in one call.
template <class Transaction>
inline void store_bytes(Transaction& transaction, void* home, const void* from, std::size_t size) {
    const auto* in = static_cast<const unsigned char*>(from);
    auto [word, byte] = detail::word_of(home);
    while (size > 0) {
        if constexpr (requires { transaction.store_run(word, in, size / 8); }) {
            if (byte == 0 && size >= detail::smallest_run_bytes) {
                const std::size_t words = size / 8;
                transaction.store_run(word, in, words);
                in += words * 8;
                size -= words * 8;
                word += words;
                continue;
            }
        }
        const std::size_t count = size < 8 - byte ? size : 8 - byte;
        const std::uint64_t value = detail::load_piece(in, count);
        transaction.store(word, value << (8 * byte), detail::byte_mask(byte, static_cast<unsigned>(count)));
        in += count;
        size -= count;
        byte = 0;
        ++word;
    }
}

namespace detail {

/// Whether every T lies inside one word, as a number of its size.
template <class T>
inline constexpr bool is_part_of_word =
    (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4) && alignof(T) == sizeof(T);

}  // namespace detail

/// load_bytes for a type: one word where size and alignment allow.
template <class T, class Transaction>
inline T load_value(Transaction& transaction, const void* from) {
    T value;
    if constexpr (sizeof(T) == 8 && alignof(T) == 8) {
        const std::uint64_t word = transaction.load(static_cast<const pool_word*>(from));
        std::memcpy(&value, &word, 8);
    } else if constexpr (detail::is_part_of_word<T>) {
        const auto [word, byte] = detail::word_of(from);
        const std::uint64_t bits = transaction.load(word) >> (8 * byte);
        std::memcpy(&value, &bits, sizeof(T));
    } else {
        load_bytes(transaction, from, &value, sizeof(T));
    }
    return value;
}

/// store_bytes for a type: one word where size and alignment allow.
template <class T, class Transaction>
inline void store_value(Transaction& transaction, void* home, const T& value) {
    if constexpr (sizeof(T) == 8 && alignof(T) == 8) {
        std::uint64_t word;
        std::memcpy(&word, &value, 8);
        transaction.store(static_cast<pool_word*>(home), word, 0xFF);
    } else if constexpr (detail::is_part_of_word<T>) {
        const auto [word, byte] = detail::word_of(home);
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof(T));
        transaction.store(word, bits << (8 * byte), detail::byte_mask(byte, sizeof(T)));
    } else {
        store_bytes(transaction, home, &value, sizeof(T));
    }
}

}  // namespace holdfast
