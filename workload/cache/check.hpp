// Whether a cache is sound, for tests and after a recovery.
#pragma once

#include <workload/cache/cache.hpp>

namespace holdfast::workload {

/// The invariants of every partition: each item is in the bucket of its key and in the list, once; counts and bytes are
/// those of the items; the limit is kept; what was created is there or was counted when it went. `count` is the number
/// of items.
/// Requires: while no other thread uses the cache. It ends, whatever is in it, if its pointers are sound.
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
        if (const char* problem = list_problem(here, items, bytes)) return problem;
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

    /// The list has the counted number of items, in both directions.
    const char* list_problem(const cache_partition* here, std::uint64_t items, std::uint64_t& bytes) const {
        const cache_item* newer = nullptr;
        std::uint64_t seen = 0;
        for (const cache_item* at = memory_.load(&here->newest); at != nullptr; at = memory_.load(&at->older)) {
            if (++seen > items) return "more items in the list than counted, or a cycle";
            if (memory_.load(&at->newer) != newer) return "the list is another one backwards";
            if (memory_.load(&at->unique) > memory_.load(&here->unique)) return "an item has a unique never given";
            bytes += cache_item_bytes(memory_.load(&at->key_bytes), memory_.load(&at->value_bytes));
            newer = at;
        }
        if (memory_.load(&here->oldest) != newer) return "the list ends elsewhere than at the oldest";
        return seen == items ? nullptr : "fewer items in the list than counted";
    }

    /// As many items in the buckets, each where its key says, and none twice.
    const char* index_problem(std::uint64_t number, std::uint64_t items, std::uint64_t& found) const {
        cache_item* const* const buckets = memory_.load(&whole_.partition(number)->buckets);
        for (std::uint64_t i = 0; i <= whole_.shape().bucket_mask; ++i) {
            for (const cache_item* at = memory_.load(buckets + i); at != nullptr; at = memory_.load(&at->next)) {
                if (++found > items) return "more items in the index than counted, or a cycle";
                const std::uint64_t hash = hash_of(at);
                if (hash != memory_.load(&at->hash)) return "an item's hash is not that of its key";
                if ((hash & (whole_.partitions() - 1)) != number) return "an item is in the wrong partition";
                if (((hash >> 8) & whole_.shape().bucket_mask) != i) return "an item is in the wrong bucket";
                for (const cache_item* later = memory_.load(&at->next); later != nullptr && later != at;
                     later = memory_.load(&later->next))
                    if (memory_.load(&later->hash) == hash) return "a key is there twice";
            }
        }
        return found == items ? nullptr : "fewer items in the index than counted";
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
