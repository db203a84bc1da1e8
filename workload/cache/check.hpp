// Whether a cache is sound, for tests and after a recovery.
#pragma once

#include <workload/cache/cache.hpp>

namespace holdfast::workload {

/// The invariants of every partition: each item is in the bucket of its key and in the list, once; counts and bytes are
/// those of the items; the limit is kept; what was created is there or was counted when it went. `count` is the number
/// of items. It computes hashes from the keys, and does not trust those that are kept.
/// Requires: while no other thread uses the cache; inside a transaction where the Access loads only there. It ends,
/// whatever is in it, if its pointers are sound.
template <access Access>
class cache_check {
public:
    cache_check(Access memory, const cache<Access>& whole) noexcept : memory_(memory), whole_(whole) {}

    check_report run() const {
        check_report report;
        if (!whole_.exists()) return report;
        for (std::uint64_t i = 0; i < whole_.partitions() && report.ok(); ++i) {
            std::uint64_t found = 0;
            report.problem = problem_of(i, found);
            report.count += found;
        }
        return report;
    }

private:
    const char* problem_of(std::uint64_t number, std::uint64_t& found) const {
        const cache_partition* const here = whole_.partition(number);
        const std::uint64_t items = memory_.load(&here->counts.items);
        std::uint64_t bytes = 0;
        if (const char* problem = list_problem(number, items, bytes)) return problem;
        if (bytes != memory_.load(&here->counts.bytes)) return "the bytes are not those of the items";
        if (bytes > whole_.shape().limit_bytes) return "the items are larger than the limit";
        if (const char* problem = index_problem(number, items, found)) return problem;
        const auto of = [&](std::uint64_t cache_statistics::* count) { return memory_.load(&(here->counts.*count)); };
        if (of(&cache_statistics::created) != items + of(&cache_statistics::deletes) +
                                                  of(&cache_statistics::evictions) + of(&cache_statistics::expired) +
                                                  of(&cache_statistics::flushed))
            return "the counts do not say where all items are";
        return nullptr;
    }

    /// The list has the counted number of items, in both directions, and each is in the index.
    const char* list_problem(std::uint64_t number, std::uint64_t items, std::uint64_t& bytes) const {
        const cache_partition* const here = whole_.partition(number);
        const cache_item* newer = nullptr;
        std::uint64_t seen = 0;
        for (const cache_item* at = memory_.load(&here->newest); at != nullptr; at = memory_.load(&at->older)) {
            if (++seen > items) return "more items in the list than counted, or a cycle";
            if (memory_.load(&at->newer) != newer) return "the list is another one backwards";
            if (memory_.load(&at->unique) > memory_.load(&here->unique)) return "an item has a unique never given";
            if (memory_.load(&at->unique) % whole_.partitions() != number) return "an item has another one's unique";
            if (!is_in_index(number, at, items)) return "an item is in the list and not in the index";
            bytes += cache_item_bytes(memory_.load(&at->key_bytes), memory_.load(&at->value_bytes));
            newer = at;
        }
        if (memory_.load(&here->oldest) != newer) return "the list ends elsewhere than at the oldest";
        return seen == items ? nullptr : "fewer items in the list than counted";
    }

    /// As many items in the buckets, each where its key says, and none twice.
    const char* index_problem(std::uint64_t number, std::uint64_t items, std::uint64_t& found) const {
        for (std::uint64_t i = 0; i <= whole_.shape().bucket_mask; ++i)
            for (const cache_item* at = first_in(number, i); at != nullptr; at = memory_.load(&at->next))
                if (++found > items) return "more items in the index than counted, or a cycle";
        if (found != items) return "fewer items in the index than counted";
        for (std::uint64_t i = 0; i <= whole_.shape().bucket_mask; ++i)
            for (const cache_item* at = first_in(number, i); at != nullptr; at = memory_.load(&at->next))
                if (const char* problem = place_problem(number, i, at)) return problem;
        return nullptr;
    }

    const cache_item* first_in(std::uint64_t number, std::uint64_t bucket) const {
        cache_item* const* const buckets = memory_.load(&whole_.partition(number)->buckets);
        return memory_.load(buckets + bucket);
    }

    const char* place_problem(std::uint64_t number, std::uint64_t bucket, const cache_item* item) const {
        const std::uint64_t hash = hash_of(item);
        if (hash != memory_.load(&item->hash)) return "an item's hash is not that of its key";
        if ((hash & (whole_.partitions() - 1)) != number) return "an item is in the wrong partition";
        if (((hash >> 8) & whole_.shape().bucket_mask) != bucket) return "an item is in the wrong bucket";
        for (const cache_item* at = memory_.load(&item->next); at != nullptr; at = memory_.load(&at->next))
            if (is_same_key(item, at)) return "a key is there twice";
        return nullptr;
    }

    bool is_in_index(std::uint64_t number, const cache_item* item, std::uint64_t items) const {
        const cache_item* at = first_in(number, (hash_of(item) >> 8) & whole_.shape().bucket_mask);
        for (std::uint64_t seen = 0; at != nullptr && at != item && seen < items; ++seen) at = memory_.load(&at->next);
        return at == item;
    }

    bool is_same_key(const cache_item* one, const cache_item* other) const {
        const std::uint64_t bytes = memory_.load(&one->key_bytes);
        if (bytes != memory_.load(&other->key_bytes)) return false;
        for (std::uint64_t i = 0; i < detail::words_of(bytes); ++i)
            if (memory_.load(cache_items<Access>::words_of(one) + i) !=
                memory_.load(cache_items<Access>::words_of(other) + i))
                return false;
        return true;
    }

    std::uint64_t hash_of(const cache_item* item) const {
        std::uint64_t hash = cache_key::hash_seed;
        for (std::uint64_t i = 0; i < detail::words_of(memory_.load(&item->key_bytes)); ++i)
            hash = cache_key::next_hash(hash, memory_.load(cache_items<Access>::words_of(item) + i));
        return hash;
    }

    Access memory_;
    const cache<Access>& whole_;
};

}  // namespace holdfast::workload
