// cc_htm, continuous checkpointing: transactions that isolate themselves, and are in the log in the order of their
// effects. What must be inlined; the protocol is in cc_htm.cpp.
#pragma once

#include <holdfast/engine/attempts.hpp>
#include <holdfast/engine/cc_htm_commit.hpp>

namespace holdfast {

/// A transaction that the algorithm `Isolation` of stm/ isolates. One object per thread, reused.
template <class Isolation>
class cc_htm_transaction final : public cc_htm_commit {
    static constexpr bool is_hardware = requires { typename Isolation::hardware_policy; };

public:
    ~cc_htm_transaction() {
        // The thread ends inside, or the transaction was lost in a forked child.
        if (Isolation::of_this_thread().active()) Isolation::of_this_thread().roll_back();
    }

    std::uint64_t load(const pool_word* home) {
        if (offset_of(home) >= size_) [[unlikely]]
            return load_outside(home);
        return Isolation::of_this_thread().load(as_words(home));
    }
    void store(pool_word* home, std::uint64_t value, std::uint8_t mask) {
        if (offset_of(home) >= size_) [[unlikely]]
            return store_outside(home, value, mask);
        Isolation::home_policy::prefetch(home);
        Isolation::of_this_thread().store(as_words(home), value, mask);
    }

    /// `alone`: no other transaction commits or loads until this one ends.
    void begin(open_pool& pool, bool alone) noexcept(persist::noexcept_seam) {
        begin_in(pool);
        Isolation::home_policy::begin(pool, alone);
        // A commit on a file can be refused when it joins a group, which one of the processor cannot.
        const bool must_be_serial = is_hardware && pool.homes_are_private();
        Isolation::of_this_thread().begin({.serial = alone || must_be_serial, .restart = &restart});
    }
    /// Commits: makes the stores visible and logs them.
    result<void> seal() {
        Isolation& isolation = Isolation::of_this_thread();
        if (!isolation.commit()) return take_refusal();
        log_commit(isolation.committed_writes());
        isolation.conclude();
        forget_refusals();
        // A freed block may be used again by a later commit: recovery keeps prefixes, and has none without this one.
        settle_heap(number_in_log());
        return {};
    }
    void roll_back() noexcept(persist::noexcept_seam) {
        if (Isolation::of_this_thread().active()) Isolation::of_this_thread().roll_back();
        give_number_back();
        roll_heap_back();
        if (!met_conflict()) forget_refusals();
    }
#ifdef HOLDFAST_OBSERVED
    /// After a simulated crash: drops what the thread remembers, leaving the pool as it is.
    void forget() noexcept {
        if (Isolation::of_this_thread().active()) Isolation::of_this_thread().roll_back();
        Isolation::of_this_thread().conclude();
        forget_commit();
        roll_heap_back();
    }
#endif

    void give_way() override {
        if (!met_conflict()) Isolation::of_this_thread().roll_back();
        lose_attempt();
        gives_way_ = true;
        throw_conflict();
    }
    void deallocate(void* address) {
        if (met_conflict()) return throw_conflict();
        try {
            transaction_base::deallocate(address);
            note_released(address);
        } catch (const failure& reason) {
            if (reason.reason().code != errc::misuse || !may_be_of_others(address)) throw;
            Isolation::of_this_thread().roll_back();
            lose_attempt();
            pause_for_others();
            throw_conflict();
        }
    }
    void store(void* home, const void* bytes, std::size_t size) override { store_bytes(*this, home, bytes, size); }
    void load_into(const void* home, void* bytes, std::size_t size) override { load_bytes(*this, home, bytes, size); }

private:
    static stm::word* as_words(pool_word* home) noexcept { return home; }
    static const stm::word* as_words(const pool_word* home) noexcept { return home; }

    /// The isolation has met a conflict. Returns only where nothing may be thrown.
    static void restart() {
        auto& mine = static_cast<cc_htm_transaction&>(*of_this_thread_);
        Isolation::of_this_thread().roll_back();
        mine.lose_attempt();
        mine.throw_conflict();
    }

    [[gnu::cold, gnu::noinline]] std::uint64_t load_outside(const pool_word* home) {
        if (met_conflict()) {
            throw_conflict();
            return 0;
        }
        if (!pool_->contains(home)) {
            // In another pool, perhaps, where the newest word may be an alias.
            std::uint64_t value = 0;
            detail::read_committed(home, &value, sizeof value);
            return value;
        }
        // The pool has grown since the transaction began.
        size_ = pool_->size();
        return load(home);
    }
    [[gnu::cold, gnu::noinline]] void store_outside(pool_word* home, std::uint64_t value, std::uint8_t mask) {
        if (met_conflict()) return throw_conflict();
        if (pool_->contains(home)) {
            size_ = pool_->size();
            return store(home, value, mask);
        }
        check_in_no_other_pool(home);
        persist::store_word(home, value, mask, persist::site::redo_home);
    }
};

/// Continuous checkpointing over an algorithm of stm/. `using store = holdfast::cc_htm;`
///
/// pool.atomically(f) needs no lock: transactions isolate themselves, also from those of other threads that take locks.
/// f runs again after a conflict with another thread: its changes outside the pool must not matter, its objects are
/// destroyed, and the actions that it registered by on_commit and on_abort are discarded. Inside f, noexcept functions
/// and destructors of objects outside the pool must not load or store in the pool. A read outside of transactions
/// returns the newest committed word of each field.
template <class Isolation>
struct basic_cc_htm : engine_interface<basic_cc_htm<Isolation>> {
    using transaction = cc_htm_transaction<Isolation>;
    static constexpr bool isolates = true;
    static constexpr aliases_in aliases = Isolation::home_policy::aliases;
    static constexpr bool has_shared_aliases = aliases != aliases_in::pages;
    static constexpr engine_description description{
        .name = "cc_htm", .isolation = Isolation::name, .checkpoints = true, .aliases = aliases};

    /// Outside of transactions, with shared aliases: copies bytes as the commits so far left them. Each word is from
    /// some commit, the newest where no other is in flight. Bytes in no open pool are copied as they are.
    static void read(const void* home, void* to, std::size_t bytes) { detail::read_committed(home, to, bytes); }
};

/// By the algorithm `value`: one counter, reads compared by value.
using cc_htm = basic_cc_htm<detail::isolation_by_value>;
/// By the algorithm `versioned`: a lock and a version for each line.
using cc_htm_versioned = basic_cc_htm<detail::isolation_by_version>;
/// By hardware transactions; alone if those keep aborting or are not available (htm::obstacle_here()), and on a file at
/// `power` and `lag`. The function may begin again without an exception: the abort of a hardware transaction also takes
/// back what it stored outside of the pool.
using cc_htm_hardware = basic_cc_htm<detail::isolation_by_hardware>;

}  // namespace holdfast
