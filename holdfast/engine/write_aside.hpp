// What the engines share that write aside: stores gather in DRAM beside their homes, which change after the record is
// durable. `redo` and `softwrap_lat` differ in how the record gets into a lane, and in what becomes of the homes.
#pragma once

#include <holdfast/engine/engine.hpp>
#include <holdfast/engine/fresh_blocks.hpp>
#include <holdfast/engine/write_set.hpp>

namespace holdfast {

/// The gathered stores of one transaction, and its commit where homes are private. One thread at a time.
class write_aside_transaction : public transaction_base {
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

    /// A hint that the range will be written; nothing needs one here.
    void will_write(const void*, std::size_t) noexcept {}

    heap_block allocate(std::size_t bytes, std::size_t alignment);
    void deallocate(void* address);

    void begin(open_pool& pool) noexcept {
        pool_ = &pool;
        base_ = pool.base();
        size_ = pool.size();
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

    /// A file at `power`: the commit joins the open group; the homes, which nobody else has, are stored.
    result<void> seal_in_group();
    result<void> settle_in_group();
    /// Before the record: what was stored to fresh blocks, fenced.
    void write_fresh_back();
    void clear() noexcept;

    std::byte* base_ = nullptr;
    std::uint64_t size_ = 0;
    write_set writes_;
    fresh_blocks fresh_;
    std::uint64_t sequence_ = 0;

private:
    std::uint64_t offset_of(const pool_word* home) const noexcept {
        return static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(home) - base_);
    }
    void store_outside(pool_word* home, std::uint64_t value, std::uint8_t mask);

    group_log::ticket ticket_;
};

}  // namespace holdfast
