// What the engines that write aside share until the commit: stores gather in DRAM beside their homes, which change once
// the record is durable. Each engine's source has its whole commit.
#pragma once

#include <holdfast/engine/engine.hpp>
#include <holdfast/engine/fresh_blocks.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/engine/write_set.hpp>
#include <holdfast/persist/seam.hpp>

namespace holdfast {

/// The gathered stores of one transaction. One thread at a time. If the process dies, they are forgotten.
class write_aside_transaction : public transaction_base {
public:
    std::uint64_t load(const pool_word* home) noexcept {
        if (writes_.empty()) [[likely]]
            return __atomic_load_n(home, __ATOMIC_RELAXED);
        return load_beside_stores(home);
    }

    void store(pool_word* home, std::uint64_t value, std::uint8_t mask) {
        const std::uint64_t offset = offset_of(home);
        if (offset >= size_) [[unlikely]]
            return store_outside(home, value, mask);
        if (!fresh_.empty()) [[unlikely]]
            return store_beside_fresh(home, value, mask);
        // The home is touched only behind the fence: by then its line is here.
        persist::prefetch_for_store(home);
        writes_.store(offset, value, mask);
    }

    /// Whole words at once.
    void store_run(pool_word* home, const void* bytes, std::size_t words);

    /// As in the base, from members that a store has at hand: the check costs a store of a pointer one comparison.
    void check_pointer(const void* home, const void* pointer) const {
        if (offset_of(pointer) >= size_) [[unlikely]] {
            if (pointer != nullptr) check_outside_pointer(home, pointer);
        }
    }

    /// A hint that the range will be written: its lines are fetched, up to a page of them.
    void will_write(const void* begin, std::size_t size) noexcept { persist::prefetch_range_for_store(begin, size); }

    heap_block allocate(std::size_t bytes, std::size_t alignment);
    void deallocate(void* address);

    void begin(open_pool& pool) noexcept {
        pool_ = &pool;
        base_ = pool.base();
        size_ = pool.size();
    }
    /// Returns when the commit is as durable as its level promises: waits for the group that it joined, if any.
    result<void> settle() {
        if (sequence_ != 0 && pool_->homes_are_private()) return settle_in_group();
        settle_heap(sequence_);
        return {};
    }
    void roll_back() noexcept(persist::noexcept_seam);
#ifdef HOLDFAST_OBSERVED
    /// After a simulated crash: drops what the thread remembers, leaving the pool as it is.
    void forget() noexcept {
        roll_heap_back();
        clear();
    }
#endif

    void store(void* home, const void* bytes, std::size_t size) override;
    void load_into(const void* home, void* bytes, std::size_t size) override;

    // Parts: the functions of several callers, one after another in one transaction (combining.hpp).

    /// What follows is a part that can be taken back alone. Requires: the transaction is new, or takes_another_part().
    void begin_part() noexcept;
    /// Takes back what the part stored, allocated and freed. Other parts stay as they are.
    void roll_back_part() noexcept(persist::noexcept_seam);
    /// Whether another part may follow: the record is short, and what the parts so far did to the heap stays as it is
    /// when a later one is taken back.
    bool takes_another_part() const noexcept;
    /// A fault for the explorer: what a part stored is home before the record is made, and misses there.
    void plant_torn_record() noexcept(persist::noexcept_seam);

protected:
    write_aside_transaction() = default;
    ~write_aside_transaction() = default;

    // Steps of a commit.

    /// Whether there is something to commit: an empty write set costs no fence.
    bool has_stores() noexcept {
        sequence_ = 0;
        if (!writes_.empty()) return true;
        fresh_.clear();
        return false;
    }
    /// The whole commit where homes are private (group_commit.cpp), but for the wait.
    result<void> commit_in_group();
    /// Writes back what was stored to fresh blocks and FENCES, at `power`. Were the record durable first, a cut would
    /// commit a block whose bytes are not there. A transaction without such a block pays nothing.
    void persist_fresh_blocks() {
        if (!fresh_.empty() && pool_->persists_lines()) [[unlikely]]
            write_fresh_blocks_back();
    }
    /// The transaction is over: forgets its stores.
    void clear() noexcept {
        writes_.clear();
        fresh_.clear();
    }
    std::uint64_t offset_of(const void* at) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - base_);
    }

    std::byte* base_ = nullptr;
    std::uint64_t size_ = 0;
    write_set writes_;
    fresh_blocks fresh_;
    std::uint64_t sequence_ = 0;
    std::size_t heap_mark_ = 0;  ///< of the part that began last

private:
    std::uint64_t load_beside_stores(const pool_word* home) noexcept;
    std::uint64_t load_merged(const pool_word* home) noexcept;
    result<void> settle_in_group();
    void write_fresh_blocks_back();
    void store_outside(pool_word* home, std::uint64_t value, std::uint8_t mask);
    void store_beside_fresh(pool_word* home, std::uint64_t value, std::uint8_t mask);
};

}  // namespace holdfast
