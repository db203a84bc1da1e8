// A key-value cache with the commands of memcached, from its published description of the text protocol; no protocol is
// here. It is in the memory of its Access, and persistent if that is.
//
// A cache has partitions that share nothing. A key belongs to one of them, by its hash; the memory limit is divided
// among them. A command is one transaction in its key's partition. Commands of different partitions do not meet, and
// those of one do, in its counts. With one partition, eviction is by the order of use in the whole cache.
//
// What commands cost in stores (commands_test.cpp counts them): a get that hits, one, its count; none if gets are not
// counted. A get that also moves its item, seven more. A set of a value of the same length, four and one for each 8
// bytes; six more if the item is not at the front already.
#pragma once

#include <workload/cache/creation.hpp>

namespace holdfast::workload {

/// What a command did. Where a text protocol has the same answer, it has the same name.
enum class cache_answer {
    stored,
    not_stored,    ///< add: it was there; replace, append, prepend: it was not
    exists,        ///< cas: somebody has changed the value since
    not_found,
    found,
    deleted,
    touched,
    not_a_number,  ///< increment, decrement: the value is not a decimal number below 2^64
    bad_key,
    too_large,     ///< the value is longer than allowed, or would have no room in an empty partition
    failed,        ///< the transaction failed, as when the Access had no memory; the command did nothing but evict
};

/// A value that a command stores. `lifetime_s`: 0, it never expires; up to 30 days, seconds from now on; more, a time;
/// negative, it has expired at once. append and prepend use only the text.
struct cache_entry {
    const char* text;
    std::uint64_t bytes;
    std::uint32_t flags = 0;
    std::int64_t lifetime_s = 0;
};

/// Where get puts what it finds. A value longer than `room` is cut; `bytes` says how long it is. What is not found
/// changes nothing.
struct cache_found {
    char* text;
    std::uint64_t room;
    std::uint64_t bytes = 0;
    std::uint32_t flags = 0;
    std::uint64_t unique = 0;  ///< for cas
};

/// The commands. `now_s` is the time in seconds, which the caller passes in: at any scale, from any start, never
/// backwards by more than clocks of threads differ. A lifetime that is a time is on the same scale.
///
/// Every command is one transaction, with what it evicts and counts. There is one exception: where a transaction with
/// all its evictions fails, as when an engine's log cannot hold it, the command evicts in transactions of
/// `evicted_in_step` items before its own.
///
/// Thread safety: that of the Access's transactions; one cache object may be used by all threads. An Access that leaves
/// isolation to locks needs one around all commands. What a command calls runs in a transaction that is open already,
/// if there is one.
/// What holds if the process dies inside a command, and the Access is persistent: it has happened, with its evictions
/// and counts, or nothing of it has; of the exception above, some steps have.
template <access Access>
class cache {
public:
    static constexpr std::int64_t longest_relative_lifetime_s = 30 * 24 * 60 * 60;
    static constexpr std::uint64_t evicted_in_step = 32;

    /// Requires: the root is all zero or a cache's.
    cache(Access memory, cache_root* root) noexcept : memory_(memory), root_(root) { look(); }

    /// The same cache through another copy of the Access, without a look at the memory.
    cache with(Access memory) const noexcept {
        cache same(*this);
        same.memory_ = memory;
        return same;
    }

    /// Whether it was created completely; commands require it.
    bool exists() const noexcept { return mask_ != no_mask; }

    /// As cache_creation has it; this object has the new cache then, and others are to be made anew.
    bool create(const cache_settings& settings) {
        const bool good = cache_creation<Access>(memory_, root_).create(settings);
        look();
        return good;
    }
    /// As cache_creation has it.
    bool dispose() {
        const bool good = cache_creation<Access>(memory_, root_).dispose();
        look();
        return good;
    }

