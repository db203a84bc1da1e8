// Suite intset in the program that runs it: a set that threads share, whatever its transactions are.
#pragma once

#include <bench/contest/serve.hpp>
#include <bench/contest/threads.hpp>

#include <workload/random.hpp>
#include <workload/rbtree.hpp>
#include <workload/sets.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

struct set_job {
    std::string structure;  ///< hash_set, rbtree or list
    std::uint64_t elements = 0;
    std::uint64_t updates = 0;  ///< of a hundred transactions, those that insert or remove: half of them each
    unsigned threads = 1;
};

/// A tree as a set: each key is its own value.
template <class Access>
class tree_set {
public:
    tree_set(Access memory, workload::rbtree_uncounted_root* root) noexcept : tree_(memory, root) {}
    bool insert(std::int64_t key) const { return tree_.insert(key, key); }
    bool remove(std::int64_t key) const { return tree_.remove(key); }
    bool contains(std::int64_t key) const {
        std::int64_t value = 0;
        return tree_.get(key, value);
    }
    workload::check_report check() const { return tree_.check(); }

private:
    workload::rbtree<Access, workload::rbtree_uncounted_root> tree_;
};

/// Random operations on a set of keys from a range twice as large as the set, which therefore keeps its size.
/// After every batch the set is checked: its invariants, and as many keys as insertions and removals have left.
template <class Access, class Set>
class set_runs {
public:
    set_runs(Access memory, Set set, const set_job& job) : memory_(memory), set_(set), job_(job) {
        for (unsigned i = 0; i < job.threads; ++i) threads_.push_back({workload::random(1000 + i), 0});
        workload::random numbers(1);
        while (expected_ < job.elements)
            if (insert(random_key(numbers))) ++expected_;
        check();
    }

    batch run(std::uint64_t transactions) {
        const auto part = [this](unsigned thread, std::uint64_t count) { run_part(threads_[thread], count); };
        batch done = run_on_threads(job_.threads, transactions, part);
        done.spent.reset();
        for (auto& each : threads_) {
            expected_ += static_cast<std::uint64_t>(each.more);
            each.more = 0;
        }
        check();
        return done;
    }

private:
    struct alignas(128) worker {
        workload::random numbers;
        std::int64_t more;  ///< keys inserted and not removed again
    };

    std::int64_t random_key(workload::random& numbers) const {
        return static_cast<std::int64_t>(numbers.below(2 * job_.elements));
    }
    bool insert(std::int64_t key) const {
        bool done = false;
        memory_.atomically([&] { done = set_.insert(key); });
        return done;
    }
    bool remove(std::int64_t key) const {
        bool done = false;
        memory_.atomically([&] { done = set_.remove(key); });
        return done;
    }
    bool contains(std::int64_t key) const {
        bool found = false;
        memory_.atomically([&] { found = set_.contains(key); });
        return found;
    }

    void run_part(worker& mine, std::uint64_t transactions) const {
        std::uint64_t found = 0;
        for (std::uint64_t i = 0; i < transactions; ++i) {
            const std::int64_t key = random_key(mine.numbers);
            const std::uint64_t what = mine.numbers.below(200);
            if (what >= 2 * job_.updates) {
                found += contains(key) ? 1u : 0u;
            } else if (what % 2 == 0) {
                mine.more += insert(key) ? 1 : 0;
            } else {
                mine.more -= remove(key) ? 1 : 0;
            }
        }
        if (found > transactions) child_failed("more was found than looked for");
    }

    void check() const {
        const workload::check_report found = set_.check();
        if (!found.ok()) child_failed(job_.structure + ": " + found.problem);
        if (found.count != expected_)
            child_failed(job_.structure + ": " + std::to_string(found.count) + " keys, expected " +
                         std::to_string(expected_));
    }

    Access memory_;
    Set set_;
    set_job job_;
    std::vector<worker> threads_;
    std::uint64_t expected_ = 0;
};

/// Answers the parent until it has no more batches.
template <class Access>
int serve_sets(Access memory, const set_job& job) {
    const auto answer = [&](auto set) {
        set_runs runs(memory, set, job);
        return serve([&](const std::string&, std::uint64_t transactions) { return runs.run(transactions); });
    };
    if (job.structure == "hash_set") {
        std::vector<workload::list_set_root> buckets(job.elements);
        return answer(workload::hash_set(memory, buckets.data(), buckets.size()));
    }
    if (job.structure == "list") {
        const auto root = std::make_unique<workload::list_set_root>();
        return answer(workload::list_set(memory, root.get()));
    }
    if (job.structure == "rbtree") {
        const auto root = std::make_unique<workload::rbtree_uncounted_root>();
        return answer(tree_set(memory, root.get()));
    }
    child_failed("there is no set '" + job.structure + "'");
}

}  // namespace holdfast::bench
