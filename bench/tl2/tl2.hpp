// TL2, a software transactional memory by a clock and a table of versioned locks, whose commits a log makes durable.
//
// A transaction:
//   1. Begin: the snapshot is the clock.
//   2. Load: the lock of the word's line is free and not younger than the snapshot, before and after the word was read;
//      otherwise a conflict. The lock is noted.
//   3. Store: the word is kept in the write set.
//   4. Commit without stores: nothing.
//   5. Commit with stores: locks of all lines stored to, each waited for a short time; a number from the clock; unless
//      that follows the snapshot, no lock noted is held by another or younger than the snapshot.
//   6. The log makes the write set durable and stores the homes, in its own way, the locks still held.
//   7. The locks get the number as their version.
//   8. What was freed is used again once all transactions are over that began before the number.
// At a conflict nothing happened but to the locks taken, and the transaction begins again after a pause.
//
// Source: D. Dice, O. Shalev, N. Shavit, "Transactional Locking II", DISC 2006. A lock for a line of 64 bytes, and the
// table, are those of `versioned`, beside which it is measured.
#pragma once

#include <bench/tl2/blocks.hpp>
#include <bench/tl2/region.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/words.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/stm/algorithm.hpp>
#include <holdfast/stm/back_off.hpp>
#include <holdfast/stm/checkpoint.hpp>
#include <holdfast/stm/grown_array.hpp>
#include <holdfast/stm/registry.hpp>
#include <holdfast/stm/wait.hpp>
#include <holdfast/stm/write_log.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace holdfast::bench {

/// What all transactions of the program meet, whatever their log and region.
struct tl2_shared {
    /// A free lock holds the version of its lines. A held one: held_bit, whose, and which of his it is.
    static constexpr std::uint64_t held_bit = std::uint64_t{1} << 63;
    static constexpr unsigned owner_shift = 40;
    static constexpr std::uint64_t place_bits = (std::uint64_t{1} << owner_shift) - 1;

    struct alignas(128) clock {
        std::atomic<std::uint64_t> now{0};
    };
    static constinit clock clock_;
    static constinit stm::registry registry_;

    using lock = std::atomic_ref<std::uint64_t>;
    static std::uint32_t index_of(const stm::word* home) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(home);
        const std::uintptr_t regions = (at >> (line_shift + lock_bits)) << 12;
        return static_cast<std::uint32_t>(((at >> line_shift) ^ regions) & ((std::uintptr_t{1} << lock_bits) - 1));
    }
    static void prefetch_lock_of(const stm::word* home) noexcept {
        persist::prefetch_for_store(&locks_[index_of(home)]);
    }
    static lock lock_at(std::uint32_t index) noexcept { return lock(locks_[index]); }

private:
    static constexpr unsigned lock_bits = 20;
    static constexpr unsigned line_shift = 6;
    static std::uint64_t locks_[std::size_t{1} << lock_bits];
};

/// One session's transactions over a region. One thread at a time; other sessions beside it.
/// `Log` is constructible from (region&, session, Log::shared&) and has
///   has_room(words)          whether a write set of that size can be made durable
///   commit(writes, number)   step 6; `writes` is a stm::write_log
///
/// f is left at a conflict without any destructor being run, as by longjmp, and begins again.
template <class Log>
class tl2 {
public:
    tl2(region& memory, unsigned session, typename Log::shared& logs)
        : log_(memory, session, logs), blocks_(memory), slot_(tl2_shared::registry_.claim()) {
        HOLDFAST_ASSERT_ALWAYS(slot_ != nullptr, "few sessions live at once");
        own_mark_ = tl2_shared::held_bit | std::uint64_t{tl2_shared::registry_.index_of(*slot_)}
                                               << tl2_shared::owner_shift;
    }
    ~tl2() {
        stm::registry::retract(*slot_);
        stm::registry::release(*slot_);
        reads_.release();
        held_.release();
        writes_.release();
    }
    tl2(const tl2&) = delete;
    tl2& operator=(const tl2&) = delete;

