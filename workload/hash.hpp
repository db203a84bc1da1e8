// A chained hash table with a fixed number of buckets.
#pragma once

#include <workload/access.hpp>
#include <workload/prefill.hpp>
#include <workload/random.hpp>

namespace holdfast::workload {

struct hash_node {
    std::int64_t key;
    std::int64_t value;
    hash_node* next;
};

/// The persistent part. All zero is a table of no buckets, which create() makes usable.
struct hash_root {
    hash_node** buckets;
    std::uint64_t bucket_count;  ///< a power of two
    std::uint64_t count;
};

/// The same without the count, in which all changes would meet: for threads that share a table.
struct hash_uncounted_root {
    hash_node** buckets;
    std::uint64_t bucket_count;  ///< a power of two
};

/// A map from 64-bit keys to 64-bit values.
///
/// insert adds a key that is absent, update changes the value of one that is present, remove takes
/// one away; each returns whether it did, and does nothing otherwise. get looks.
/// All but get, each, check, create and prefill: inside a transaction. Thread safety: none.
template <access Access, class Root = hash_root>
class hash_table {
    static constexpr bool counted = requires(Root* root) { root->count; };

public:
    hash_table(Access memory, Root* root) noexcept : memory_(memory), root_(root) {}

    /// Makes at least `buckets` empty buckets, in transactions of its own.
    /// Requires: outside a transaction; the root all zero. False when a transaction failed.
    /// If the process dies inside, the table still has no buckets: make the pool anew.
    bool create(std::uint64_t buckets) const {
        std::uint64_t rounded = 1;
        while (rounded < buckets) rounded *= 2;
        hash_node** table = nullptr;
        bool good = memory_.atomically([&] {
            table = static_cast<hash_node**>(memory_.allocate(rounded * sizeof(hash_node*)));
            memory_.store(&root_->buckets, table);
        });
        constexpr std::uint64_t batch = 4096;
        for (std::uint64_t first = 0; good && first < rounded; first += batch) {
            const std::uint64_t last = rounded - first < batch ? rounded : first + batch;
            good = memory_.atomically([&] {
                for (std::uint64_t i = first; i < last; ++i) memory_.store(table + i, nullptr);
            });
        }
        return good && memory_.atomically([&] { memory_.store(&root_->bucket_count, rounded); });
    }

    /// Fills it as prefill_map does.
    bool prefill(std::uint64_t first, std::uint64_t count, std::uint64_t batch = 128) const {
        return prefill_map(memory_, *this, first, count, batch);
    }

    bool insert(std::int64_t key, std::int64_t value) const {
        hash_node** const bucket = bucket_of(key);
        if (find(bucket, key) != nullptr) return false;
        auto* made = static_cast<hash_node*>(memory_.allocate(sizeof(hash_node)));
        memory_.will_write(made);
        memory_.will_write(bucket);
        will_count();
        memory_.store(&made->key, key);
        memory_.store(&made->value, value);
        memory_.store(&made->next, memory_.load(bucket));
        memory_.store(bucket, made);
        if constexpr (counted) memory_.store(&root_->count, count() + 1);
        return true;
    }

    bool update(std::int64_t key, std::int64_t value) const {
        hash_node* const found = find(bucket_of(key), key);
        if (found == nullptr) return false;
        memory_.store(&found->value, value);
        return true;
    }

    bool remove(std::int64_t key) const {
        hash_node** link = bucket_of(key);
        hash_node* at = memory_.load(link);
        while (at != nullptr && memory_.load(&at->key) != key) {
            link = &at->next;
            at = memory_.load(link);
        }
        if (at == nullptr) return false;
        memory_.will_write(link);
        will_count();
        memory_.store(link, memory_.load(&at->next));
        if constexpr (counted) memory_.store(&root_->count, count() - 1);
        memory_.free(at);
        return true;
    }

    bool get(std::int64_t key, std::int64_t& value) const {
        const hash_node* const found = find(bucket_of(key), key);
        if (found != nullptr) value = memory_.load(&found->value);
        return found != nullptr;
    }

    std::uint64_t count() const
        requires counted
    {
        return memory_.load(&root_->count);
    }
    std::uint64_t buckets() const { return memory_.load(&root_->bucket_count); }

    /// Calls f(key, value) for each entry of the buckets from `first` to before `last`. f may not change the table.
    template <class F>
    void each(std::uint64_t first, std::uint64_t last, F&& f) const {
        hash_node* const* const table = memory_.load(&root_->buckets);
        for (std::uint64_t i = first; i < last; ++i)
            for (const hash_node* at = memory_.load(table + i); at != nullptr; at = memory_.load(&at->next))
                f(memory_.load(&at->key), memory_.load(&at->value));
    }

    /// Takes away all entries of the buckets from `first` to before `last`.
    void clear(std::uint64_t first, std::uint64_t last) const {
        hash_node** const table = memory_.load(&root_->buckets);
        for (std::uint64_t i = first; i < last; ++i) {
            while (hash_node* const at = memory_.load(table + i)) {
                memory_.store(table + i, memory_.load(&at->next));
                memory_.free(at);
                if constexpr (counted) memory_.store(&root_->count, count() - 1);
            }
        }
    }

    /// Takes the buckets away: the root is all zero. Requires: inside a transaction; no entries.
    void dispose() const {
        hash_node** const table = memory_.load(&root_->buckets);
        if (table == nullptr) return;
        memory_.will_write(root_);
        memory_.store(&root_->buckets, nullptr);
        memory_.store(&root_->bucket_count, 0);
        memory_.free(table);
    }

    /// Every node in its bucket, and as many as counted where there is a count.
    check_report check() const {
        check_report report;
        const std::uint64_t buckets = memory_.load(&root_->bucket_count);
        hash_node* const* const table = memory_.load(&root_->buckets);
        for (std::uint64_t i = 0; i < buckets; ++i) {
            for (const hash_node* at = memory_.load(table + i); at != nullptr; at = memory_.load(&at->next)) {
                if (bucket_of(memory_.load(&at->key)) != table + i)
                    return report.problem = "a node is in the wrong bucket", report;
                ++report.count;
                if (!count_is([&](std::uint64_t all) { return report.count <= all; }))
                    return report.problem = "more nodes than counted, or a cycle", report;
            }
        }
        if (!count_is([&](std::uint64_t all) { return report.count == all; }))
            report.problem = "fewer nodes than counted";
        return report;
    }

private:
    void will_count() const {
        if constexpr (counted) memory_.will_write(&root_->count);
    }
    template <class F>
    bool count_is(F&& as_expected) const {
        if constexpr (counted) return as_expected(count());
        return true;
    }

    hash_node** bucket_of(std::int64_t key) const {
        auto mixed = static_cast<std::uint64_t>(key);
        const std::uint64_t mask = memory_.load(&root_->bucket_count) - 1;
        return memory_.load(&root_->buckets) + (splitmix(mixed) & mask);
    }

    hash_node* find(hash_node* const* bucket, std::int64_t key) const {
        hash_node* at = memory_.load(bucket);
        while (at != nullptr && memory_.load(&at->key) != key) at = memory_.load(&at->next);
        return at;
    }

    Access memory_;
    Root* root_;
};

}  // namespace holdfast::workload
