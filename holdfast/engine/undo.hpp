// The undo engines: what must be inlined. The protocol is in undo.cpp.
#pragma once

#include <holdfast/base/word_map.hpp>
#include <holdfast/engine/engine.hpp>
#include <holdfast/engine/fresh_blocks.hpp>

#include <vector>

namespace holdfast {

/// How an undo engine spends its fences.
enum class undo_style : std::uint8_t {
    best,   ///< hinted ranges share a fence, words are logged once, fresh blocks not at all
    paper,  ///< a record and a fence for every range stored
};

/// A transaction of an undo engine. One per thread and engine, reused.
class undo_transaction_base : public transaction_base {
public:
    std::uint64_t load(const pool_word* home) const noexcept { return __atomic_load_n(home, __ATOMIC_RELAXED); }

    void begin(open_pool& pool);
    result<void> seal();
    result<void> settle() noexcept;
    void roll_back() noexcept(persist::noexcept_seam);
#ifdef HOLDFAST_OBSERVED
    /// After a simulated crash: drops what the thread remembers, leaving the pool as it is.
    void forget() noexcept {
        roll_heap_back();
        lane_ = nullptr;
        clear();
    }
#endif

protected:
    explicit undo_transaction_base(undo_style style) : style_(style) {}

    /// Stores one word in place, its old value logged and durable before.
    void store_word(pool_word* home, std::uint64_t value, std::uint8_t mask);
    /// Logs a whole range with one record; the fence comes with the first store. `stored`: it
    /// follows at once.
    void log_range(const void* begin, std::size_t size, bool stored);
    /// Calls the function once per word of the range, as one logged range.
    void store_range(void* home, const void* bytes, std::size_t size);
    void make_room_for_fresh() { fresh_.make_room(); }
    void note_fresh(const heap_block& block);
    void forget_fresh(void* address) noexcept { fresh_.remove(address); }

private:
    struct old_word {
        pool_word* home;
        std::uint64_t value;
        std::uint8_t mask;
        bool stored;  ///< false: hinted only; its line is not dirty
    };
    bool outside(const pool_word* home) const noexcept {
        return static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(home) - pool_->base()) >= pool_->size();
    }
    bool is_logged(const pool_word* home) noexcept {
        return logged_.find(reinterpret_cast<std::uintptr_t>(home) >> 3) != nullptr;
    }
    bool covered(const pool_word* home, std::uint8_t mask, bool stored) noexcept;
    void gather(pool_word* home, std::uint8_t mask, bool stored);
    void send_gathered();
    void fence_records();
    void write_dirty_lines_back();
    void append_end_record(lane_log& log);
    /// Steps 4 to 8. Requires: something was logged.
    void end_logged();
    void clear() noexcept;
    template <class F>
    void for_each_dirty_line(F&& f);

    undo_style style_;
    log_lane* lane_ = nullptr;
    std::uint64_t sequence_ = 0;
    std::uint32_t records_ = 0;
    bool fence_owed_ = false;
    std::vector<old_word> old_;            ///< everything logged, oldest first
    word_map logged_;                      ///< word offset / 8 to its newest place in old_
    std::vector<std::uint64_t> gathered_;  ///< the record being built, header first; has room for the largest
    fresh_blocks fresh_;
    word_map dirty_lines_;
};

/// The transaction of one of the two engines.
template <undo_style Style>
class undo_transaction_of final : public undo_transaction_base {
public:
    undo_transaction_of() : undo_transaction_base(Style) {}

    void store(pool_word* home, std::uint64_t value, std::uint8_t mask) { store_word(home, value, mask); }
    void will_write(const void* begin, std::size_t size) {
        if constexpr (Style == undo_style::best) log_range(begin, size, false);
    }
    heap_block allocate(std::size_t bytes, std::size_t alignment) {
        // Reserve first: a throw after the allocation would leak the block.
        if constexpr (Style == undo_style::best) make_room_for_fresh();
        const heap_block block = transaction_base::allocate(bytes, alignment);
        if constexpr (Style == undo_style::best) note_fresh(block);
        return block;
    }
    void deallocate(void* address) {
        transaction_base::deallocate(address);
        forget_fresh(address);
    }
    void store(void* home, const void* bytes, std::size_t size) override { store_range(home, bytes, size); }
    void load_into(const void* home, void* bytes, std::size_t size) override { load_bytes(*this, home, bytes, size); }
};

/// Undo logging, optimised: hinted ranges share a fence.
struct undo : engine_interface<undo> {
    using transaction = undo_transaction_of<undo_style::best>;
    static constexpr engine_description description{.name = "undo", .power_on_files = false, .logs_new_values = false};
};

/// Undo logging as in the papers: a fence for every range.
struct undo_paper : engine_interface<undo_paper> {
    using transaction = undo_transaction_of<undo_style::paper>;
    static constexpr engine_description description{
        .name = "undo_paper", .power_on_files = false, .logs_new_values = false};
};

}  // namespace holdfast
