// Transactions of several threads under one combining_mutex share one commit: flat combining, with the lock's holder as
// the combiner. Owns: the group. Source: Hendler, Incze, Shavit, Tzafrir, Flat Combining and the
// Synchronization-Parallelism Tradeoff, SPAA 2010.
//
// Protocol
//   1. A caller takes the lock, or waits for it and is served meanwhile: on the lock's chain, or by posting its
//      function in the publication list (combining_mutex.hpp). One that has the lock leads a group: it opens its
//      thread's transaction, and looks at the publication list once.
//   2. It runs its own function, while the lines of the posted ones travel here, and then those of the threads that
//      wait: of the chain in order of arrival, and behind them the posted ones. Each is a part of the transaction
//      (parts.cpp): one that throws, returns an error or is doomed is taken back alone, and its caller is told so. What
//      a function registers with on_commit and on_abort is kept for its caller.
//   3. The group ends when it knows of nobody else who waits, or the next one wants another pool or the lock itself;
//      after 64 functions; when the record is longer than 2 KiB; after a function that acquired further locks, since
//      holding them while another one runs could be a deadlock that no function alone contains; and after one that
//      changed the heap by more than small blocks, which is taken back only with everything behind it. It waits for
//      nobody: a commit takes about as long as a thread that was answered needs to come again.
//   4. The engine commits the transaction as any other: one record, one FENCE. The record is sealed as a whole, so a
//      cut leaves all of the group or nothing. A record that does not fit fails the last function only, if the others
//      fit. Other errors of the commit, and std::bad_alloc, are everybody's.
//   5. Callers that posted are told how it ended. Not before the fence: a result that is known earlier may be lost in a
//      cut.
//   6. The lock is handed to the thread that waits longest. On a file at `power` the sync that commits share is waited
//      for only now.
//   7. The other callers are told. All run their actions on their own threads.
// There is no limit of time: the leader runs the functions of the waiting threads, as they would have waited for its
// own; and it leads one group only.
//
// A function runs on one thread, once. If that thread ends inside it (pthread_exit), the whole group is rolled back,
// and its other callers get `aborted`. A child that is forked inside it has nothing of the group, as of any
// transaction; the threads that wait do not exist there.
#pragma once

#include <holdfast/engine/combining_mutex.hpp>
#include <holdfast/engine/run.hpp>
#ifdef HOLDFAST_OBSERVED
#include <holdfast/engine/planted.hpp>
#endif