    bool active() const noexcept { return active_; }

    [[gnu::always_inline]] stm::word load(const stm::word* home) {
        if (writes_.may_hold(home)) [[unlikely]]
            return load_stored(home);
        return load_shared(home);
    }
    [[gnu::always_inline]] void store(stm::word* home, stm::word value, std::uint8_t mask) {
        if (!writes_.put_at_once(home, value, mask)) [[unlikely]]
            writes_.put_further(home, value, mask);
    }

    void* allocate(std::size_t bytes) {
        void* const made = blocks_.allocate(bytes);
        if (made == nullptr) leave(no_room);
        return made;
    }
    void free(void* block) { blocks_.free(block); }

    /// True when it committed; false when there was no room for its blocks or in the log, and nothing happened.
    template <class F>
    bool atomically(F&& f) {
        if (active_) {
            f();
            return true;
        }
        return run_outermost(f);
    }

private:
    enum outcome : int { has_begun = 0, met_conflict = 1, no_room = 2, committed = 3 };

    template <class F>
    [[gnu::noinline]] bool run_outermost(F& f) {
        pauses_.reset();
        const int arrived = stm::holdfast_stm_save(&here_);
        if (arrived == no_room) return false;
        if (arrived == met_conflict) pauses_.conflict();
        for (;;) {
            const outcome how = run_once(f);
            if (how == committed) return true;
            roll_back();
            if (how == no_room) return false;
            pauses_.conflict();
        }
    }
    template <class F>
    outcome run_once(F& f) {
        try {
            begin();
            f();
            return commit();
        } catch (...) {
            roll_back();
            throw;
        }
    }
    [[noreturn, gnu::noinline]] void leave(outcome why) {
        roll_back();
        stm::resume(here_, why);
    }

    void begin() noexcept {
        snapshot_ = tl2_shared::clock_.now.load(std::memory_order_acquire);
        stm::registry::publish_cheaply(*slot_, snapshot_);
        last_noted_ = no_lock;
        active_ = true;
    }
    void end() noexcept {
        reads_.clear();
        writes_.clear();
        active_ = false;
        stm::registry::retract(*slot_);
    }
    void roll_back() {
        end();
        blocks_.rolled_back();
    }

    [[gnu::always_inline]] stm::word load_shared(const stm::word* home) {
        const std::uint32_t index = tl2_shared::index_of(home);
        const auto of_line = tl2_shared::lock_at(index);
        const std::uint64_t version = of_line.load(std::memory_order_acquire);
        if (version > snapshot_) [[unlikely]]
            leave(met_conflict);
        const stm::word found = stm::detail::load_home(home);
        if (of_line.load(std::memory_order_relaxed) != version) [[unlikely]]
            leave(met_conflict);
        if (index != last_noted_) {
            last_noted_ = index;
            reads_.push(index);
        }
        return found;
    }
    [[gnu::noinline]] stm::word load_stored(const stm::word* home) {
        const auto* const own = writes_.find(home);
        if (own == nullptr) return load_shared(home);
        return own->mask() == 0xFF ? own->value : merged(load_shared(home), own->value, own->mask());
    }

    bool is_own(std::uint64_t state) const noexcept { return (state & ~tl2_shared::place_bits) == own_mark_; }

    /// Gives all locks back, with the version that they had or a new one.
    struct release_at_end {
        tl2& of;
        std::uint64_t version = 0;
        ~release_at_end() {
            for (const held& each : of.held_)
                tl2_shared::lock_at(each.index)
                    .store(version != 0 ? version : each.version, std::memory_order_release);
            of.held_.clear();
        }
    };

