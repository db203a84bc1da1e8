// The items of one partition: index, list in the order of use, eviction. Commands (cache.hpp) are made of these steps.
//
// The index has as many buckets as it was created with. It does not grow: the limit of the memory is fixed as well, so
// that the number of items is known beforehand; and a growing index would move items of other keys in some commands,
// whose transactions would be long and meet all others.
//
// The list is from the newest to the oldest. To move an item costs seven stores in up to five lines, and all moves meet
// at its front. So a command that only uses an item moves it if it was last moved `move_after_s` or longer before, and
// one that stores a value moves it always. The price: an item that is evicted may have been used later than one that
// stays, but by less than `move_after_s`.
#pragma once

#include <workload/cache/private_text.hpp>

namespace holdfast::workload {

/// What does not change while a cache exists.
struct cache_shape {
    std::uint64_t limit_bytes;      ///< of a partition's items
    std::uint64_t bucket_mask;      ///< of a partition
    std::uint64_t value_bytes_max;
    std::uint64_t move_after_s;
    std::uint64_t counts_gets;      ///< 0: hits and misses of get are not counted
    std::uint64_t unique_step;      ///< how many partitions share the uniques
};

/// A new value: text that the caller gives, and perhaps the value of an item before or behind it.
struct cache_content {
    const char* given;
    const text_between* copied;  ///< the same text; nullptr: it is longer
    std::uint64_t given_bytes;
    const cache_item* kept;  ///< nullptr: none
    std::uint64_t kept_bytes;
    bool kept_first;

    std::uint64_t bytes() const noexcept { return given_bytes + kept_bytes; }
};

/// What an item has besides key and value.
struct cache_label {
    std::uint32_t flags;
    std::uint64_t expires_at;
};

/// All: inside a transaction. Thread safety: that of the transactions. `now_s` is the time in seconds.
template <access Access>
class cache_items {
public:
    cache_items(Access memory, cache_partition* here, const cache_shape& shape) noexcept
        : memory_(memory), here_(here), shape_(shape) {}

    const cache_shape& shape() const noexcept { return shape_; }

    /// The item of this key, or nullptr. One that is there no longer, because it expired or was flushed, is taken away
    /// and counted.
    cache_item* find(const key_in_block& key, std::uint64_t now_s) const {
        flush_if_due(now_s);
        cache_item* at = memory_.load(bucket_of(key.hash()));
        while (at != nullptr && !has_key(at, key)) at = memory_.load(&at->next);
        if (at == nullptr) return nullptr;
        std::uint64_t cache_statistics::* const why = why_gone(at, now_s);
        if (why == nullptr) return at;
        remove(at, why);
        return nullptr;
    }

    /// Takes the item away, for the reason that is counted.
    void remove(cache_item* item, std::uint64_t cache_statistics::* why) const {
        count(why);
        take_out(item);
    }

    /// Evicts from the oldest on, `most` items at most, until an item of `bytes` bytes in place of `item`, which may be
    /// nullptr, is within the limit. False: it evicted as many, and that is not enough.
    /// Requires: it is within the limit alone.
    bool make_room(std::uint64_t bytes, cache_item* item, std::uint64_t most, std::uint64_t now_s) const {
        const std::uint64_t before = item != nullptr ? bytes_of(item) : 0;
        if (bytes <= before) return true;
        // The item itself would be evicted last of all, and there is room before.
        if (item != nullptr) to_front(item, now_s);
        for (; memory_.load(&here_->counts.bytes) + (bytes - before) > shape_.limit_bytes; --most) {
            if (most == 0) return false;
            evict(memory_.load(&here_->oldest), now_s);
        }
        return true;
    }

    /// Evicts up to `most` items from the oldest on, but not `item`, which may be nullptr. How many.
    std::uint64_t evict_beside(cache_item* item, std::uint64_t most, std::uint64_t now_s) const {
        flush_if_due(now_s);
        if (item != nullptr) to_front(item, now_s);
        std::uint64_t evicted = 0;
        for (; evicted < most; ++evicted) {
            cache_item* const oldest = memory_.load(&here_->oldest);
            if (oldest == item) break;
            evict(oldest, now_s);
        }
        return evicted;
    }

