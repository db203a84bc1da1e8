// `versioned`, of the family of TL2 and LSA: transactional memory by a table of locks with versions and a clock. What
// must be inlined; the protocol, its invariants and what each memory order is for are in versioned_run.hpp.
#pragma once

#include <holdfast/stm/algorithm.hpp>
#include <holdfast/stm/blocks.hpp>
#include <holdfast/stm/grown_array.hpp>
#include <holdfast/stm/home.hpp>
#include <holdfast/stm/old_values.hpp>
#include <holdfast/stm/planted.hpp>
#include <holdfast/stm/registry.hpp>
#include <holdfast/stm/write_log.hpp>

#include <atomic>
#include <string_view>

#include <pthread.h>

namespace holdfast::stm {

namespace detail {
struct line_piece;
}

/// An `algorithm`. A lock covers a line of 64 bytes, so that commits to different lines run side by side. A commit with
/// stores waits, when it is through, for the transactions that began before it: then uninstrumented code may use what
/// it took out of reach, and what it freed is given back at once. That holds for the thread that took it out of reach,
/// not for a third one that learns of it in a transaction of its own while the first still waits.
/// At most 256 threads run side by side; those beyond run serially. fork(2) may be called outside a transaction.
/// `Home`: where words are, and what a commit does besides (home.hpp).
/// Source: LSA and TinySTM (Felber, Fetzer, Riegel, PPoPP 2008); quiescence (Spear, Marathe, Dalessandro, Scott, PODC
/// 2007).
template <class Home>
class basic_versioned {
public:
    using home_policy = Home;
    static constexpr std::string_view name = "versioned";

    static basic_versioned& of_this_thread() noexcept;

    bool active() const noexcept { return active_; }
    bool irrevocable() const noexcept { return irrevocable_; }

    void begin(const start& how) noexcept {
        if (slot_ == nullptr || how.serial) [[unlikely]]
            return begin_slowly(how);
        open(how);
        snapshot_ = clock_.now.load(std::memory_order_acquire);
        registry_.publish_alone(*slot_, snapshot_);
        if (serial_.load(std::memory_order_seq_cst) != nullptr) [[unlikely]]
            begin_after_serial();
    }

    [[gnu::always_inline]] word load(const word* home) { return load_noting<true>(home); }
    /// The line is in the read set already.
    [[gnu::always_inline]] word load_after_read(const word* home) { return load_noting<false>(home); }
    word load_after_write(const word* home) { return load(home); }
    [[gnu::always_inline]] word load_for_write(const word* home) {
        const write_log::entry* const last = writes_.last_of(home);
        return last != nullptr && !some_go_home_ ? load_rest_of(*last) : load_to_store(home);
    }

    [[gnu::always_inline]] void store(word* home, word what, std::uint8_t byte_mask) {
        if (detail::is_own_frame(home, frames_below_)) [[unlikely]]
            return detail::store_home(home, what, byte_mask);
        if (some_go_home_) [[unlikely]]
            return store_where_it_belongs(home, what, byte_mask);
        put(home, what, byte_mask);
    }
    void store_after_read(word* home, word what, std::uint8_t byte_mask) { store(home, what, byte_mask); }
    [[gnu::always_inline]] void store_after_write(word* home, word what, std::uint8_t byte_mask) {
        store(home, what, byte_mask);
    }

    void read_range(void* to, const void* from, std::size_t bytes);
    void write_range(void* to, const void* from, std::size_t bytes);
    void copy_range(void* to, const void* from, std::size_t bytes);
    void fill_range(void* to, int byte, std::size_t bytes);

    /// As in `value`: opens a transaction that is irrevocable, for code without barriers, if no other thread has had
    /// one. False: nothing happened. Requires: not active.
    bool begin_alone(const start& how) noexcept
        requires(!Home::keeps_words && !Home::numbers_commits)
    {
        if (slot_ == nullptr || !registry_.begin_alone()) return false;
        if (serial_.load(std::memory_order_acquire) != nullptr) [[unlikely]] {
            registry_.end_alone();
            return false;
        }
        open(how);
        keeps_reads_ = false;
        snapshot_ = above_all_versions;
        began_alone_ = alone_ = irrevocable_ = some_go_home_ = true;
        return true;
    }
    bool began_alone() const noexcept { return began_alone_; }