    /// get and gets: found or not_found.
    cache_answer get(const cache_key& key, std::uint64_t now_s, cache_found& found) const {
        return get(key, now_s, found, [](std::uint64_t) {});
    }
    /// The same for a caller who does not know how long the value is: before it is read, make_room(bytes) may give
    /// `found` other text and room. It runs inside the transaction, as often as that.
    template <class F>
    cache_answer get(const cache_key& key, std::uint64_t now_s, cache_found& found, F&& make_room) const {
        value_between between;
        const cache_answer answer =
            command(key, [this, now_s, &found, &make_room, between = &between](const items_type& items,
                                                                             const key_in_block& own) {
                cache_item* const item = items.find(own, now_s);
                if (items.shape().counts_gets != 0)
                    items.count(item != nullptr ? &cache_statistics::get_hits : &cache_statistics::get_misses);
                if (item == nullptr) return cache_answer::not_found;
                const std::uint64_t bytes = memory_.load(&item->value_bytes);
                make_room(bytes);
                read(items.value_of(item), bytes, between, found);
                value_between::note(between, bytes, memory_.load(&item->unique), memory_.load(&item->flags));
                items.use(item, now_s);
                return cache_answer::found;
            });
        if (answer != cache_answer::found) return answer;
        found.bytes = between.bytes;
        found.flags = between.flags;
        found.unique = between.unique;
        if (text_between::has_room_for(found.bytes)) between.text.give(found.text, room_for(found.bytes, found));
        return answer;
    }

    /// Stores it, whether the key is there or not.
    cache_answer set(const cache_key& key, const cache_entry& entry, std::uint64_t now_s) const {
        return store(rule::always, key, entry, now_s);
    }
    /// Stores it if the key is not there.
    cache_answer add(const cache_key& key, const cache_entry& entry, std::uint64_t now_s) const {
        return store(rule::if_absent, key, entry, now_s);
    }
    /// Stores it if the key is there.
    cache_answer replace(const cache_key& key, const cache_entry& entry, std::uint64_t now_s) const {
        return store(rule::if_present, key, entry, now_s);
    }
    /// Puts the text behind the value that is there; flags and lifetime remain.
    cache_answer append(const cache_key& key, const cache_entry& entry, std::uint64_t now_s) const {
        return store(rule::behind, key, entry, now_s);
    }
    /// Puts the text before the value that is there; flags and lifetime remain.
    cache_answer prepend(const cache_key& key, const cache_entry& entry, std::uint64_t now_s) const {
        return store(rule::before, key, entry, now_s);
    }
    /// Stores it if the value is still the one of which get said `unique`.
    cache_answer cas(const cache_key& key, const cache_entry& entry, std::uint64_t unique, std::uint64_t now_s) const {
        return store(rule::if_unique, key, entry, now_s, unique);
    }

    /// Adds to a decimal number below 2^64, modulo 2^64. `result` is the sum, if the answer is stored. Flags and
    /// lifetime remain.
    cache_answer increment(const cache_key& key, std::uint64_t by, std::uint64_t now_s, std::uint64_t& result) const {
        return calculate(false, key, by, now_s, result);
    }
    /// Subtracts; the result is not below 0.
    cache_answer decrement(const cache_key& key, std::uint64_t by, std::uint64_t now_s, std::uint64_t& result) const {
        return calculate(true, key, by, now_s, result);
    }

    /// deleted or not_found. ("delete" is a word of the language.)
    cache_answer remove(const cache_key& key, std::uint64_t now_s) const {
        return command(key, [now_s](const items_type& items, const key_in_block& own) {
            cache_item* const item = items.find(own, now_s);
            if (item != nullptr) {
                items.remove(item, &cache_statistics::deletes);
                return cache_answer::deleted;
            }
            items.count(&cache_statistics::delete_misses);
            return cache_answer::not_found;
        });
    }

