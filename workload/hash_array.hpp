// A large array of words at hashed places, and transactions that store to a group of them: the hash table of Giles,
// Doshi, Varman, "Continuous Checkpointing of HTM Transactions in NVM" (cc-HTM), section 5.2. And a check that finds a
// torn or lost group although groups load nothing: neither a sum nor a permutation has to be kept.
//
//   1  Before its transaction, draw() draws a random number for each element of a group. The number's hash is the
//      element's place. All numbers follow from the seed, the thread, and which of the thread's groups it is.
//   2  The transaction, apply(), stores the group's stamp (thread and number) to each place, or loads what is there.
//   3  check() draws the groups again and takes them away in turn, each thread's from its last to its first. A group
//      may be taken away if each place that it stored to has its stamp, or that of a group that is already away.
//
// A group that cannot be taken away has lost a store, or another one has come between its stores. If all can be, then
// in the opposite order, one at a time, they leave exactly this array. So check() decides, and needs no memory.
#pragma once

#include <workload/access.hpp>
#include <workload/random.hpp>

namespace holdfast::workload {

/// The paper's 64 MB.
inline constexpr std::uint64_t hash_array_elements = (std::uint64_t{64} << 20) / sizeof(std::uint64_t);
inline constexpr std::uint64_t hash_array_largest_group = 30;
inline constexpr std::uint64_t hash_array_most_threads = 64;

/// What the transactions are like. All that share an array have the same shape.
struct hash_array_shape {
    std::uint64_t seed = 1;
    std::uint64_t group = 10;           ///< elements in a transaction, at most hash_array_largest_group
    std::uint64_t write_percent = 100;  ///< of these, how many are stored to on average; the others are loaded
};

/// One transaction, drawn.
struct hash_array_group {
    std::uint64_t stamp;
    std::uint64_t count;
    std::uint64_t stored;  ///< bit i: element i is stored to
    std::uint64_t places[hash_array_largest_group];

    bool stores(std::uint64_t i) const noexcept { return (stored >> i & 1) != 0; }
};

/// How many groups each thread has done.
struct hash_array_progress {
    std::uint64_t groups[hash_array_most_threads]{};
};

/// The persistent part. All zero is an array of no elements, which create() makes usable.
struct hash_array_root {
    std::uint64_t* entries;  ///< a stamp each, 0: never stored to
    std::uint64_t count;
};

/// apply: inside a transaction. All others: outside. Thread safety: that of the transactions; check and found look at
/// all elements, so no transaction may run beside them.
///
/// Where the array is, is loaded when the object is made, not by each transaction: a group that only stores has an
/// empty read set, as in the paper. So the root must not change while others have an object of it.
template <access Access>
class hash_array {
public:
    hash_array(Access memory, hash_array_root* root, const hash_array_shape& shape) noexcept
        : memory_(memory), root_(root), shape_(shape), entries_(memory.load(&root->entries)),
          count_(memory.load(&root->count)) {}

    /// Allocates the elements and sets them to 0, in transactions of its own of `batch` elements.
    /// Requires: the root all zero. False when a transaction failed.
    /// If the process dies inside, count is still 0 and the array is lost: make the pool anew.
    bool create(std::uint64_t count = hash_array_elements, std::uint64_t batch = 4096) {
        bool good = memory_.atomically([&] {
            memory_.store(&root_->entries,
                          static_cast<std::uint64_t*>(memory_.allocate(count * sizeof(std::uint64_t))));
        });
        entries_ = memory_.load(&root_->entries);
        for (std::uint64_t first = 0; good && first < count; first += batch) {
            const std::uint64_t last = count - first < batch ? count : first + batch;
            good = memory_.atomically([&] {
                for (std::uint64_t i = first; i < last; ++i) memory_.store(entries_ + i, 0);
            });
        }
        good = good && memory_.atomically([&] { memory_.store(&root_->count, count); });
        count_ = memory_.load(&root_->count);
        return good;
    }