    bool commit() noexcept {
        if (!held_.empty() || alone_) return commit_stores();
        close(snapshot_);
        return true;
    }
    /// Where the home numbers commits: what the last commit stored, until conclude().
    const write_log& committed_writes() const noexcept { return writes_; }
    void conclude() noexcept { writes_.clear(); }
    void roll_back() noexcept;
    bool become_irrevocable() noexcept;

    void note_allocated(void* address, std::size_t bytes, std::size_t alignment, give_back back) noexcept {
        blocks_.note_allocated({address, bytes, alignment, back});
        some_go_home_ = true;
    }
    void free_at_commit(void* address, std::size_t bytes, std::size_t alignment, give_back back) noexcept {
        blocks_.note_freed({address, bytes, alignment, back});
    }

    /// Whether a block that the open transaction allocates may be stored to at once: not while a transaction that began
    /// before the block was freed may look there, since no lock tells it.
    bool may_store_to_fresh_blocks() const noexcept { return registry_.has_one_thread(); }
    /// Differs for every attempt of the thread, if the home counts them.
    std::uint64_t number_of_attempt() const noexcept { return attempts_; }
    /// Ends the attempt and begins another one, as a conflict does. Requires: active, not irrevocable; start.restart
    /// does not return.
    [[noreturn]] void begin_again() {
        conflict();
        __builtin_unreachable();
    }
    /// Waits until no transaction of another thread is open that began before now. Requires: inactive.
    static void wait_for_others() noexcept;

    // The parts of read_range and the other range functions (ranges.hpp).
    /// Nobody else can reach it: in a fresh block, or in a frame born inside. It is loaded and stored directly.
    bool is_private(const void* from, std::size_t bytes) const noexcept;
    void load_line(const word* first, unsigned count, pool_word* out);
    void store_line(const detail::line_piece& piece, const word* values);

private:
    /// Free: the version, an even number below `held_bit`. Held: held_bit, whose, and where in his held_.
    /// A plain word by itself: a table of a million std::atomic is too much for compilers to initialise at compile
    /// time.
    struct lock {
        std::uint64_t state;

        std::uint64_t load(std::memory_order order) const noexcept {
            return std::atomic_ref(const_cast<std::uint64_t&>(state)).load(order);
        }
        void store(std::uint64_t what, std::memory_order order) noexcept { std::atomic_ref(state).store(what, order); }
        /// From `expected` to held; acquires, so that what follows sees what the last holder stored.
        bool take(std::uint64_t expected, std::uint64_t held_by) noexcept {
            return std::atomic_ref(state).compare_exchange_strong(expected, held_by, std::memory_order_acq_rel,
                                                                  std::memory_order_relaxed);
        }
    };
    static constexpr std::uint64_t held_bit = std::uint64_t{1} << 63;
    static constexpr unsigned owner_shift = 40;
    static constexpr std::uint64_t place_bits = (std::uint64_t{1} << owner_shift) - 1;
    static constexpr std::uint64_t above_all_versions = held_bit - 1;
    static constexpr unsigned lock_bits = 20;
    static constexpr unsigned line_shift = 6;

    struct seen {
        const lock* of_line;
        std::uint64_t version;
    };
    struct held {
        lock* of_line;
        std::uint64_t version;  ///< before it was locked
    };
    struct alignas(128) clock {
        std::atomic<std::uint64_t> now{0};  ///< the version of the last commit, even
    };
    static constinit clock clock_;
    alignas(128) static constinit std::atomic<const basic_versioned*> serial_;
    static constinit registry registry_;
    static lock locks_[std::size_t{1} << lock_bits];
    static constinit pthread_key_t exit_key_;
    static const bool is_known_to_process_;  ///< its ends of threads and its forks are noticed