    /// Gives the item another lifetime: touched or not_found.
    cache_answer touch(const cache_key& key, std::int64_t lifetime_s, std::uint64_t now_s) const {
        const std::uint64_t expires_at = expiry(lifetime_s, now_s);
        return command(key, [this, now_s, expires_at](const items_type& items, const key_in_block& own) {
            cache_item* const item = items.find(own, now_s);
            items.count(item != nullptr ? &cache_statistics::touches : &cache_statistics::touch_misses);
            if (item == nullptr) return cache_answer::not_found;
            memory_.store(&item->expires_at, expires_at);
            items.use(item, now_s);
            return cache_answer::touched;
        });
    }

    /// Evicts some items of each partition, but not that of the key: for a caller whose memory has no room although the
    /// limit allows it. `evicted`: how many. False when a transaction failed.
    bool evict_beside(const cache_key& key, std::uint64_t now_s, std::uint64_t& evicted) const {
        evicted = 0;
        text_between words;
        words.take(key);
        const key_in_block own(key, words);
        for (std::uint64_t i = 0; i <= mask_; ++i) {
            const items_type items(memory_, first_ + i, shape_);
            std::uint64_t here = 0;
            if (!memory_.atomically([&] {
                    cache_item* const spared = i == partition_of(key) ? items.find(own, now_s) : nullptr;
                    here = items.evict_beside(spared, evicted_in_step, now_s);
                }))
                return false;
            evicted += here;
        }
        return true;
    }

    /// All items of now are gone, at once, or those of then when `delay_s` seconds have gone by (above 30 days: at that
    /// time; negative: at once). A flush that still waits is replaced. Their memory is given back as they are met.
    /// False when the transaction failed.
    bool flush_all(std::int64_t delay_s, std::uint64_t now_s) const {
        const std::uint64_t at_s = delay_s == 0 ? now_s : expiry(delay_s, now_s);
        return memory_.atomically([&] {
            for (std::uint64_t i = 0; i <= mask_; ++i) items_type(memory_, first_ + i, shape_).flush(at_s, now_s);
        });
    }

    /// All counts, of one moment. False when the transaction failed.
    bool statistics(cache_statistics& all) const {
        return memory_.atomically([&] {
            auto* const sums = reinterpret_cast<std::uint64_t*>(&all);
            for (std::uint64_t word = 0; word < cache_statistics_words; ++word) {
                sums[word] = 0;
                for (std::uint64_t i = 0; i <= mask_; ++i)
                    sums[word] += memory_.load(reinterpret_cast<const std::uint64_t*>(&first_[i].counts) + word);
            }
            all.flushes = memory_.load(&first_->counts.flushes);
        });
    }

    std::uint64_t partitions() const noexcept { return mask_ + 1; }
    /// To which partition a key belongs.
    std::uint64_t partition_of(const cache_key& key) const noexcept { return key.hash() & mask_; }
    const cache_partition* partition(std::uint64_t i) const noexcept { return first_ + i; }
    const cache_shape& shape() const noexcept { return shape_; }

private:
    using items_type = cache_items<Access>;
    enum class rule { always, if_absent, if_present, if_unique, behind, before };
    /// To store a value.
    struct cache_request {
        rule how;
        std::uint64_t now_s;
        std::uint64_t unique;
        cache_label label;
        const char* text;
        std::uint64_t bytes;
        const text_between* copied;  ///< as cache_content has it
    };

    static constexpr std::uint64_t no_mask = ~std::uint64_t{0};
    /// Of a transaction that has evicted as many as it may, and no caller's.
    static constexpr cache_answer no_room_yet{-1};
    static constexpr std::uint64_t digits_max = 20;  ///< of a number below 2^64

    /// Takes what never changes out of the root, so that commands load nothing shared for it.
    void look() {
        const bool looked = memory_.atomically([&] {
            const bool complete = memory_.load(&root_->is_complete) != 0;
            first_ = complete ? memory_.load(&root_->partitions) : nullptr;
            mask_ = complete ? memory_.load(&root_->partition_count) - 1 : no_mask;
            cache_creation<Access>::copy_shape(memory_, root_, shape_);
        });
        if (!looked) mask_ = no_mask;
    }

