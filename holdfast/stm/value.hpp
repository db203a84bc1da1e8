// `value`, of the family of NOrec: transactional memory by one sequence counter and by comparing values. What must
// be inlined; the protocol, its invariants and what each memory order is for are in value_run.hpp.
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

/// An `algorithm`. Readers meet nothing but the counter; commits with stores are serial. Privatisation needs no
/// waiting: once a transaction has committed, uninstrumented code may use what it took out of reach, but not unmap it.
/// What it frees through free_at_commit stays mapped until no transaction that began before can compare it, and a
/// thread's end waits for that. At most 256 threads run side by side; those beyond run serially. fork(2) may be called
/// outside a transaction.
/// `Home`: where words are, and what a commit does besides (home.hpp).
/// Source: NOrec (Dalessandro, Spear, Scott, PPoPP 2010).
template <class Home>
class basic_value {
public:
    using home_policy = Home;
    static constexpr std::string_view name = "value";

    static basic_value& of_this_thread() noexcept;

    bool active() const noexcept { return active_; }
    bool irrevocable() const noexcept { return irrevocable_; }

    void begin(const start& how) noexcept {
        if (slot_ == nullptr || how.serial) [[unlikely]]
            return begin_slowly(how);
        open(how);
        snapshot_ = sequence_.now.load(std::memory_order_acquire);
        if ((snapshot_ & 1) != 0) [[unlikely]]
            snapshot_ = wait_for_even();
        registry::publish_cheaply(*slot_, snapshot_);
    }

    /// Opens a transaction that is irrevocable, for code without barriers, if no other thread has had one: none begins
    /// before its end. False: another one has, or this thread has had none, and nothing happened. Requires: not active.
    bool begin_alone(const start& how) noexcept
        requires(!Home::keeps_words && !Home::numbers_commits)
    {
        if (slot_ == nullptr || !registry_.begin_alone()) return false;
        snapshot_ = sequence_.now.load(std::memory_order_acquire);
        if ((snapshot_ & 1) != 0) [[unlikely]] {
            registry_.end_alone();
            return false;
        }
        open(how);
        loads_ = loads::plainly;
        keeps_reads_ = false;
        began_alone_ = alone_ = irrevocable_ = some_go_home_ = true;
        return true;
    }
    bool began_alone() const noexcept { return began_alone_; }

