// A chained hash table that grows and shrinks by a bucket at a time: linear hashing (W. Litwin, VLDB 1980). The
// hashmap examples of PMDK, which WHISPER measures, rebuild the whole table in a transaction; that of a table of the
// paper's size would be longer than the log.
#pragma once

#include <workload/access.hpp>
#include <workload/random.hpp>

namespace holdfast::guest {

struct growing_hash_entry {
    std::int64_t key;
    std::int64_t value;
    growing_hash_entry* next;
};
struct growing_hash_root {
    growing_hash_entry** buckets;
    std::uint64_t capacity;
    std::uint64_t in_use;  ///< buckets; from 1 to capacity
    std::uint64_t count;
};

/// A map like workload::hash_table, with the same contracts.
template <class Access>
class growing_hash {
public:
    growing_hash(const Access& memory, growing_hash_root* root) noexcept : memory_(memory), root_(root) {}

    /// Room for so many entries with one to a bucket. Requires: outside a transaction; the root all zero.
    void create(std::uint64_t entries) const noexcept {
        auto* const table = static_cast<growing_hash_entry**>(memory_.allocate(entries * sizeof(growing_hash_entry*)));
        for (std::uint64_t i = 0; i < entries; ++i) memory_.store(table + i, nullptr);
        memory_.store(&root_->buckets, table);
        memory_.store(&root_->capacity, entries);
        memory_.store(&root_->in_use, 1);
    }

    bool get(std::int64_t key, std::int64_t& value) const noexcept {
        const growing_hash_entry* at = memory_.load(bucket_of(key));
        while (at != nullptr && memory_.load(&at->key) != key) at = memory_.load(&at->next);
        if (at != nullptr) value = memory_.load(&at->value);
        return at != nullptr;
    }

    /// Requires: the key is absent.
    bool insert(std::int64_t key, std::int64_t value) const noexcept {
        const std::uint64_t count = memory_.load(&root_->count) + 1, in_use = memory_.load(&root_->in_use);
        if (count > in_use && in_use < memory_.load(&root_->capacity)) split(in_use);
        growing_hash_entry** const bucket = bucket_of(key);
        auto* const made = static_cast<growing_hash_entry*>(memory_.allocate(sizeof(growing_hash_entry)));
        memory_.store(&made->key, key);
        memory_.store(&made->value, value);
        memory_.store(&made->next, memory_.load(bucket));
        memory_.store(bucket, made);
        memory_.store(&root_->count, count);
        return true;
    }

    bool remove(std::int64_t key) const noexcept {
        growing_hash_entry** link = bucket_of(key);
        growing_hash_entry* at = memory_.load(link);
        while (at != nullptr && memory_.load(&at->key) != key) {
            link = &at->next;
            at = memory_.load(link);
        }
        if (at == nullptr) return false;
        memory_.store(link, memory_.load(&at->next));
        memory_.free(at);
        const std::uint64_t count = memory_.load(&root_->count) - 1, in_use = memory_.load(&root_->in_use);
        memory_.store(&root_->count, count);
        // Not as soon as an insertion would split it again.
        if (count + count / 4 < in_use && in_use > 1) merge(in_use - 1);
        return true;
    }

    /// Every entry in its bucket, none in those that are not in use, and as many as counted.
    workload::check_report check() const noexcept {
        workload::check_report report;
        growing_hash_entry** const table = memory_.load(&root_->buckets);
        const std::uint64_t capacity = memory_.load(&root_->capacity);
        for (std::uint64_t i = 0; i < capacity && report.ok(); ++i) {
            for (const auto* at = memory_.load(table + i); at != nullptr && report.ok(); at = memory_.load(&at->next)) {
                if (bucket_of(memory_.load(&at->key)) != table + i) report.problem = "an entry is in the wrong bucket";
                if (++report.count > memory_.load(&root_->count)) report.problem = "more entries than counted";
            }
        }
        if (report.ok() && report.count != memory_.load(&root_->count)) report.problem = "fewer entries than counted";
        return report;
    }

private:
    static std::uint64_t place(std::int64_t key, std::uint64_t in_use) noexcept {
        std::uint64_t mixed = static_cast<std::uint64_t>(key);
        const std::uint64_t hash = workload::splitmix(mixed);
        std::uint64_t below = 1;
        while (2 * below <= in_use) below *= 2;
        const std::uint64_t wide = hash & (2 * below - 1);
        return wide < in_use ? wide : hash & (below - 1);
    }
    growing_hash_entry** bucket_of(std::int64_t key) const noexcept {
        return memory_.load(&root_->buckets) + place(key, memory_.load(&root_->in_use));
    }

    /// Brings bucket `made` into use: what belongs there comes out of the one that has had it until now.
    void split(std::uint64_t made) const noexcept {
        growing_hash_entry** const table = memory_.load(&root_->buckets);
        memory_.store(&root_->in_use, made + 1);
        std::uint64_t below = 1;
        while (2 * below <= made) below *= 2;
        growing_hash_entry** link = table + (made & (below - 1));
        if (made == 0) return;
        for (growing_hash_entry* at = memory_.load(link); at != nullptr;) {
            growing_hash_entry* const next = memory_.load(&at->next);
            if (place(memory_.load(&at->key), made + 1) == made) {
                memory_.store(link, next);
                memory_.store(&at->next, memory_.load(table + made));
                memory_.store(table + made, at);
            } else {
                link = &at->next;
            }
            at = next;
        }
    }
    /// The other way round.
    void merge(std::uint64_t gone) const noexcept {
        growing_hash_entry** const table = memory_.load(&root_->buckets);
        memory_.store(&root_->in_use, gone);
        std::uint64_t below = 1;
        while (2 * below <= gone) below *= 2;
        growing_hash_entry** link = table + gone;
        growing_hash_entry* const first = memory_.load(link);
        if (first == nullptr) return;
        growing_hash_entry** const into = table + (gone & (below - 1));
        for (const auto* at = first; at != nullptr; at = memory_.load(&at->next)) {
            link = const_cast<growing_hash_entry**>(&at->next);
        }
        memory_.store(link, memory_.load(into));
        memory_.store(into, first);
        memory_.store(table + gone, nullptr);
    }

    Access memory_;
    growing_hash_root* root_;
};

}  // namespace holdfast::guest