    outcome commit() {
        if (writes_.empty()) {
            end();
            blocks_.committed(snapshot_);
            return committed;
        }
        if (!log_.has_room(writes_.size())) return no_room;
        std::uint64_t number = 0;
        {
            release_at_end locks{*this};
            prefetch();
            for (const auto& each : writes_)
                if (!acquire(each.home())) return met_conflict;
            number = tl2_shared::clock_.now.fetch_add(1, std::memory_order_seq_cst) + 1;
            if (number != snapshot_ + 1 && !validate()) return met_conflict;
            // Whoever reads a home that the log stores sees the locks held.
            std::atomic_thread_fence(std::memory_order_release);
            log_.commit(writes_, number);
            locks.version = number;
        }
        end();
        settle_blocks(number);
        return committed;
    }
    /// What steps 5 and 6 store to is fetched at once. Locks are taken one after another by instructions that wait for
    /// each other, and so would the misses: groups of ten random words take half as long this way.
    void prefetch() const noexcept {
        for (const auto& each : writes_) {
            tl2_shared::prefetch_lock_of(each.home());
            persist::prefetch_for_store(each.home());
        }
    }
    bool acquire(const stm::word* home) {
        constexpr unsigned most_pauses = 100;
        const std::uint32_t index = tl2_shared::index_of(home);
        auto of_line = tl2_shared::lock_at(index);
        for (unsigned pauses = 0; pauses < most_pauses; ++pauses) {
            std::uint64_t state = of_line.load(std::memory_order_relaxed);
            if (is_own(state)) return true;
            if ((state & tl2_shared::held_bit) == 0 &&
                of_line.compare_exchange_strong(state, own_mark_ | held_.size(), std::memory_order_acq_rel,
                                                std::memory_order_relaxed)) {
                held_.push({index, state});
                return true;
            }
            stm::relax_processor();
        }
        return false;
    }
    bool validate() const noexcept {
        for (const std::uint32_t index : reads_) {
            const std::uint64_t state = tl2_shared::lock_at(index).load(std::memory_order_acquire);
            const std::uint64_t version = is_own(state) ? held_[state & tl2_shared::place_bits].version : state;
            if (version > snapshot_) return false;
        }
        return true;
    }
    void settle_blocks(std::uint64_t number) {
        blocks_.committed(number);
        if (!blocks_.is_due()) return;
        stm::registry::order_other_threads();
        blocks_.give_back_until(tl2_shared::registry_.oldest());
    }

    struct held {
        std::uint32_t index;
        std::uint64_t version;  ///< before it was locked
    };
    static constexpr std::uint32_t no_lock = ~std::uint32_t{0};

    std::uint64_t snapshot_ = 0;
    std::uint32_t last_noted_ = no_lock;
    bool active_ = false;
    std::uint64_t own_mark_ = 0;
    stm::grown_array<std::uint32_t> reads_;
    stm::grown_array<held> held_;
    stm::write_log writes_;
    Log log_;
    session_blocks blocks_;
    stm::registry::slot* slot_;
    stm::back_off pauses_;
    stm::checkpoint here_{};
};

/// The workloads' access to memory in a session's transactions; see workload/access.hpp. Copyable.
template <class Log>
class tl2_access {
public:
    explicit tl2_access(tl2<Log>& session) noexcept : session_(&session) {}

    template <class T>
    T load(const T* home) const {
        if (!session_->active()) return *home;
        return load_value<T>(*session_, home);
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& what) const {
        store_value<T>(*session_, home, what);
    }
    template <class T>
    void will_write(T*) const noexcept {}
    void* allocate(std::size_t bytes) const { return session_->allocate(bytes); }
    void free(void* block) const { session_->free(block); }

    template <class F>
    bool atomically(F&& f) const {
        return session_->atomically(f);
    }
    /// A lock that others take for the same data is not needed.
    template <class Lock, class F>
    bool atomically(Lock&, F&& f) const {
        return session_->atomically(f);
    }

private:
    tl2<Log>* session_;
};

}  // namespace holdfast::bench