    /// Neighbouring lines have neighbouring locks. Regions of 64 MiB are shifted against each other, since allocators
    /// begin arenas at such multiples, all with the same layout.
    static lock& lock_of(const word* home) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(home);
        const std::uintptr_t regions = (at >> (line_shift + lock_bits)) << 12;
        return locks_[((at >> line_shift) ^ regions) & ((std::uintptr_t{1} << lock_bits) - 1)];
    }
    bool is_own(std::uint64_t state) const noexcept {
        if (is_planted(fault::versioned_own_lock_mistaken)) return (state & held_bit) != 0;
        return (state & ~place_bits) == own_mark_;
    }

    void open(const start& how) noexcept {
        restart_ = how.restart;
        frames_below_ = is_planted(fault::frames_buffered) ? 0 : how.frames_below;
        // A commit with a number always validates.
        const bool may_conflict = !how.read_only && (Home::numbers_commits || !registry_.has_one_thread());
        keeps_reads_ = may_conflict || (had_conflict_ && !is_planted(fault::read_set_not_kept));
        last_noted_ = nullptr;
        some_go_home_ = Home::stores_early && !Home::keeps_words && registry_.has_one_thread();
        if constexpr (Home::counts_attempts) ++attempts_;
        active_ = true;
    }
    /// From here on loads and stores are plain ones: g++ 12 has barriers behind a block whose inner one was cancelled.
    void become_inactive() noexcept {
        active_ = false;
        keeps_reads_ = false;
        some_go_home_ = true;
    }
    /// The end of every transaction that commits; `older_than`: what must be over before freed blocks are given back.
    void close(std::uint64_t older_than) noexcept {
        reads_.clear();
        become_inactive();
        had_conflict_ = false;
        if (slot_ != nullptr) [[likely]]
            registry::retract(*slot_);
        if (!blocks_.empty()) [[unlikely]]
            settle_blocks(older_than);
    }

    template <bool Noting>
    [[gnu::always_inline]] word load_noting(const word* home) {
        const lock& of_line = lock_of(home);
        const std::uint64_t version = of_line.load(std::memory_order_acquire);
        if (version > snapshot_ && !is_planted(fault::versioned_version_ignored)) [[unlikely]]
            return load_slowly(home);
        let_others_run();
        const auto found = Home::peek(home);
        let_others_run();
        if (!found.sound ||
            (of_line.load(std::memory_order_relaxed) != version && !is_planted(fault::versioned_lock_checked_once)))
            [[unlikely]]
            return load_slowly(home);
        if constexpr (Noting) {
            if (keeps_reads_ && &of_line != last_noted_) {
                if (reads_.is_full()) [[unlikely]]
                    return load_slowly(home);
                last_noted_ = &of_line;
                reads_.push_without_growing({&of_line, version});
            }
        }
        return found.value;
    }
    void note(const lock& of_line, std::uint64_t version) {
        if (!keeps_reads_ || &of_line == last_noted_) return;
        last_noted_ = &of_line;
        reads_.push({&of_line, version});
    }
    /// At once: the lock is free and not younger than the snapshot, or this transaction's.
    void lock_line_of(const word* home) {
        lock& of_line = lock_of(home);
        const std::uint64_t state = of_line.load(std::memory_order_relaxed);
        if (is_own(state)) return;
        let_others_run();
        if (!held_.is_full() && state <= snapshot_ && of_line.take(state, own_mark_ | held_.size())) [[likely]] {
            held_.push_without_growing({&of_line, state});
            return;
        }
        lock_slowly(of_line);
    }
    // What is left over is a call at the very end, as in load.
    [[gnu::always_inline]] void put(word* home, word what, std::uint8_t byte_mask) {
        if (byte_mask != 0xFF && Home::keeps(home)) [[unlikely]]
            return put_part(home, what, byte_mask);
        // Parts of words mostly follow each other; the line's lock is this transaction's then.
        if (byte_mask != 0xFF && writes_.put_at_end(home, what, byte_mask)) return;
        lock& of_line = lock_of(home);
        const std::uint64_t state = of_line.load(std::memory_order_relaxed);
        if (!is_own(state)) {
            let_others_run();
            if (held_.is_full() || state > snapshot_ || !of_line.take(state, own_mark_ | held_.size())) [[unlikely]]
                return put_slowly(home, what, byte_mask);
            held_.push_without_growing({&of_line, state});
        }
        if (!writes_.put_at_once(home, what, byte_mask)) [[unlikely]]
            put_further(home, what, byte_mask);
    }
    /// Of the blocks that the transaction allocated, the last.
    bool is_in_last_block(const word* home) const noexcept { return blocks_.fresh().last_holds(home, sizeof(word)); }
    [[gnu::noinline]] void store_elsewhere(word* home, word what, std::uint8_t byte_mask);
    [[gnu::noinline]] void put_slowly(word* home, word what, std::uint8_t byte_mask);
    [[gnu::noinline]] void put_further(word* home, word what, std::uint8_t byte_mask);
    void put_part(word* home, word what, std::uint8_t byte_mask);
    bool store_home_at_once();
    void store_where_it_belongs(word* home, word what, std::uint8_t byte_mask);
    bool goes_home(const word* home) noexcept;
    void store_home_from_now_on() noexcept;
    /// The result of the attempt to be alone.
    enum class alone { yes, somebody_else, conflict };
    alone try_alone() noexcept;