#include <cxxabi.h>

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::detail {

/// One caller's function, which the leader runs.
class combined_call : public waiting_thread {
public:
    enum class outcome : std::uint8_t { open, committed, rolled_back, unknown };

    /// Runs the function. What it throws is kept, unless the thread itself is ending. False: it failed.
    bool run(transaction_base& transaction) { return run_(*this, transaction); }

    /// Takes over the actions that the function registered. False: there are none.
    bool keep_actions(transaction_base& transaction) noexcept {
        if (transaction.on_commit.empty() && transaction.on_abort.empty()) [[likely]]
            return false;
        registered_.on_commit.swap(transaction.on_commit);
        registered_.on_abort.swap(transaction.on_abort);
        return true;
    }
    void drop_actions() noexcept { registered_ = {}; }

protected:
    using runner = bool(combined_call&, transaction_base&);
    struct actions {
        std::vector<std::function<void()>> on_commit;
        std::vector<std::function<void()>> on_abort;
    };
    combined_call(const open_pool& pool, runner* runs, actions& registered) noexcept
        : waiting_thread(&pool), run_(runs), registered_(registered) {}

private:
    runner* run_;
    actions& registered_;  ///< elsewhere: rarely looked at

public:
    kept_error problem;
    std::exception_ptr thrown;
    outcome end = outcome::open;
    bool has_actions = false;
};

template <class R, class F>
class combined_call_of final : public combined_call {
public:
    combined_call_of(const open_pool& pool, F& f) noexcept : combined_call(pool, &run_here, actions_), f_(f) {}

    /// Back on the caller's thread.
    template <class Engine>
    result<R> finish() {
        if (answered() == answer::committed) [[likely]] {
            persist::tell_committed();
            return held_.take();
        }
        if (end == outcome::committed) persist::tell_committed();
        if (has_actions) [[unlikely]]
            run_actions<Engine>();
        if (thrown) [[unlikely]]
            std::rethrow_exception(std::exchange(thrown, nullptr));
        if (problem) [[unlikely]]
            return std::move(problem);
        return held_.take();
    }

private:
    static bool run_here(combined_call& call, transaction_base& transaction) {
        auto& self = static_cast<combined_call_of&>(call);
        try {
            kept_error problem = run_function<R>(transaction, self.f_, self.held_);
            if (!problem) [[likely]]
                return true;
            self.problem = std::move(problem);
        } catch (const abi::__forced_unwind&) {
            throw;
#ifdef HOLDFAST_OBSERVED
        } catch (const persist::simulated_crash&) {
            throw;
#endif
        } catch (...) {
            self.thrown = std::current_exception();
        }
        return false;
    }
    template <class Engine>
    void run_actions() noexcept(persist::noexcept_seam) {
        auto& transaction = transaction_runner::of_this_thread<Engine>();
        transaction.on_commit.swap(actions_.on_commit);
        transaction.on_abort.swap(actions_.on_abort);
        if (end == outcome::unknown) return transaction_runner::drop_actions(transaction);
        transaction_runner::run_actions(transaction, end == outcome::committed);
    }

    F& f_;
    held_value<R> held_;
    actions actions_;
};

/// The calls that one transaction serves. Belongs to the thread that leads.
template <class Engine>
class combined_group {
public:
    combined_group(combining_mutex& lock, open_pool& pool, combined_call& own,
                   typename Engine::transaction& transaction) noexcept
        : lock_(lock), pool_(pool), own_(own), transaction_(transaction), held_{&lock} {
        transaction_runner::note_outermost(transaction_, held_);
        transaction_.begin(pool);
        transaction_runner::open<Engine>(transaction_);
    }
    /// The thread ends inside a function, if the group has not ended.
    ~combined_group() {
        if (!has_ended_) abandon();
    }
    combined_group(const combined_group&) = delete;
    combined_group& operator=(const combined_group&) = delete;

    void run() {
        lock_.look_at_records();
        for (combined_call* next = &own_; next != nullptr; next = next_call()) {
            member& each = members_[count_++];
            each.call = next;
            each.end = outcome::open;
            each.has_actions = false;
            transaction_.begin_part();
            const bool succeeded = each.call->run(transaction_);
            if (open_transaction != &transaction_) [[unlikely]]
                return lose();
            each.has_actions = each.call->keep_actions(transaction_);
            if (succeeded) [[likely]] {
                ++succeeded_;
            } else {
                const busy_section busy;
                fail_last();
            }
        }
        commit();
    }

#ifdef HOLDFAST_OBSERVED
    /// The process "died": the threads that wait are told the same.
    void die(std::exception_ptr crash) noexcept {
        transaction_runner::leave<Engine>();
        transaction_runner::set_busy(false);
        transaction_.forget();
        transaction_runner::forget_doom(transaction_);
        transaction_runner::drop_actions(transaction_);
        for_each_open([&](combined_call& each) { each.thrown = crash; });
        end_as(outcome::unknown);
        release_locks();
        answer_others();
    }
#endif

private:
    using outcome = combined_call::outcome;
    /// What is known of a call stands here: each look at the call itself would wait for its line.
    struct member {
        combined_call* call;
        publication_record* record;  ///< where it is answered; nullptr: in the call
        outcome end;
        bool has_actions;
    };
    static_assert(std::is_trivial_v<member>, "a group does not begin with filling the room for all of its members");
    static constexpr unsigned calls_at_most = 64;

    /// Also notes where it is answered.
    combined_call* next_call() noexcept {
        if (count_ == calls_at_most) return nullptr;
        if (transaction_runner::holds_joined(transaction_) || !transaction_.takes_another_part()) [[unlikely]]
            return nullptr;
        publication_record*& record = members_[count_].record = nullptr;
        if (waiting_thread* const waiting = lock_.take_waiting(&pool_)) return static_cast<combined_call*>(waiting);
        record = lock_.take_published(&pool_);
        return record == nullptr ? nullptr : static_cast<combined_call*>(&record->request());
    }
    void fail_last() noexcept(persist::noexcept_seam) {
        transaction_.roll_back_part();
        transaction_runner::forget_doom(transaction_);
        members_[count_ - 1].end = outcome::rolled_back;
    }

    void commit() noexcept(persist::noexcept_seam) {
        {
            const busy_section busy;
            transaction_runner::leave<Engine>();
            const bool is_sealed = seal();
            if (is_sealed && !pool_.homes_are_private()) [[likely]]
                end_as(outcome::committed);
            if (!is_sealed) transaction_.roll_back();
            release_locks();
            if (is_sealed) settle();
        }
        answer_others();
    }
    /// False: nobody is committed, and everybody has been told why.
    bool seal() noexcept(persist::noexcept_seam) {
        if (succeeded_ == 0) return false;
#ifdef HOLDFAST_OBSERVED
        if (count_ > 1) {
            if (is_planted(planted::combined_record_torn)) transaction_.plant_torn_record();
            if (is_planted(planted::result_before_fence)) answer_others_early();
        }
#endif
        try {
            auto problem = transaction_.seal().give_error();
            const member& last = members_[count_ - 1];
            const bool may_be_the_last = succeeded_ > 1 && last.end == outcome::open;
            if (problem && problem->code == errc::transaction_too_large && may_be_the_last) {
                last.call->problem = std::move(problem);
                fail_last();
                problem = transaction_.seal().give_error();
            }
            if (!problem) return true;
            fail_all([&](combined_call& each) { each.problem = keep(*problem); });
#ifdef HOLDFAST_OBSERVED
        } catch (const persist::simulated_crash&) {
            throw;
#endif
        } catch (...) {
            fail_all([thrown = std::current_exception()](combined_call& each) { each.thrown = thrown; });
        }
        return false;
    }
    void settle() noexcept(persist::noexcept_seam) {
        const auto problem = transaction_.settle().give_error();
        if (problem)
            for_each_open([&](combined_call& each) { each.problem = keep(*problem); });
        end_as(problem ? outcome::unknown : outcome::committed);
    }

    /// A function forked, and this is the child.
    void lose() noexcept {
        has_ended_ = true;
        transaction_runner::drop_lost(transaction_);
        own_.drop_actions();
        own_.thrown = nullptr;
        own_.problem = keep(lost_in_child());
        lock_.forget_waiting();
        release_joined();
        lock_.unlock();
    }
    void abandon() noexcept(persist::noexcept_seam) {
        if (open_transaction != &transaction_) return lose();
        {
            const busy_section busy;
            transaction_runner::leave<Engine>();
            transaction_.roll_back();
            transaction_runner::forget_doom(transaction_);
            transaction_runner::drop_actions(transaction_);
        }
        fail_all([](combined_call& each) { each.problem = group_aborted(); });
        release_locks();
        answer_others();
    }
    void release_joined() noexcept {
        transaction_runner::note_outermost(transaction_, {});
        transaction_runner::release_joined(transaction_);
    }
    void release_locks() noexcept {
        // First: the mutex may be the answered caller's own.
        release_joined();
        answer_records();
        lock_.unlock();
    }

    template <class F>
    void for_each_open(F&& f) {
        for (unsigned i = 0; i < count_; ++i)
            if (members_[i].end == outcome::open) f(*members_[i].call);
    }
    void end_as(outcome end) noexcept {
        for (unsigned i = 0; i < count_; ++i)
            if (members_[i].end == outcome::open) members_[i].end = end;
    }
    template <class F>
    void fail_all(F&& explain) {
        for_each_open(explain);
        end_as(outcome::rolled_back);
    }

    /// What the caller is to be told. `committed` says all, and so nothing is written to the call's line.
    static waiting_thread::answer answer_of(const member& one) noexcept {
        if (one.end == outcome::committed && !one.has_actions) return waiting_thread::answer::committed;
        one.call->end = one.end;
        one.call->has_actions = one.has_actions;
        return waiting_thread::answer::served;
    }
    /// Those whose answer is a store to their record. The store fetches the line while the fence is waited for: the
    /// first instruction that waits is the release of the lock. The answer is not seen before the group is durable,
    /// because no store passes a fence.
    void answer_records() noexcept {
        for (unsigned i = 1; i < count_; ++i) {
            member& each = members_[i];
            if (each.record == nullptr || !each.record->is_taken()) continue;
            each.record->give(answer_of(each));
            each.call = nullptr;
        }
    }
    /// The others' threads go on; what they were is gone with that.
    void answer_others() noexcept {
        has_ended_ = true;
        own_.end = members_[0].end;
        own_.has_actions = members_[0].has_actions;
        for (unsigned i = 1; i < count_; ++i)
            if (members_[i].call != nullptr) members_[i].call->give(answer_of(members_[i]));
        count_ = 1;
    }
    /// A fault for the explorer.
    void answer_others_early() noexcept {
        end_as(outcome::committed);
        members_[0].end = outcome::open;
        answer_records();
        answer_others();
    }

    combining_mutex& lock_;
    open_pool& pool_;
    combined_call& own_;
    typename Engine::transaction& transaction_;
    const void* held_[1];
    unsigned count_ = 0;
    unsigned succeeded_ = 0;
    bool has_ended_ = false;
    member members_[calls_at_most];  ///< `count_` of them, in the order they ran; the first is the own one
};

/// On a file at `power` the answer comes later than the lock is released, behind a sync, for which a thread sleeps.
template <class F>
bool takes_lock(combining_mutex& lock, combined_call& call, const open_pool& pool, F& f) noexcept {
    if (pool.homes_are_private()) return lock.lock_or_be_served(call);
    std::span<const std::byte> function;
    if constexpr (std::is_object_v<F>) function = std::as_bytes(std::span(std::addressof(f), 1));
    return lock.lock_or_publish(call, function);
}

template <class Engine, class R, class F>
result<R> run_combined(open_pool& pool, F& f, combining_mutex& lock) {
    if (is_handler_frame(__builtin_frame_address(0), __builtin_return_address(0))) [[unlikely]]
        return refused_in_signal_handler();
    // Before the lock: a thread's first one may find no memory.
    auto& transaction = transaction_runner::of_this_thread<Engine>();
    combined_call_of<R, F> call(pool, f);
    if (takes_lock(lock, call, pool, f)) {
        combined_group<Engine> group(lock, pool, call, transaction);
#ifdef HOLDFAST_OBSERVED
        try {
            group.run();
        } catch (const persist::simulated_crash&) {
            group.die(std::current_exception());
            throw;
        }
#else
        group.run();
#endif
    }
    return call.template finish<Engine>();
}

}  // namespace holdfast::detail
