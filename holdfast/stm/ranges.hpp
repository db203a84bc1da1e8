// Copies and fills as range operations: cut into the words of one line each, so that a lock or the sequence is looked
// at once a line.
#pragma once

#include <holdfast/stm/algorithm.hpp>

#include <cstring>

namespace holdfast::stm::detail {

inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t line_words = line_bytes / 8;

/// The part of a range that lies in its first line.
struct line_piece {
    std::uintptr_t first_word;
    std::size_t skipped_bytes;  ///< of the first word
    std::size_t bytes;
    unsigned words;

    line_piece(const void* begin, std::size_t range_bytes) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(begin);
        const std::size_t to_line_end = line_bytes - at % line_bytes;
        bytes = range_bytes < to_line_end ? range_bytes : to_line_end;
        skipped_bytes = at % 8;
        first_word = at - skipped_bytes;
        words = static_cast<unsigned>((skipped_bytes + bytes + 7) / 8);
    }
    std::uint8_t mask_of(unsigned at) const noexcept {
        const std::size_t from = at == 0 ? skipped_bytes : 0;
        const std::size_t until = at + 1 == words ? skipped_bytes + bytes - 8 * std::size_t{at} : 8;
        return holdfast::detail::byte_mask(static_cast<unsigned>(from), static_cast<unsigned>(until - from));
    }
};

/// Words of one line: by Algorithm::load_line(first, count, out), or where there is no faster way one by one.
template <class Algorithm>
void load_words(Algorithm& open, const word* first, unsigned count, pool_word* out) {
    if constexpr (requires { open.load_line(first, count, out); }) {
        open.load_line(first, count, out);
    } else {
        for (unsigned i = 0; i < count; ++i) out[i] = open.load(first + i);
    }
}

template <class Algorithm>
void read_lines(Algorithm& open, void* to, const void* from, std::size_t bytes) {
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    while (bytes != 0) {
        const line_piece piece(in, bytes);
        const auto* const first = reinterpret_cast<const word*>(piece.first_word);
        const std::uintptr_t places = reinterpret_cast<std::uintptr_t>(out) | piece.skipped_bytes | piece.bytes;
        if (places % sizeof(word) == 0) [[likely]] {
            load_words(open, first, piece.words, reinterpret_cast<pool_word*>(out));
        } else {
            pool_word words[line_words];
            load_words(open, first, piece.words, words);
            std::memcpy(out, reinterpret_cast<const unsigned char*>(words) + piece.skipped_bytes, piece.bytes);
        }
        out += piece.bytes;
        in += piece.bytes;
        bytes -= piece.bytes;
    }
}

/// Words of one line, the first and the last perhaps in part: by Algorithm::store_line(piece, values), or one by one.
template <class Algorithm>
void store_words(Algorithm& open, const line_piece& piece, const word* values) {
    if constexpr (requires { open.store_line(piece, values); }) {
        open.store_line(piece, values);
    } else {
        auto* const home = reinterpret_cast<word*>(piece.first_word);
        for (unsigned i = 0; i < piece.words; ++i) open.store(home + i, values[i], piece.mask_of(i));
    }
}

/// `next(to, bytes)` gives the next bytes.
template <class Algorithm, class Next>
void write_lines(Algorithm& open, void* to, std::size_t bytes, Next&& next) {
    auto* out = static_cast<unsigned char*>(to);
    while (bytes != 0) {
        const line_piece piece(out, bytes);
        word words[line_words];
        words[0] = words[piece.words - 1] = 0;
        next(reinterpret_cast<unsigned char*>(words) + piece.skipped_bytes, piece.bytes);
        store_words(open, piece, words);
        out += piece.bytes;
        bytes -= piece.bytes;
    }
}

template <class Algorithm>
void read_range(Algorithm& open, void* to, const void* from, std::size_t bytes) {
    if (open.is_private(from, bytes)) {
        std::memcpy(to, from, bytes);
    } else {
        read_lines(open, to, from, bytes);
    }
}

template <class Algorithm>
void write_range(Algorithm& open, void* to, const void* from, std::size_t bytes) {
    if (open.is_private(to, bytes)) {
        std::memcpy(to, from, bytes);
        return;
    }
    const auto* in = static_cast<const unsigned char*>(from);
    write_lines(open, to, bytes, [&in](unsigned char* piece, std::size_t count) {
        std::memcpy(piece, in, count);
        in += count;
    });
}

/// As memmove: pieces are taken from the end where `to` is above `from`, since what is loaded includes what was stored.
template <class Algorithm>
void copy_range(Algorithm& open, void* to, const void* from, std::size_t bytes) {
    if (open.is_private(to, bytes)) {
        if (open.is_private(from, bytes)) {
            std::memmove(to, from, bytes);
            return;
        }
        const std::uintptr_t distance = reinterpret_cast<std::uintptr_t>(from) - reinterpret_cast<std::uintptr_t>(to);
        if (distance >= bytes && 0 - distance >= bytes) return open.read_range(to, from, bytes);
    }
    alignas(word) unsigned char piece[512];
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    const bool backwards = reinterpret_cast<std::uintptr_t>(to) > reinterpret_cast<std::uintptr_t>(from);
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t count = bytes - done < sizeof piece ? bytes - done : sizeof piece;
        const std::size_t at = backwards ? bytes - done - count : done;
        open.read_range(piece, in + at, count);
        open.write_range(out + at, piece, count);
        done += count;
    }
}

template <class Algorithm>
void fill_range(Algorithm& open, void* to, int byte, std::size_t bytes) {
    if (open.is_private(to, bytes)) {
        std::memset(to, byte, bytes);
        return;
    }
    write_lines(open, to, bytes, [byte](unsigned char* piece, std::size_t count) { std::memset(piece, byte, count); });
}

}  // namespace holdfast::stm::detail