    /// Stores a new value at the key: into the item if it has the right size, otherwise into a new one that replaces
    /// it. It is at the front of the list then. Requires: there is room. `item` is the key's, or nullptr.
    void put(const key_in_block& key, cache_item* item, const cache_content& content, const cache_label& label,
             std::uint64_t now_s) const {
        const std::uint64_t bytes = cache_item_bytes(key.bytes(), content.bytes());
        if (item != nullptr && bytes == bytes_of(item) && content.kept == nullptr) {
            memory_.will_write(item);
            to_front(item, now_s);
            if (memory_.load(&item->flags) != label.flags) memory_.store(&item->flags, label.flags);
            if (memory_.load(&item->expires_at) != label.expires_at) memory_.store(&item->expires_at, label.expires_at);
            if (memory_.load(&item->value_bytes) != content.bytes()) memory_.store(&item->value_bytes, content.bytes());
            fill(item, content, key.words());
            give_unique(item);
            return;
        }
        cache_item* const made = make(key, content, label, now_s);
        if (item != nullptr)
            take_out(item);
        else
            count(&cache_statistics::created);
        enter(made, key.hash(), bytes);
        give_unique(made);
    }

    cache_label label_of(const cache_item* item) const {
        return {memory_.load(&item->flags), memory_.load(&item->expires_at)};
    }

    /// The command uses the item: it comes to the front if it is time.
    void use(cache_item* item, std::uint64_t now_s) const {
        const std::uint64_t moved_s = memory_.load(&item->moved_at);
        // A thread whose clock is behind has nothing to move.
        if (now_s >= moved_s && now_s - moved_s >= shape_.move_after_s) to_front(item, now_s);
    }

    void to_front(cache_item* item, std::uint64_t now_s) const {
        if (memory_.load(&item->moved_at) != now_s) memory_.store(&item->moved_at, now_s);
        if (memory_.load(&here_->newest) == item) return;
        leave_list(item);
        enter_list(item);
    }

    void count(std::uint64_t cache_statistics::* what, std::uint64_t by = 1) const {
        std::uint64_t* const word = &(here_->counts.*what);
        memory_.store(word, memory_.load(word) + by);
    }

    /// All items of now are gone, at once or at a time; a flush that still waits is replaced.
    void flush(std::uint64_t at_s, std::uint64_t now_s) const {
        flush_if_due(now_s);
        memory_.will_write(here_);
        if (at_s <= now_s) memory_.store(&here_->flushed_through, memory_.load(&here_->unique));
        memory_.store(&here_->flush_at, at_s <= now_s ? 0 : at_s);
        count(&cache_statistics::flushes);
    }

    /// The words of an item's value.
    const std::uint64_t* value_of(const cache_item* item) const {
        return words_of(item) + detail::words_of(memory_.load(&item->key_bytes));
    }

    std::uint64_t bytes_of(const cache_item* item) const {
        return cache_item_bytes(memory_.load(&item->key_bytes), memory_.load(&item->value_bytes));
    }

    /// Where items of this hash are.
    cache_item** bucket_of(std::uint64_t hash) const {
        // The lowest bits have chosen the partition.
        return memory_.load(&here_->buckets) + ((hash >> 8) & shape_.bucket_mask);
    }

    /// The words of its key, and then of its value.
    static const std::uint64_t* words_of(const cache_item* item) noexcept {
        return reinterpret_cast<const std::uint64_t*>(item + 1);
    }
    static std::uint64_t* words_of(cache_item* item) noexcept { return reinterpret_cast<std::uint64_t*>(item + 1); }

private:
    void evict(cache_item* oldest, std::uint64_t now_s) const {
        std::uint64_t cache_statistics::* const why = why_gone(oldest, now_s);
        remove(oldest, why != nullptr ? why : &cache_statistics::evictions);
    }

    /// A delayed flush_all takes what is there when its time has come; whoever comes first afterwards finds out.
    void flush_if_due(std::uint64_t now_s) const {
        const std::uint64_t at_s = memory_.load(&here_->flush_at);
        if (at_s == 0 || at_s > now_s) return;
        memory_.will_write(here_);
        memory_.store(&here_->flushed_through, memory_.load(&here_->unique));
        memory_.store(&here_->flush_at, 0);
    }

    /// What counts an item that is there no longer; nullptr for one that is.
    std::uint64_t cache_statistics::* why_gone(const cache_item* item, std::uint64_t now_s) const {
        if (memory_.load(&item->unique) <= memory_.load(&here_->flushed_through)) return &cache_statistics::flushed;
        const std::uint64_t expires_at = memory_.load(&item->expires_at);
        if (expires_at <= now_s && expires_at != cache_never_s) return &cache_statistics::expired;
        return nullptr;
    }

    bool has_key(const cache_item* item, const key_in_block& key) const {
        if (memory_.load(&item->hash) != key.hash() || memory_.load(&item->key_bytes) != key.bytes()) return false;
        for (std::uint64_t i = 0; i < key.words(); ++i)
            if (memory_.load(words_of(item) + i) != key.word(i)) return false;
        return true;
    }

