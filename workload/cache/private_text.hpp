// What a command has of its caller's, where blocks of the compiler's transactions reach it without barriers.
#pragma once

#include <workload/cache/item.hpp>
#include <workload/pure.hpp>

namespace holdfast::workload {

/// A key as a transaction has it. Requires: the key that it was made of is in a frame outside of the transaction, and
/// is not changed any more.
class key_in_block {
public:
    explicit key_in_block(const cache_key& key) noexcept : key_(&key), bytes_(key.bytes()), hash_(key.hash()) {}

    std::uint64_t bytes() const noexcept { return bytes_; }
    std::uint64_t words() const noexcept { return detail::words_of(bytes_); }
    std::uint64_t word(std::uint64_t i) const noexcept { return word_of(key_, i); }
    std::uint64_t hash() const noexcept { return hash_; }

private:
    HOLDFAST_WORKLOAD_PURE static std::uint64_t word_of(const cache_key* key, std::uint64_t i) noexcept {
        return key->word(i);
    }

    const cache_key* key_;
    std::uint64_t bytes_, hash_;
};

/// A short text between a caller, whose memory an outer transaction may have stored to, and the transaction of a
/// command: copied outside, and loaded or stored inside. A variable of the command; what attempts that were repeated
/// have stored to it is stored again.
class text_between {
public:
    static constexpr std::uint64_t bytes_max = 256;
    static constexpr bool has_room_for(std::uint64_t bytes) noexcept { return bytes <= bytes_max; }

    /// Outside. Requires: there is room for it.
    void take(const char* text, std::uint64_t bytes) noexcept {
        for (std::uint64_t i = 0; i < detail::words_of(bytes); ++i) words_[i] = detail::text_word(text, bytes, i);
    }
    void give(char* text, std::uint64_t bytes) const noexcept {
        for (std::uint64_t i = 0; i < detail::words_of(bytes); ++i) detail::put_text_word(text, bytes, i, words_[i]);
    }

    /// Inside.
    HOLDFAST_WORKLOAD_PURE static std::uint64_t word(const text_between* of, std::uint64_t i) noexcept {
        return of->words_[i];
    }
    HOLDFAST_WORKLOAD_PURE static void put_word(text_between* of, std::uint64_t i, std::uint64_t word) noexcept {
        of->words_[i] = word;
    }

private:
    std::uint64_t words_[bytes_max / 8];
};

/// What a get has found.
struct value_between {
    std::uint64_t bytes;
    std::uint64_t unique;
    std::uint32_t flags;
    text_between text;  ///< if it has room for it

    /// Inside.
    HOLDFAST_WORKLOAD_PURE static void note(value_between* of, std::uint64_t bytes, std::uint64_t unique,
                                            std::uint32_t flags) noexcept {
        of->bytes = bytes;
        of->unique = unique;
        of->flags = flags;
    }
};

}  // namespace holdfast::workload
