// What the cache keeps: keys, items, and the counts of a partition. Only words, so that one source runs in every form.
#pragma once

#include <workload/access.hpp>
#include <workload/random.hpp>

#include <cstddef>
#include <cstdint>

namespace holdfast::workload {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte of a text is the lowest of its word");

namespace detail {

constexpr std::uint64_t words_of(std::uint64_t bytes) noexcept { return (bytes + 7) / 8; }

/// Word `i` of a text of `bytes` bytes, with zeros behind its end.
inline std::uint64_t text_word(const char* text, std::uint64_t bytes, std::uint64_t i) noexcept {
    const std::uint64_t first = 8 * i;
    std::uint64_t word = 0;
    if (first + 8 <= bytes) {
        __builtin_memcpy(&word, text + first, 8);
        return word;
    }
    for (std::uint64_t at = first; at < bytes; ++at)
        word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[at])) << (8 * (at - first));
    return word;
}

/// Stores word `i` of a text of `bytes` bytes, as far as the text reaches.
inline void put_text_word(char* text, std::uint64_t bytes, std::uint64_t i, std::uint64_t word) noexcept {
    const std::uint64_t first = 8 * i;
    if (first + 8 <= bytes) {
        __builtin_memcpy(text + first, &word, 8);
        return;
    }
    for (std::uint64_t at = first; at < bytes; ++at) text[at] = static_cast<char>(word >> (8 * (at - first)));
}

}  // namespace detail

/// A key as the commands take it: a copy in words, with its hash. Made before a transaction, since it reads nothing
/// shared. 1 to 250 bytes, without control characters and spaces; otherwise it is not valid, and commands refuse it.
class cache_key {
public:
    static constexpr std::uint64_t bytes_max = 250;

    cache_key(const char* text, std::uint64_t bytes) noexcept {
        if (bytes == 0 || bytes > bytes_max) return;
        for (std::uint64_t i = 0; i < bytes; ++i) {
            const auto each = static_cast<unsigned char>(text[i]);
            if (each <= 0x20 || each == 0x7F) return;
        }
        bytes_ = bytes;
        hash_ = hash_seed;
        for (std::uint64_t i = 0; i < words(); ++i) {
            words_[i] = detail::text_word(text, bytes, i);
            hash_ = next_hash(hash_, words_[i]);
        }
    }

    bool valid() const noexcept { return bytes_ != 0; }
    std::uint64_t bytes() const noexcept { return bytes_; }
    std::uint64_t words() const noexcept { return detail::words_of(bytes_); }
    std::uint64_t word(std::uint64_t i) const noexcept { return words_[i]; }
    /// Where a kept item is depends on it: it must never change.
    std::uint64_t hash() const noexcept { return hash_; }

    static constexpr std::uint64_t hash_seed = 0x484B4559u;
    static constexpr std::uint64_t next_hash(std::uint64_t hash, std::uint64_t word) noexcept {
        std::uint64_t mixed = hash ^ word;
        return splitmix(mixed);
    }

private:
    std::uint64_t bytes_ = 0;
    std::uint64_t hash_ = 0;
    std::uint64_t words_[(bytes_max + 7) / 8] = {};
};

/// When what never expires does. No clock comes to it.
inline constexpr std::uint64_t cache_never_s = ~std::uint64_t{0};

/// An item's head. The words of its key follow, then those of its value; bytes behind the end of either are zero.
struct cache_item {
    cache_item* next;          ///< in its bucket
    cache_item* newer;         ///< towards the front of the list
    cache_item* older;
    std::uint64_t hash;        ///< of its key
    std::uint64_t unique;      ///< another one after each change of the value; no other item of the cache has had it
    std::uint64_t expires_at;  ///< in seconds; it is gone from then on, if not cache_never_s
    std::uint64_t moved_at;    ///< in seconds: when it last came to the front
    std::uint64_t value_bytes;
    std::uint32_t key_bytes;
    std::uint32_t flags;       ///< the caller's
};

/// What an item with such a key and value counts against the memory limit: its block, without what the allocator adds.
constexpr std::uint64_t cache_item_bytes(std::uint64_t key_bytes, std::uint64_t value_bytes) noexcept {
    return sizeof(cache_item) + 8 * (detail::words_of(key_bytes) + detail::words_of(value_bytes));
}

/// What has happened, exactly: each count is stored in the transaction of what it counts. A command that is answered by
/// bad_key or too_large counts nothing.
///
///   created == items + deletes + evictions + expired + flushed
struct cache_statistics {
    std::uint64_t items;  ///< now, with those that have expired and were not looked at since
    std::uint64_t bytes;  ///< of these, as cache_item_bytes has it
    std::uint64_t created;           ///< items whose key was not there
    std::uint64_t evictions;         ///< items that went for want of room
    std::uint64_t expired;           ///< items that were found to have expired, and went
    std::uint64_t flushed;           ///< items that were found to be older than a flush_all, and went
    std::uint64_t stores;            ///< set, add, replace, append, prepend, cas that stored
    std::uint64_t get_hits;
    std::uint64_t get_misses;
    std::uint64_t deletes;
    std::uint64_t delete_misses;
    std::uint64_t increments;
    std::uint64_t increment_misses;
    std::uint64_t decrements;
    std::uint64_t decrement_misses;
    std::uint64_t touches;
    std::uint64_t touch_misses;
    std::uint64_t cas_hits;          ///< cas that stored
    std::uint64_t cas_misses;        ///< cas of a key that was not there
    std::uint64_t cas_refusals;      ///< cas with another unique
    std::uint64_t flushes;           ///< flush_all; not a sum over partitions, each of which counts all
};

inline constexpr std::uint64_t cache_statistics_words = sizeof(cache_statistics) / sizeof(std::uint64_t);

/// A part of the cache that shares nothing with the others: index, list, limit and counts of its own.
struct cache_partition {
    cache_item** buckets;
    cache_item* newest;
    cache_item* oldest;
    std::uint64_t unique;           ///< the last one given: of this partition's number and then in steps of their count
    std::uint64_t flushed_through;  ///< items up to this unique are gone
    std::uint64_t flush_at;         ///< in seconds: when a delayed flush_all happens; 0: none waits
    cache_statistics counts;
    std::uint64_t unused[5];        ///< neighbours share few lines
};
static_assert(sizeof(cache_partition) % 64 == 0);

}  // namespace holdfast::workload