    // What is left over is a call at the very end: a load that meets nothing unusual saves no register.
    [[gnu::always_inline]] word load(const word* home) {
        if (loads_ == loads::plainly) return load_shared(home);
        if (loads_ == loads::own && writes_.may_hold(home) && !is_planted(fault::own_stores_unseen)) [[unlikely]]
            return load_stored<true>(home);
        if (detail::is_own_frame(home, frames_below_)) [[unlikely]]
            return detail::load_home(home);
        // Behind its first store the only thread comes here, too.
        return keeps_reads_ ? load_keeping(home) : load_shared(home);
    }
    /// The word is in the read set already.
    [[gnu::always_inline]] word load_after_read(const word* home) {
        if (loads_ == loads::own && writes_.may_hold(home) && !is_planted(fault::hint_read_trusted_for_write))
            [[unlikely]]
            return load_stored<false>(home);
        return load_shared(home);
    }
    word load_after_write(const word* home) { return load(home); }
    [[gnu::always_inline]] word load_for_write(const word* home) {
        const write_log::entry* const last = writes_.last_of(home);
        return last != nullptr && !some_go_home_ ? load_rest_of(*last) : load_apart(home);
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

    bool commit() noexcept {
        if (!writes_.empty() || alone_) return commit_stores();
        close();
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

    /// Whether a block that the open transaction allocates may be stored to at once. A transaction that began before
    /// the block was freed finds that the counter has moved, and does not believe what it read.
    bool may_store_to_fresh_blocks() const noexcept { return true; }
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

    /// The counter, for transactions that are not this algorithm's (htm/hybrid.hpp): it is odd while a commit stores or
    /// somebody is alone. Who stores to homes without making it odd adds 2 in the same moment as he stores.
    static word* counter() noexcept { return reinterpret_cast<word*>(&sequence_.now); }
    /// There may be threads with such transactions and no others, whose commits must not restart each of this thread's.
    static void note_threads_without_slot() noexcept { registry_.note_threads_without_slot(); }
    /// Loads of such a transaction, which go through this object while it is inactive, find the counter where it was.
    void follow(std::uint64_t counter) noexcept { snapshot_ = counter; }

    // The parts of read_range and the other range functions (ranges.hpp).
    /// Nobody else can reach it: in a fresh block, or in a frame born inside. It is loaded and stored directly.
    bool is_private(const void* from, std::size_t bytes) const noexcept;
    void load_line(const word* first, unsigned count, pool_word* out);
    void store_line(const detail::line_piece& piece, const word* values);

private:
    /// What a load has to think of: nothing; the read set; and, once something was stored, the write set.
    enum class loads : std::uint8_t { plainly, keeping, own };
    struct seen {
        const word* home;
        word found;
    };
    /// Words that were read together. Their values are in words_of_runs_, behind those of the runs before.
    struct run {
        const word* first;
        std::size_t words;
    };
    /// Alone in its lines: every thread reads it at every load.
    struct alignas(128) sequence {
        std::atomic<std::uint64_t> now{0};      ///< odd: somebody commits or is alone
        std::atomic<unsigned> wanted_alone{0};  ///< threads that wait to be alone: commits let them go first
        std::atomic<bool> others_must_end{false};  ///< who has made `now` odd is irrevocable
    };
    static constinit sequence sequence_;
    static constinit registry registry_;
    static constinit pthread_key_t exit_key_;
    static const bool is_known_to_process_;  ///< its ends of threads and its forks are noticed

    void open(const start& how) noexcept {
        restart_ = how.restart;
        frames_below_ = is_planted(fault::frames_buffered) ? 0 : how.frames_below;
        // A guess, since another one may come at any time: conflicts are found in either case.
        const bool seems_alone = registry_.has_one_thread() || everyone_seems_alone;
        const bool may_conflict = !how.read_only && !seems_alone;
        keeps_reads_ = may_conflict || (had_conflict_ && !is_planted(fault::read_set_not_kept));
        loads_ = keeps_reads_ ? loads::keeping : loads::plainly;
        some_go_home_ = may_store_early();
        if constexpr (Home::counts_attempts) ++attempts_;
        active_ = true;
    }
    /// From here on loads and stores are plain ones: g++ 12 has barriers behind a block whose inner one was cancelled.
    void become_inactive() noexcept {
        active_ = false;
        keeps_reads_ = false;
        loads_ = loads::plainly;
        some_go_home_ = true;
    }
    void forget_reads() noexcept {
        reads_.clear();
        if (!runs_.empty()) [[unlikely]] {
            runs_.clear();
            words_of_runs_.clear();
        }
    }
    /// The end of every transaction.
    void close() noexcept {
        forget_reads();
        become_inactive();
        had_conflict_ = false;
        if (slot_ != nullptr) [[likely]]
            registry::retract(*slot_);
        if (!blocks_.empty()) [[unlikely]]
            settle_blocks();
    }

    [[gnu::always_inline]] bool has_moved() const noexcept {
        return sequence_.now.load(std::memory_order_acquire) != snapshot_ &&
               !is_planted(fault::value_sequence_unchecked);
    }
    [[gnu::always_inline]] word load_shared(const word* home) {
        const auto found = Home::peek(home);
        let_others_run();
        if (has_moved() || !found.sound) [[unlikely]]
            return load_closely(home);
        return found.value;
    }
    [[gnu::always_inline]] void put(word* home, word what, std::uint8_t byte_mask) {
        if (byte_mask != 0xFF && Home::keeps(home)) [[unlikely]]
            return put_part(home, what, byte_mask);
        loads_ = loads::own;
        // Parts of words mostly follow each other.
        if (byte_mask != 0xFF && writes_.put_at_end(home, what, byte_mask)) return;
        if (!writes_.put_at_once(home, what, byte_mask)) [[unlikely]]
            put_further(home, what, byte_mask);
    }
    /// Whether the first store is home at once.
    static bool may_store_early() noexcept {
        return Home::stores_early && !Home::keeps_words && registry_.has_one_thread();
    }
    /// Of the blocks that the transaction allocated, the last.
    bool is_in_last_block(const word* home) const noexcept { return blocks_.fresh().last_holds(home, sizeof(word)); }
    [[gnu::noinline]] void store_elsewhere(word* home, word what, std::uint8_t byte_mask);
    [[gnu::noinline]] void put_further(word* home, word what, std::uint8_t byte_mask);
    void put_part(word* home, word what, std::uint8_t byte_mask);
    bool store_home_at_once();
    void store_home_from_now_on() noexcept;
    void store_rest_home() noexcept;
    void end_others() noexcept;
    void read_words(void* to, const word* from, std::size_t count);
    bool may_hold_some(const word* first, std::size_t count) const noexcept;
    void store_where_it_belongs(word* home, word what, std::uint8_t byte_mask);

    [[gnu::always_inline]] word load_keeping(const word* home) {
        if (reads_.is_full()) [[unlikely]]
            return load_and_keep(home);
        const auto found = Home::peek(home);
        let_others_run();
        if (has_moved() || !found.sound) [[unlikely]]
            return load_and_keep(home);
        reads_.push_without_growing({home, found.value});
        return found.value;
    }

    template <bool Keeping>
    [[gnu::noinline]] word load_stored(const word* home);
    /// load(), not inlined.
    [[gnu::noinline]] word load_apart(const word* home) { return load(home); }
    [[gnu::noinline]] word load_rest_of(const write_log::entry& last);
    word load_and_keep(const word* home);
    word load_closely(const word* home);
    word load_unsound(const word* home);
    static std::uint64_t wait_for_even() noexcept;
    bool validate() noexcept;
    bool runs_hold() noexcept;
    bool take_sequence() noexcept;
    bool commit_stores() noexcept;
    void commit_alone() noexcept;
    void settle_blocks() noexcept;
    void conflict();

    void begin_slowly(const start& how) noexcept;
    void enter() noexcept;
    static void leave(void* of_thread) noexcept;
    static void before_fork() noexcept;
    static void go_on_after_fork(bool in_child) noexcept;
    static void after_fork_in_parent() noexcept;
    static void after_fork_in_child() noexcept;

    std::uint64_t snapshot_ = 0;  ///< what was read is the state at this sequence; odd: the sequence is this thread's
    std::uintptr_t frames_below_ = 0;
    std::uint64_t attempts_ = 0;
    registry::slot* slot_ = nullptr;
    bool active_ = false;
    bool keeps_reads_ = false;
    loads loads_ = loads::plainly;
    bool some_go_home_ = true;  ///< irrevocable, stores home at once, has fresh blocks, or inactive
    bool irrevocable_ = false;
    bool alone_ = false;  ///< the sequence is odd because of this transaction, or no other thread has a slot
    bool began_alone_ = false;  ///< the latter, and the sequence is as it was
    bool keeps_old_values_ = false;  ///< stores go home at once, and can be rolled back
    bool had_conflict_ = false;
    bool stopped_others_ = false;  ///< for a fork
    grown_array<seen> reads_;
    grown_array<run> runs_;
    grown_array<word> words_of_runs_;
    write_log writes_;
    old_values replaced_;
    transaction_blocks blocks_;
    void (*restart_)() = nullptr;
    limbo limbo_;
};

using value = basic_value<plain_home>;

[[gnu::tls_model("initial-exec")]] extern constinit thread_local value value_of_this_thread;

template <>
inline value& value::of_this_thread() noexcept {
    return value_of_this_thread;
}
extern template class basic_value<plain_home>;

}  // namespace holdfast::stm