    /// An item in neither index nor list, without a unique.
    cache_item* make(const key_in_block& key, const cache_content& content, const cache_label& label,
                     std::uint64_t now_s) const {
        auto* const made =
            static_cast<cache_item*>(memory_.allocate(cache_item_bytes(key.bytes(), content.bytes())));
        memory_.will_write(made);
        memory_.store(&made->hash, key.hash());
        memory_.store(&made->expires_at, label.expires_at);
        memory_.store(&made->moved_at, now_s);
        memory_.store(&made->value_bytes, content.bytes());
        memory_.store(&made->key_bytes, static_cast<std::uint32_t>(key.bytes()));
        memory_.store(&made->flags, label.flags);
        for (std::uint64_t i = 0; i < key.words(); ++i) memory_.store(words_of(made) + i, key.word(i));
        fill(made, content, key.words());
        return made;
    }

    void fill(cache_item* item, const cache_content& content, std::uint64_t key_words) const {
        std::uint64_t* const first = words_of(item) + key_words;
        const std::uint64_t words = detail::words_of(content.bytes());
        if (content.kept == nullptr && content.copied != nullptr) {
            const text_between* const from = content.copied;
            for (std::uint64_t i = 0; i < words; ++i) memory_.store(first + i, text_between::word(from, i));
            return;
        }
        for (std::uint64_t i = 0; i < words; ++i) memory_.store(first + i, joined_word(content, i));
    }

    /// Word `i` of both texts of the content in their order.
    std::uint64_t joined_word(const cache_content& content, std::uint64_t i) const {
        const bool kept_first = content.kept_first;
        const std::uint64_t front = kept_first ? content.kept_bytes : content.given_bytes;
        const std::uint64_t whole = front / 8, bits = 8 * (front % 8);
        std::uint64_t word = i < detail::words_of(front) ? part_word(content, kept_first, i) : 0;
        if (i < whole) return word;
        word |= part_word(content, !kept_first, i - whole) << bits;
        if (bits != 0 && i > whole) word |= part_word(content, !kept_first, i - whole - 1) >> (64 - bits);
        return word;
    }

    /// Word `i` of one of the texts; 0 behind its end.
    std::uint64_t part_word(const cache_content& content, bool kept, std::uint64_t i) const {
        if (kept) return i < detail::words_of(content.kept_bytes) ? memory_.load(value_of(content.kept) + i) : 0;
        if (content.copied == nullptr) return detail::text_word(content.given, content.given_bytes, i);
        return i < detail::words_of(content.given_bytes) ? text_between::word(content.copied, i) : 0;
    }

    void give_unique(cache_item* item) const {
        const std::uint64_t unique = memory_.load(&here_->unique) + shape_.unique_step;
        memory_.store(&here_->unique, unique);
        memory_.store(&item->unique, unique);
    }

    void enter(cache_item* item, std::uint64_t hash, std::uint64_t bytes) const {
        cache_item** const bucket = bucket_of(hash);
        memory_.will_write(bucket);
        memory_.store(&item->next, memory_.load(bucket));
        memory_.store(bucket, item);
        memory_.will_write(here_);
        enter_list(item);
        count(&cache_statistics::items);
        count(&cache_statistics::bytes, bytes);
    }

    void take_out(cache_item* item) const {
        leave_bucket(item);
        leave_list(item);
        count(&cache_statistics::items, ~std::uint64_t{0});
        count(&cache_statistics::bytes, 0 - bytes_of(item));
        memory_.free(item);
    }

    void leave_bucket(cache_item* item) const {
        cache_item** link = bucket_of(memory_.load(&item->hash));
        for (cache_item* at = memory_.load(link); at != item; at = memory_.load(link)) link = &at->next;
        memory_.store(link, memory_.load(&item->next));
    }

    void enter_list(cache_item* item) const {
        cache_item* const second = memory_.load(&here_->newest);
        memory_.store(&item->newer, nullptr);
        memory_.store(&item->older, second);
        memory_.store(second != nullptr ? &second->newer : &here_->oldest, item);
        memory_.store(&here_->newest, item);
    }

    void leave_list(cache_item* item) const {
        cache_item* const newer = memory_.load(&item->newer);
        cache_item* const older = memory_.load(&item->older);
        memory_.store(newer != nullptr ? &newer->older : &here_->newest, older);
        memory_.store(older != nullptr ? &older->newer : &here_->oldest, newer);
    }

    Access memory_;
    cache_partition* here_;
    cache_shape shape_;  ///< a copy, which transactions load without barriers
};

}  // namespace holdfast::workload
