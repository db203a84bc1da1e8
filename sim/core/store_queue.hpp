// The store queue of one hart: what it has stored and memory does not have yet, in program order. Write-backs, persist
// fences, the marks of transactions and the log's operations wait in it, too, since they are ordered with the stores
// around them.
#pragma once

#include <sim/base/units.hpp>
#include <sim/core/core_config.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

namespace holdfast::sim {

enum class queued_kind : std::uint8_t {
    store,
    streamed_store,
    write_back,
    persist_fence,
    begin,
    commit,
    // Operands in `where` and `value`.
    log_create,
    log_truncate,
    log_grow,
};

struct queued_store {
    queued_kind kind = queued_kind::store;
    std::uint8_t bytes = 0;
    transaction_id transaction{};
    bool in_transaction = false;
    address where{};
    std::uint64_t value = 0;
    cycle data_ready = 0;  ///< from when on a load may have it
    cycle may_drain = 0;   ///< when its instruction commits

    bool is_store() const noexcept { return kind <= queued_kind::streamed_store; }
};

/// What a load finds in the queue.
struct queue_match {
    enum class kind : std::uint8_t { nothing, all_bytes, some_bytes };
    kind found = kind::nothing;
    std::uint64_t value = 0;
    cycle data_ready = 0;
};

class store_queue {
public:
    explicit store_queue(std::uint32_t length) : ring_(length), left_at_(length) {}

    bool empty() const noexcept { return count_ == 0; }
    bool full() const noexcept { return count_ == ring_.size(); }
    std::size_t size() const noexcept { return count_; }
    queued_store& front() noexcept { return ring_[first_]; }
    const queued_store& front() const noexcept { return ring_[first_]; }
    queued_store& back() noexcept { return ring_[place_of(count_ - 1)]; }

    /// Requires: it is not full. Returns when the place was left by whoever had it before.
    cycle push(const queued_store& made) noexcept {
        const std::size_t place = place_of(count_);
        ring_[place] = made;
        ++count_;
        return left_at_[place];
    }
    /// The oldest one leaves its place at `at`.
    void pop(cycle at) noexcept {
        left_at_[first_] = at;
        first_ = first_ + 1 == ring_.size() ? 0 : first_ + 1;
        --count_;
    }

    /// The youngest store that overlaps, if any: it has all bytes of the load, or the load cannot be answered before
    /// that store has drained.
    queue_match find(address where, std::uint32_t bytes) const noexcept {
        for (std::size_t age = count_; age-- > 0;) {
            const queued_store& each = ring_[place_of(age)];
            const std::uint64_t into = where.value - each.where.value;
            if (into < each.bytes) {
                if (into + bytes > each.bytes) return {queue_match::kind::some_bytes, 0, 0};
                return {queue_match::kind::all_bytes, part_of(each.value, into, bytes), each.data_ready};
            }
            // It begins behind the load's first byte, within the load.
            if (each.bytes != 0 && each.where.value - where.value < bytes) {
                return {queue_match::kind::some_bytes, 0, 0};
            }
        }
        return {};
    }

private:
    std::size_t place_of(std::size_t age) const noexcept {
        const std::size_t place = first_ + age;
        return place < ring_.size() ? place : place - ring_.size();
    }
    static std::uint64_t part_of(std::uint64_t value, std::uint64_t into, std::uint32_t bytes) noexcept {
        value >>= 8 * into;
        return bytes == 8 ? value : value & ((std::uint64_t{1} << 8 * bytes) - 1);
    }

    std::vector<queued_store> ring_;
    std::vector<cycle> left_at_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace holdfast::sim