    /// Group `number` (1, 2, … in the order in which they are done) of a thread. Two elements may have one place.
    /// Requires: thread < hash_array_most_threads; number < 2^58.
    hash_array_group draw(std::uint64_t thread, std::uint64_t number) const noexcept {
        hash_array_group drawn;
        drawn.stamp = number * hash_array_most_threads + thread;
        drawn.count = shape_.group;
        drawn.stored = 0;
        std::uint64_t numbers = drawn.stamp;
        numbers = splitmix(numbers) ^ shape_.seed;
        for (std::uint64_t i = 0; i < shape_.group; ++i) {
            std::uint64_t random_number = splitmix(numbers);
            if (scaled(random_number, 100) < shape_.write_percent) drawn.stored |= std::uint64_t{1} << i;
            drawn.places[i] = scaled(splitmix(random_number), count_);
        }
        return drawn;
    }

    /// The transaction. Returns what it loaded, mixed to one word, so that no compiler leaves the loads out.
    std::uint64_t apply(const hash_array_group& group) const {
        // All hints before the first store: an engine that must log old values needs one fence.
        for (std::uint64_t i = 0; i < group.count; ++i) {
            if (group.stores(i)) memory_.will_write(entries_ + group.places[i]);
        }
        std::uint64_t loaded = 0;
        for (std::uint64_t i = 0; i < group.count; ++i) {
            std::uint64_t* const home = entries_ + group.places[i];
            if (group.stores(i)) {
                memory_.store(home, group.stamp);
            } else {
                loaded ^= memory_.load(home);
            }
        }
        return loaded;
    }

    std::uint64_t count() const noexcept { return count_; }

    /// The last group of each thread that left something: what was done at least, if nobody knows, as after a crash.
    /// Those behind it, if any, have left nothing. A thread that goes on behind it does them again, alike.
    hash_array_progress found() const {
        hash_array_progress most;
        for (std::uint64_t i = 0; i < count_; ++i) {
            const std::uint64_t stamp = memory_.load(entries_ + i);
            std::uint64_t& last = most.groups[thread_of(stamp)];
            if (number_of(stamp) > last) last = number_of(stamp);
        }
        return most;
    }

    /// Whether the array is what the groups `done`, and no others, leave in some order, each thread's in theirs. Counts
    /// the groups. Takes a draw for each element and each group done, and more where threads overwrote each other.
    check_report check(const hash_array_progress& done) const {
        check_report report;
        for (std::uint64_t i = 0; i < count_ && report.ok(); ++i) report.problem = problem_at(i, done);
        hash_array_progress left = done;
        for (bool went_on = report.ok(); went_on;) {
            went_on = false;
            for (std::uint64_t thread = 0; thread < hash_array_most_threads; ++thread) {
                for (; left.groups[thread] > 0 && is_last(thread, left); --left.groups[thread], ++report.count) {
                    went_on = true;
                }
            }
        }
        for (const std::uint64_t each : left.groups) {
            if (report.ok() && each > 0) report.problem = "a group is torn or lost";
        }
        return report;
    }

private:
    static std::uint64_t thread_of(std::uint64_t stamp) noexcept { return stamp % hash_array_most_threads; }
    static std::uint64_t number_of(std::uint64_t stamp) noexcept { return stamp / hash_array_most_threads; }

    const char* problem_at(std::uint64_t place, const hash_array_progress& done) const {
        const std::uint64_t stamp = memory_.load(entries_ + place);
        if (stamp == 0) return nullptr;
        if (number_of(stamp) == 0) return "an element has the stamp of no group";
        if (number_of(stamp) > done.groups[thread_of(stamp)]) return "an element is of a group that was not done";
        const hash_array_group group = draw(thread_of(stamp), number_of(stamp));
        for (std::uint64_t i = 0; i < group.count; ++i) {
            if (group.places[i] == place && group.stores(i)) return nullptr;
        }
        return "an element is of a group that does not store there";
    }

    /// Whether the last group left of a thread can be the last of all that are left.
    bool is_last(std::uint64_t thread, const hash_array_progress& left) const {
        const hash_array_group group = draw(thread, left.groups[thread]);
        for (std::uint64_t i = 0; i < group.count; ++i) {
            if (!group.stores(i)) continue;
            const std::uint64_t stamp = memory_.load(entries_ + group.places[i]);
            if (stamp != group.stamp && number_of(stamp) <= left.groups[thread_of(stamp)]) return false;
        }
        return true;
    }

    Access memory_;
    hash_array_root* root_;
    hash_array_shape shape_;
    std::uint64_t* entries_;
    std::uint64_t count_;
};

}  // namespace holdfast::workload
