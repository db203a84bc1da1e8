// Sets of 64-bit keys for threads that share one: a sorted list, and a hash table of such lists. Nothing is counted,
// since a count is a word in which all changes meet.
#pragma once

#include <workload/access.hpp>
#include <workload/random.hpp>

namespace holdfast::workload {

struct set_node {
    std::int64_t key;
    set_node* next;
};

/// A sorted list. All zero is a valid empty one.
struct list_set_root {
    set_node* first;
};

/// insert adds a key that is absent, remove takes one away that is there; each returns whether it did, and does nothing
/// otherwise. contains looks. All but check: inside a transaction. Thread safety: that of the transactions.
template <access Access>
class list_set {
public:
    list_set(Access memory, list_set_root* root) noexcept : memory_(memory), root_(root) {}

    bool insert(std::int64_t key) const {
        set_node** const link = link_to(key);
        set_node* const behind = memory_.load(link);
        if (behind != nullptr && memory_.load(&behind->key) == key) return false;
        auto* const made = static_cast<set_node*>(memory_.allocate(sizeof(set_node)));
        memory_.will_write(made);
        memory_.will_write(link);
        memory_.store(&made->key, key);
        memory_.store(&made->next, behind);
        memory_.store(link, made);
        return true;
    }

    bool remove(std::int64_t key) const {
        set_node** const link = link_to(key);
        set_node* const at = memory_.load(link);
        if (at == nullptr || memory_.load(&at->key) != key) return false;
        memory_.will_write(link);
        memory_.store(link, memory_.load(&at->next));
        memory_.free(at);
        return true;
    }

    /// Takes the smallest key away. False if there is none.
    bool take_first(std::int64_t& key) const {
        set_node* const at = memory_.load(&root_->first);
        if (at == nullptr) return false;
        key = memory_.load(&at->key);
        memory_.store(&root_->first, memory_.load(&at->next));
        memory_.free(at);
        return true;
    }

    bool contains(std::int64_t key) const {
        const set_node* const at = memory_.load(link_to(key));
        return at != nullptr && memory_.load(&at->key) == key;
    }

    /// Keys in order, none twice.
    check_report check() const {
        check_report report;
        std::int64_t last = 0;
        for (const set_node* at = memory_.load(&root_->first); at != nullptr; at = memory_.load(&at->next)) {
            const std::int64_t key = memory_.load(&at->key);
            if (report.count++ > 0 && key <= last) return report.problem = "keys out of order, or a cycle", report;
            last = key;
        }
        return report;
    }

private:
    /// The link to the first node whose key is not smaller.
    set_node** link_to(std::int64_t key) const {
        set_node** link = &root_->first;
        for (set_node* at = memory_.load(link); at != nullptr && memory_.load(&at->key) < key; at = memory_.load(link))
            link = &at->next;
        return link;
    }

    Access memory_;
    list_set_root* root_;
};

/// A hash table with a fixed number of buckets, all zero at first.
template <access Access>
class hash_set {
public:
    /// Requires: `buckets`, a power of two, are at `first`.
    hash_set(Access memory, list_set_root* first, std::uint64_t buckets) noexcept
        : memory_(memory), first_(first), mask_(buckets - 1) {}

    bool insert(std::int64_t key) const { return bucket_of(key).insert(key); }
    bool remove(std::int64_t key) const { return bucket_of(key).remove(key); }
    bool contains(std::int64_t key) const { return bucket_of(key).contains(key); }

    /// Every bucket in order.
    check_report check() const {
        check_report report;
        for (std::uint64_t i = 0; i <= mask_ && report.ok(); ++i) {
            const check_report one = list_set<Access>(memory_, first_ + i).check();
            report = {one.problem, report.count + one.count};
        }
        return report;
    }

private:
    list_set<Access> bucket_of(std::int64_t key) const {
        auto mixed = static_cast<std::uint64_t>(key);
        return {memory_, first_ + (splitmix(mixed) & mask_)};
    }

    Access memory_;
    list_set_root* first_;
    std::uint64_t mask_;
};

}  // namespace holdfast::workload
