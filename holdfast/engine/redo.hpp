// The redo engine: what must be inlined. The protocol stands in redo.cpp.
#pragma once

#include <holdfast/engine/engine.hpp>
#include <holdfast/engine/fresh_blocks.hpp>
#include <holdfast/engine/write_set.hpp>

namespace holdfast {

/// A transaction of the redo engine. One per thread, reused.
class redo_transaction final : public transaction_base {
public:
    std::uint64_t load(const pool_word* home) noexcept {
        const std::uint64_t value = __atomic_load_n(home, __ATOMIC_RELAXED);
        if (writes_.empty()) return value;
        return writes_.load(offset_of(home), value);
    }

    void store(pool_word* home, std::uint64_t value, std::uint8_t mask) {
        const std::uint64_t offset = offset_of(home);
        if (offset >= size_) [[unlikely]]
            return store_outside(home, value, mask);
        if (!fresh_.empty() && fresh_.note_store(home)) [[unlikely]]
            return persist::store_word(home, value, mask, persist::site::redo_fresh);
        writes_.store(offset, value, mask);
    }

    /// A hint that the range will be written; redo needs none.
    void will_write(const void*, std::size_t) noexcept {}

    heap_block allocate(std::size_t bytes, std::size_t alignment);
    void deallocate(void* address);

    void begin(open_pool& pool) noexcept {
        pool_ = &pool;
        base_ = pool.base();
        size_ = pool.size();
    }
    /// Decides the transaction: logged, homes stored. Afterwards the caller's locks may go.
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

private:
    std::uint64_t offset_of(const pool_word* home) const noexcept {
        return static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(home) - base_);
    }
    void store_outside(pool_word* home, std::uint64_t value, std::uint8_t mask);
    result<void> seal_in_lane();
    void write_fresh_back();
    result<void> seal_in_group();
    result<void> settle_in_group();
    void clear() noexcept;

    std::byte* base_ = nullptr;
    std::uint64_t size_ = 0;
    write_set writes_;
    fresh_blocks fresh_;
    group_log::ticket ticket_;
    std::uint64_t sequence_ = 0;
};

/// Redo logging: stores gather in DRAM, one fence commits. `using store = holdfast::redo;`
struct redo : engine_interface<redo> {
    using transaction = redo_transaction;
    static constexpr engine_description description{"redo", true, true, true};
};

}  // namespace holdfast
