// What the engines share that write aside: stores gather in DRAM beside their homes, which change after the record is
// durable. `redo` and `softwrap_lat` differ in how the record gets into a lane, and in what becomes of the homes.
#pragma once

#include <holdfast/engine/engine.hpp>
#include <holdfast/engine/fresh_blocks.hpp>
#include <holdfast/engine/write_set.hpp>
#include <holdfast/persist/seam.hpp>

namespace holdfast {

/// The gathered stores of one transaction, and its commit where homes are private. One thread at a time.
class write_aside_transaction : public transaction_base {
public:
    std::uint64_t load(const pool_word* home) noexcept {
        const auto at_home = [home] { return __atomic_load_n(home, __ATOMIC_RELAXED); };
        return writes_.empty() ? at_home() : writes_.load(offset_of(home), at_home);
    }

    void store(pool_word* home, std::uint64_t value, std::uint8_t mask) {
        const std::uint64_t offset = offset_of(home);
        if (offset >= size_) [[unlikely]]
            return store_outside(home, value, mask);
        if (!fresh_.empty() && fresh_.note_store(home)) [[unlikely]]
            return persist::store_word(home, value, mask, persist::site::redo_fresh);
        writes_.store(offset, value, mask);
    }

    /// As in the base, from members that a store has at hand: the check costs a store of a pointer one comparison.
    void check_pointer(const void* home, const void* pointer) const {
        if (offset_of(pointer) >= size_) [[unlikely]] {
            if (pointer != nullptr) check_outside_pointer(home, pointer);
        }
    }

    /// A hint that the range will be written; nothing needs one here.
    void will_write(const void*, std::size_t) noexcept {}

    heap_block allocate(std::size_t bytes, std::size_t alignment);
    void deallocate(void* address);

    void begin(open_pool& pool) noexcept {
        pool_ = &pool;
        base_ = pool.base();
        size_ = pool.size();
    }
    /// Decides the transaction: logged, and what it stored is there for others. Afterwards the caller's locks may go.
    result<void> seal() {
        sequence_ = 0;
        if (writes_.empty()) {
            // Nothing to log: an empty write set costs no fence.
            fresh_.clear();
            return {};
        }
        return pool_->homes_are_private() ? seal_in_group() : seal_in_lane();
    }
    /// Returns when the commit is as durable as its level promises.
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

protected:
    write_aside_transaction() = default;
    ~write_aside_transaction() = default;

    /// A lane with room for the record: the last step that can fail.
    result<log_lane*> take_lane();
    /// Draws the sequence; what was stored to fresh blocks is durable then.
    void draw_sequence(log_lane& lane);
    /// Makes the record durable that was appended.
    void fence_record();
    /// The engine's commit where homes are shared memory.
    virtual result<void> seal_in_lane() = 0;
    void clear() noexcept;
    std::uint64_t offset_of(const void* at) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - base_);
    }

    std::byte* base_ = nullptr;
    std::uint64_t size_ = 0;
    write_set writes_;
    fresh_blocks fresh_;
    std::uint64_t sequence_ = 0;

private:
    /// A file at `power`: the commit joins the open group; the homes, which nobody else has, are stored.
    result<void> seal_in_group();
    result<void> settle_in_group();
    void write_fresh_back();
    void store_private_homes();
    void store_outside(pool_word* home, std::uint64_t value, std::uint8_t mask);
};

}  // namespace holdfast
