// A commit of cc_htm, whatever isolates it. The protocol is in cc_htm.cpp.
#pragma once

#include <holdfast/engine/block_landing.hpp>
#include <holdfast/engine/cc_htm_aliases.hpp>
#include <holdfast/engine/cc_htm_home.hpp>
#include <holdfast/engine/conflict.hpp>
#include <holdfast/engine/engine.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/log/private_pages.hpp>
#include <holdfast/log/retirement.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

namespace holdfast {

/// The part of a transaction that logs. One object per thread and isolation, reused.
class cc_htm_commit : public transaction_base {
public:
    /// Whether an attempt has met a conflict: nothing of it may be used, and it has to be made again.
    bool met_conflict() const noexcept { return met_conflict_; }

    /// Of the last commit; 0: it stored nothing.
    std::uint64_t number() const noexcept { return sequence_; }

    void will_write(const void*, std::size_t) noexcept {}
    /// Returns when at most as many commits are missing as the pool may lose.
    result<void> settle();

protected:
    cc_htm_commit() = default;
    ~cc_htm_commit() = default;

    void begin_in(open_pool& pool) noexcept {
        pool_ = &pool;
        base_ = pool.base();
        size_ = pool.size();
        met_conflict_ = false;
        sequence_ = 0;
        holds_conflicts_ = 0;
        is_waited_for_ = true;
        gives_way_ = false;
        released_.clear();
        of_this_thread_ = this;
        uncaught_ = std::uncaught_exceptions();
    }
    std::uint64_t offset_of(const void* at) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - base_);
    }
    /// From here on every load and store of the attempt is found out of the pool's bounds, and looks.
    void lose_attempt() noexcept {
        met_conflict_ = true;
        size_ = 0;
    }
    /// Does not return where a block of the compiler is open: an exception cannot leave it.
    static void leave_open_block() {
        if (detail::block_runtime_of_program != nullptr) detail::block_runtime_of_program->leave_open_block();
    }
    /// Throws transaction_conflict, unless it must not: then the caller goes on with nothing.
    void throw_conflict() const {
        leave_open_block();
        if (holds_conflicts_ == 0 && std::uncaught_exceptions() == uncaught_) throw transaction_conflict{};
    }
    void throw_held_conflict() override {
        if (met_conflict_) [[unlikely]]
            throw_conflict();
    }
    /// After a commit that is decided: sends its record to the log.
    void log_commit(const stm::write_log& writes);
    /// Blocks that the attempt has freed.
    void note_released(const void* block) { released_.push_back(block); }
    /// Whether the heap's refusal to free a block may be due to another transaction, which frees it just now, or has
    /// freed it since this one began: the heap's memory is no part of the snapshot. Believes it for a second.
    bool may_be_of_others(const void* block) noexcept;
    /// The call has ended.
    void forget_refusals() noexcept { refusals_ = 0; }
    /// Requires: the isolation is rolled back.
    void pause_for_others() const;
    /// Of the record: a sequence, or the group that it joined.
    std::uint64_t number_in_log() const noexcept { return group_ != 0 ? group_ : sequence_; }
    /// A commit that was refused; a conflict counts as one. Throws std::bad_alloc.
    result<void> take_refusal();
    /// After a simulated crash.
    void forget_commit() noexcept {
        lane_ = nullptr;
        aliases_.forget();
    }
    /// An unused number is logged as well, because replay stops at the first missing one.
    void give_number_back() noexcept(persist::noexcept_seam);

    std::byte* base_ = nullptr;
    std::uint64_t size_ = 0;
    std::uint64_t sequence_ = 0;  ///< of this commit; 0: it has stored nothing
    bool met_conflict_ = false;

    static inline constinit thread_local cc_htm_commit* of_this_thread_ = nullptr;

private:
    friend struct cc_htm_home;
    template <class Aliases>
    friend struct cc_htm_alias_home;
    template <class Step>
    bool succeeds(Step&& step) noexcept;
    bool draw_number(const stm::write_log& writes) noexcept;
    htm::hardware_place enter_hardware() noexcept;
    result<void> take_place_for_hardware(std::uint64_t payload_words);
    void leave_hardware() noexcept;
    bool join_group(const stm::write_log& writes) noexcept;
    void close_gate() noexcept;
    void open_gate() noexcept;
    result<void> take_place(const stm::write_log& writes);
    result<void> admit_to_group(const stm::write_log& writes);
    void make_record(const stm::write_log& writes);
    void go_home_first(const stm::write_log& writes);
    void send_record();
    void put_in_log(log_lane& lane);

    std::vector<const void*> released_;
    unsigned refusals_ = 0;          ///< of the heap, in the attempts of this call
    std::chrono::steady_clock::time_point refused_since_{};
    bool has_record_ = false;
    record_buffer record_;
    log_lane* lane_ = nullptr;
    detail::kept_error problem_;
#ifdef HOLDFAST_OBSERVED
    bool has_crashed_ = false;
#endif
    bool lacks_memory_ = false;           ///< for the commit
    std::unique_lock<std::mutex> order_;  ///< on a file: of commits that join a group
    std::uint64_t group_ = 0;
    std::optional<private_pages::storing> gate_;
    cc_htm_aliases aliases_;
};

}  // namespace holdfast
