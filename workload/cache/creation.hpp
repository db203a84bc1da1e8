// Making a cache and taking it away, in steps that are short transactions.
#pragma once

#include <workload/cache/items.hpp>

namespace holdfast::workload {

/// What a cache is created with.
struct cache_settings {
    std::uint64_t limit_bytes = 64 << 20;      ///< of all items (cache_item_bytes); the index comes on top
    std::uint64_t partitions = 1;              ///< a power of two, at most 64
    std::uint64_t buckets = 0;                 ///< of all partitions, rounded up; 0: one for 128 bytes of the limit
    std::uint64_t value_bytes_max = 1 << 20;   ///< of one value
    std::uint64_t move_after_s = 60;           ///< items.hpp says what this is
    bool counts_gets = true;                   ///< a get that hits is then a transaction with a store
};

inline constexpr std::uint64_t cache_partitions_max = 64;
inline constexpr std::uint64_t cache_bytes_possible = std::uint64_t{1} << 40;

/// Whether a cache can be created with them: none is out of range.
constexpr bool are_possible(const cache_settings& settings) noexcept {
    const std::uint64_t count = settings.partitions;
    return count != 0 && count <= cache_partitions_max && (count & (count - 1)) == 0 &&
           settings.value_bytes_max <= cache_bytes_possible && settings.limit_bytes <= cache_bytes_possible &&
           settings.buckets <= cache_bytes_possible;
}

/// The persistent part. All zero is a cache that was not created.
struct cache_root {
    cache_partition* partitions;
    std::uint64_t partition_count;  ///< a power of two
    std::uint64_t is_complete;      ///< 0: its creation has not ended
    cache_shape shape;
};

/// Outside transactions. One thread, while no other uses the cache.
template <access Access>
class cache_creation {
public:
    cache_creation(Access memory, cache_root* root) noexcept : memory_(memory), root_(root) {}

    /// Makes an empty cache. What an earlier creation, in which the process died, has left is taken away. False when a
    /// transaction failed, the settings are out of range, or there is a cache. If the process dies inside, there is
    /// none.
    bool create(const cache_settings& settings) const {
        if (!are_possible(settings) || look(&root_->is_complete) != 0) return false;
        const std::uint64_t count = settings.partitions;
        const std::uint64_t buckets = settings.buckets != 0 ? settings.buckets : settings.limit_bytes / 128;
        std::uint64_t each = 1;
        while (each * count < buckets) each *= 2;
        bool good = dispose() && make_partitions({settings.limit_bytes / count, each - 1, settings.value_bytes_max,
                                                  settings.move_after_s, settings.counts_gets ? 1u : 0u, count});
        cache_partition* const first = look(&root_->partitions);
        for (std::uint64_t i = 0; good && i < count; ++i) good = make_buckets(first + i, each);
        return good && memory_.atomically([&] { memory_.store(&root_->is_complete, 1); });
    }

    /// Takes everything away: the root is all zero. False when a transaction failed. After that, and if the process
    /// died inside, there is no cache, and dispose or create take away what is left.
    bool dispose() const {
        cache_shape shape{};
        cache_partition* first = nullptr;
        std::uint64_t count = 0;
        bool good = memory_.atomically([&] {
            memory_.store(&root_->is_complete, 0);
            copy_shape(memory_, root_, shape);
            first = memory_.load(&root_->partitions);
            count = memory_.load(&root_->partition_count);
        });
        for (std::uint64_t i = 0; good && i < count; ++i) good = empty(first + i, shape);
        return good && memory_.atomically([&] {
            if (first != nullptr) memory_.free(first);
            store_shape(nullptr, 0, cache_shape{});
        });
    }

    /// Inside a transaction.
    static void copy_shape(const Access& memory, const cache_root* root, cache_shape& to) {
        const cache_shape& from = root->shape;
        to.limit_bytes = memory.load(&from.limit_bytes);
        to.bucket_mask = memory.load(&from.bucket_mask);
        to.value_bytes_max = memory.load(&from.value_bytes_max);
        to.move_after_s = memory.load(&from.move_after_s);
        to.counts_gets = memory.load(&from.counts_gets);
        to.unique_step = memory.load(&from.unique_step);
    }

private:
    static constexpr std::uint64_t words_at_once = 4096;
    static constexpr std::uint64_t items_at_once = 64;

    template <class T>
    T look(const T* home) const {
        T found{};
        static_cast<void>(memory_.atomically([&] { found = memory_.load(home); }));
        return found;
    }

    bool make_partitions(const cache_shape& shape) const {
        const std::uint64_t count = shape.unique_step;
        return memory_.atomically([&] {
            auto* const words = static_cast<std::uint64_t*>(memory_.allocate(count * sizeof(cache_partition)));
            for (std::uint64_t i = 0; i < count * sizeof(cache_partition) / 8; ++i) memory_.store(words + i, 0);
            auto* const first = reinterpret_cast<cache_partition*>(words);
            for (std::uint64_t i = 1; i < count; ++i) memory_.store(&first[i].unique, i);
            store_shape(first, count, shape);
        });
    }

    void store_shape(cache_partition* first, std::uint64_t count, const cache_shape& shape) const {
        memory_.will_write(root_);
        memory_.store(&root_->partitions, first);
        memory_.store(&root_->partition_count, count);
        memory_.store(&root_->shape.limit_bytes, shape.limit_bytes);
        memory_.store(&root_->shape.bucket_mask, shape.bucket_mask);
        memory_.store(&root_->shape.value_bytes_max, shape.value_bytes_max);
        memory_.store(&root_->shape.move_after_s, shape.move_after_s);
        memory_.store(&root_->shape.counts_gets, shape.counts_gets);
        memory_.store(&root_->shape.unique_step, shape.unique_step);
    }

    bool make_buckets(cache_partition* partition, std::uint64_t count) const {
        cache_item** table = nullptr;
        bool good = memory_.atomically([&] {
            table = static_cast<cache_item**>(memory_.allocate(count * sizeof(cache_item*)));
            memory_.store(&partition->buckets, table);
        });
        for (std::uint64_t first = 0; good && first < count; first += words_at_once) {
            const std::uint64_t last = count - first < words_at_once ? count : first + words_at_once;
            good = memory_.atomically([&] {
                for (std::uint64_t i = first; i < last; ++i) memory_.store(table + i, nullptr);
            });
        }
        return good;
    }

    /// A partition whose creation had not ended has no items.
    bool empty(cache_partition* partition, const cache_shape& shape) const {
        const cache_items<Access> items(memory_, partition, shape);
        bool good = true;
        bool is_empty = false;
        while (good && !is_empty) {
            good = memory_.atomically([&] {
                is_empty = false;
                for (std::uint64_t i = 0; i < items_at_once && !is_empty; ++i) {
                    cache_item* const oldest = memory_.load(&partition->oldest);
                    is_empty = oldest == nullptr;
                    if (!is_empty) items.remove(oldest, &cache_statistics::deletes);
                }
            });
        }
        return good && memory_.atomically([&] {
            cache_item** const table = memory_.load(&partition->buckets);
            if (table == nullptr) return;
            memory_.store(&partition->buckets, nullptr);
            memory_.free(table);
        });
    }

    Access memory_;
    cache_root* root_;
};

}  // namespace holdfast::workload