    /// What f(items, own key) answers, as a transaction. What f captures is copied, and loaded without barriers; so is
    /// the key, since an outer transaction may have stored to the caller's.
    template <class F>
    cache_answer command(const cache_key& key, F f) const {
        if (!key.valid()) return cache_answer::bad_key;
        text_between words;
        words.take(key);
        cache_answer answer = cache_answer::failed;
        const items_type items(memory_, first_ + partition_of(key), shape_);
        const bool good = memory_.atomically([&answer, f, items, own = key_in_block(key, words)] {
            answer = f(items, own);
        });
        return good ? answer : cache_answer::failed;
    }
    /// What f(items, own key, most) answers, which evicts `most` items at most.
    template <class F>
    cache_answer command_with_room(const cache_key& key, F f) const {
        std::uint64_t most = ~std::uint64_t{0};
        for (;;) {
            const cache_answer answer = command(key, [f, most](const items_type& items, const key_in_block& own) {
                return f(items, own, most);
            });
            if (answer != cache_answer::failed && answer != no_room_yet) return answer;
            if (answer == cache_answer::failed && most == evicted_in_step) return answer;
            if (answer == cache_answer::failed) most = evicted_in_step;
        }
    }

    static std::uint64_t expiry(std::int64_t lifetime_s, std::uint64_t now_s) noexcept {
        if (lifetime_s == 0) return cache_never_s;
        if (lifetime_s < 0) return 0;
        const auto seconds = static_cast<std::uint64_t>(lifetime_s);
        if (lifetime_s > longest_relative_lifetime_s) return seconds;
        return seconds < cache_never_s - now_s ? now_s + seconds : cache_never_s;
    }

    static std::uint64_t room_for(std::uint64_t bytes, const cache_found& found) noexcept {
        return bytes < found.room ? bytes : found.room;
    }
    /// A value of `bytes` bytes, on its way out or at once to where the caller wants it.
    void read(const std::uint64_t* value, std::uint64_t bytes, value_between* between, cache_found& found) const {
        if (text_between::has_room_for(bytes)) {
            for (std::uint64_t i = 0; i < detail::words_of(bytes); ++i)
                text_between::put_word(&between->text, i, memory_.load(value + i));
            return;
        }
        const std::uint64_t fits = room_for(bytes, found);
        for (std::uint64_t i = 0; i < detail::words_of(fits); ++i)
            detail::put_text_word(found.text, fits, i, memory_.load(value + i));
    }

    cache_answer store(rule how, const cache_key& key, const cache_entry& entry, std::uint64_t now_s,
                       std::uint64_t unique = 0) const {
        if (entry.bytes > shape_.value_bytes_max && key.valid()) return cache_answer::too_large;
        const cache_label given{entry.flags, expiry(entry.lifetime_s, now_s)};
        text_between copy;
        const bool is_copied = text_between::has_room_for(entry.bytes);
        if (is_copied) copy.take(entry.text, entry.bytes);
        const cache_request asked{how, now_s, unique, given, entry.text, entry.bytes, is_copied ? &copy : nullptr};
        return command_with_room(key, [this, asked](const items_type& items, const key_in_block& own,
                                                    std::uint64_t most) {
            return store_in_block(items, own, asked, most);
        });
    }
    /// Its parameters are copies: of them, too, nothing is loaded by a barrier.
    cache_answer store_in_block(const items_type items, const key_in_block own, const cache_request asked,
                                std::uint64_t most) const {
        cache_item* const item = items.find(own, asked.now_s);
        const cache_answer refusal = refuse(asked.how, items, item, asked.unique, asked.now_s);
        if (refusal != cache_answer::stored) return refusal;
        const bool joins = asked.how == rule::behind || asked.how == rule::before;
        const cache_content content{asked.text, asked.copied, asked.bytes, joins ? item : nullptr,
                                    joins ? memory_.load(&item->value_bytes) : 0, asked.how == rule::behind};
        if (!fits(items.shape(), own, content)) return cache_answer::too_large;
        if (!items.make_room(cache_item_bytes(own.bytes(), content.bytes()), item, most, asked.now_s))
            return no_room_yet;
        items.put(own, item, content, joins ? items.label_of(item) : asked.label, asked.now_s);
        items.count(&cache_statistics::stores);
        if (asked.how == rule::if_unique) items.count(&cache_statistics::cas_hits);
        return cache_answer::stored;
    }