    word load_slowly(const word* home);
    word load_unsound(const word* home);
    /// load(), not inlined.
    [[gnu::noinline]] word load_apart(const word* home) { return load(home); }
    [[gnu::noinline]] word load_to_store(const word* home);
    [[gnu::noinline]] word load_rest_of(const write_log::entry& last);
    void lock_slowly(lock& of_line);
    void wait_for_lock(const lock& of_line);
    bool validate() const noexcept;
    bool extend() noexcept;
    bool commit_stores() noexcept;
    void release_locks(std::uint64_t version) noexcept;
    void settle_blocks(std::uint64_t older_than) noexcept;
    void end_alone() noexcept;
    void commit_alone() noexcept;
    void conflict();

    void begin_slowly(const start& how) noexcept;
    void begin_after_serial() noexcept;
    void enter() noexcept;
    static void leave(void* of_thread) noexcept;
    static void before_fork() noexcept;
    static void go_on_after_fork(bool in_child) noexcept;
    static void after_fork_in_parent() noexcept;
    static void after_fork_in_child() noexcept;

    std::uint64_t snapshot_ = 0;  ///< what was read is the state at this time
    std::uintptr_t frames_below_ = 0;
    std::uint64_t attempts_ = 0;
    registry::slot* slot_ = nullptr;
    std::uint64_t own_mark_ = 0;  ///< held_bit and the owner, as in a lock
    const lock* last_noted_ = nullptr;
    bool active_ = false;
    bool keeps_reads_ = false;
    bool some_go_home_ = true;  ///< irrevocable, stores home at once or may do so, has fresh blocks, or inactive
    bool irrevocable_ = false;
    bool alone_ = false;
    bool began_alone_ = false;  ///< no other thread has a slot, and there is no mark
    bool keeps_old_values_ = false;  ///< alone: stores go home at once, and can be rolled back
    bool had_conflict_ = false;
    bool stopped_others_ = false;  ///< for a fork
    grown_array<seen> reads_;
    grown_array<held> held_;
    write_log writes_;
    old_values replaced_;
    transaction_blocks blocks_;
    void (*restart_)() = nullptr;
};

using versioned = basic_versioned<plain_home>;

[[gnu::tls_model("initial-exec")]] extern constinit thread_local versioned versioned_of_this_thread;

template <>
inline versioned& versioned::of_this_thread() noexcept {
    return versioned_of_this_thread;
}
extern template class basic_versioned<plain_home>;

}  // namespace holdfast::stm
