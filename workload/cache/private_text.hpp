// What a command has of its caller's, where its transaction reaches it without barriers of the compiler's.
#pragma once

#include <workload/cache/item.hpp>
#include <workload/pure.hpp>

namespace holdfast::workload {

/// Words between a caller, whose memory an outer transaction may have stored to, and the transaction of a command: a
/// variable of the command. Only pure functions store to it, so that they find there what they have stored, whatever a
/// transaction stores when it commits. An attempt that is repeated stores it again.
class text_between {
public:
    static constexpr std::uint64_t bytes_max = 256;
    static constexpr bool has_room_for(std::uint64_t bytes) noexcept { return bytes <= bytes_max; }
    static_assert(cache_key::bytes_max <= bytes_max);

    /// Outside. Requires: there is room for it.
    void take(const char* text, std::uint64_t bytes) noexcept {
        take_words(bytes, [=](std::uint64_t i) { return detail::text_word(text, bytes, i); });
    }
    void take(const cache_key& key) noexcept {
        const std::uint64_t words = key.words();
        take_words(key.bytes(), [&key, words](std::uint64_t i) { return i < words ? key.word(i) : 0; });
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
    template <class F>
    void take_words(std::uint64_t bytes, F&& word_of) noexcept {
        for (std::uint64_t i = 0; i < detail::words_of(bytes); i += 4)
            put_four(words_ + i, word_of(i), word_of(i + 1), word_of(i + 2), word_of(i + 3));
    }
    HOLDFAST_WORKLOAD_PURE static void put_four(std::uint64_t* at, std::uint64_t first, std::uint64_t second,
                                                std::uint64_t third, std::uint64_t fourth) noexcept {
        at[0] = first;
        at[1] = second;
        at[2] = third;
        at[3] = fourth;
    }

    std::uint64_t words_[bytes_max / 8];
};

/// A key as a transaction has it. Requires: the words are those of the key.
class key_in_block {
public:
    key_in_block(const cache_key& key, const text_between& words) noexcept
        : words_(&words), bytes_(key.bytes()), hash_(key.hash()) {}

    std::uint64_t bytes() const noexcept { return bytes_; }
    std::uint64_t words() const noexcept { return detail::words_of(bytes_); }
    std::uint64_t word(std::uint64_t i) const noexcept { return text_between::word(words_, i); }
    std::uint64_t hash() const noexcept { return hash_; }

private:
    const text_between* words_;
    std::uint64_t bytes_, hash_;
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