    static bool fits(const cache_shape& shape, const key_in_block& key, const cache_content& content) noexcept {
        return content.bytes() <= shape.value_bytes_max &&
               cache_item_bytes(key.bytes(), content.bytes()) <= shape.limit_bytes;
    }

    /// Why the rule forbids to store; stored if it does not.
    cache_answer refuse(rule how, const items_type& items, cache_item* item, std::uint64_t unique,
                        std::uint64_t now_s) const {
        if (how == rule::always) return cache_answer::stored;
        if (how == rule::if_absent) {
            if (item == nullptr) return cache_answer::stored;
            items.use(item, now_s);
            return cache_answer::not_stored;
        }
        if (how != rule::if_unique) return item != nullptr ? cache_answer::stored : cache_answer::not_stored;
        if (item == nullptr) {
            items.count(&cache_statistics::cas_misses);
            return cache_answer::not_found;
        }
        if (memory_.load(&item->unique) == unique) return cache_answer::stored;
        items.count(&cache_statistics::cas_refusals);
        return cache_answer::exists;
    }

    cache_answer calculate(bool down, const cache_key& key, std::uint64_t by, std::uint64_t now_s,
                           std::uint64_t& result) const {
        return command_with_room(key, [this, down, by, now_s, &result](const items_type& items,
                                                                       const key_in_block& own, std::uint64_t most) {
            cache_item* const item = items.find(own, now_s);
            if (item == nullptr) {
                items.count(down ? &cache_statistics::decrement_misses : &cache_statistics::increment_misses);
                return cache_answer::not_found;
            }
            std::uint64_t number = 0;
            if (!read_number(items, item, number)) return cache_answer::not_a_number;
            number = !down ? number + by : number < by ? 0 : number - by;
            char digits[digits_max];
            const std::uint64_t first = print(number, digits);
            const cache_content content{digits + first, nullptr, digits_max - first, nullptr, 0, false};
            if (!fits(items.shape(), own, content)) return cache_answer::too_large;
            if (!items.make_room(cache_item_bytes(own.bytes(), content.bytes()), item, most, now_s))
                return no_room_yet;
            items.put(own, item, content, items.label_of(item), now_s);
            items.count(down ? &cache_statistics::decrements : &cache_statistics::increments);
            result = number;
            return cache_answer::stored;
        });
    }

    /// The item's value as a number. False if it is none.
    bool read_number(const items_type& items, const cache_item* item, std::uint64_t& number) const {
        const std::uint64_t bytes = memory_.load(&item->value_bytes);
        if (bytes == 0 || bytes > digits_max) return false;
        std::uint64_t sum = 0, word = 0;
        for (std::uint64_t i = 0; i < bytes; ++i) {
            if (i % 8 == 0) word = memory_.load(items.value_of(item) + i / 8);
            const std::uint64_t digit = ((word >> (8 * (i % 8))) & 0xFF) - '0';
            if (digit > 9 || sum > (~std::uint64_t{0} - digit) / 10) return false;
            sum = 10 * sum + digit;
        }
        number = sum;
        return true;
    }

    /// The number's digits at the end of `digits`. Returns where they begin.
    static std::uint64_t print(std::uint64_t number, char* digits) noexcept {
        std::uint64_t at = digits_max;
        do {
            digits[--at] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number != 0);
        return at;
    }

    Access memory_;
    cache_root* root_;
    cache_partition* first_ = nullptr;
    std::uint64_t mask_ = no_mask;
    cache_shape shape_{};
};

}  // namespace holdfast::workload
