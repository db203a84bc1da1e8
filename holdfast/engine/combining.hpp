// Transactions of several threads under one combining_mutex share one commit: flat combining, with the lock's holder as
// the combiner. Owns: the group. Source: Hendler, Incze, Shavit, Tzafrir, Flat Combining and the
// Synchronization-Parallelism Tradeoff, SPAA 2010.
//
// Protocol
//   1. A caller takes the lock, or waits for it and is served meanwhile. One that has the lock leads a group: it opens
//      its thread's transaction.
//   2. It runs its own function, and then those of the threads that wait, first come first served. Each is a part of
//      the transaction (parts.cpp): one that throws, returns an error or is doomed is taken back alone, and its caller
//      is told so. What a function registers with on_commit and on_abort is kept for its caller.
//   3. The group ends when nobody else waits (who was just served may be waited for a moment, if the lock was shared
//      before: a fence saved is worth it), or the next one wants another pool or the lock itself; after 64
//      functions; when the record is longer than 2 KiB; after a function that acquired further locks, since holding
//      them while another one runs could be a deadlock that no function alone contains; and after one that changed
//      the heap by more than small blocks, which is taken back only with everything behind it.
//   4. The engine commits the transaction as any other: one record, one FENCE. The record is sealed as a whole, so a
//      cut leaves all of the group or nothing. A record that does not fit fails the last function only, if the others
//      fit. Other errors of the commit, and std::bad_alloc, are everybody's.
//   5. The lock is handed to the thread that waits longest. On a file at `power` the sync that commits share is waited
//      for only now.
//   6. The callers are told, who then run their actions on their own threads. Not before: a result that is known
//      before the fence may be lost in a cut.
// There is no limit of time: whoever leads waits for the functions of those who waited, as they would have waited for
// its own; and it leads one group only.
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
#include <utility>
#include <vector>

namespace holdfast::detail {

/// One caller's function, in the hands of whoever leads.
class combined_call : public waiting_thread {
public:
    enum class outcome : std::uint8_t { open, committed, rolled_back, unknown };

    /// Runs the function. What it throws is kept, unless the thread itself is ending.
    void run(transaction_base& transaction) { run_(*this, transaction); }
    bool has_failed() const noexcept { return problem != nullptr || thrown != nullptr; }

    /// Takes over the actions that the function registered.
    void keep_actions(transaction_base& transaction) noexcept {
        if (transaction.on_commit.empty() && transaction.on_abort.empty()) [[likely]]
            return;
        registered_.on_commit.swap(transaction.on_commit);
        registered_.on_abort.swap(transaction.on_abort);
        has_actions_ = true;
    }
    void drop_actions() noexcept {
        if (has_actions_) registered_ = {};
    }
    /// Tells the caller how it ended. It may be gone then.
    void tell() noexcept {
        const bool all_is_well = end == outcome::committed && !has_actions_;
        give(all_is_well ? answer::committed : answer::served);
    }

protected:
    using runner = void(combined_call&, transaction_base&);
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

protected:
    bool has_actions_ = false;
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
        if (has_actions_) [[unlikely]]
            run_actions<Engine>();
        if (thrown) [[unlikely]]
            std::rethrow_exception(std::exchange(thrown, nullptr));
        if (problem) [[unlikely]]
            return std::move(problem);
        return held_.take();
    }

private:
    static void run_here(combined_call& call, transaction_base& transaction) {
        auto& self = static_cast<combined_call_of&>(call);
        try {
            self.problem = run_function<R>(transaction, self.f_, self.held_);
        } catch (const abi::__forced_unwind&) {
            throw;
#ifdef HOLDFAST_OBSERVED
        } catch (const persist::simulated_crash&) {
            throw;
#endif
        } catch (...) {
            self.thrown = std::current_exception();
        }
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
        calls_[0] = &own;
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
        for (waiting_thread* next = &own_; next != nullptr; next = next_call()) {
            auto& each = static_cast<combined_call&>(*next);
            if (&each != &own_) calls_[count_++] = &each;
            transaction_.begin_part();
            each.run(transaction_);
            if (open_transaction != &transaction_) [[unlikely]]
                return lose();
            each.keep_actions(transaction_);
            if (each.has_failed()) {
                const busy_section busy;
                fail_last(each);
            } else {
                ++succeeded_;
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
        end_as(combined_call::outcome::unknown);
        release_locks();
        answer_others();
    }
#endif

private:
    static constexpr unsigned calls_at_most = 64;

    waiting_thread* next_call() noexcept {
        if (count_ == calls_at_most) return nullptr;
        if (transaction_runner::holds_joined(transaction_) || !transaction_.takes_another_part()) [[unlikely]]
            return nullptr;
        return lock_.take_expected(&pool_, count_);
    }
    void fail_last(combined_call& call) noexcept(persist::noexcept_seam) {
        transaction_.roll_back_part();
        transaction_runner::forget_doom(transaction_);
        call.end = combined_call::outcome::rolled_back;
    }

    void commit() noexcept(persist::noexcept_seam) {
        bool is_sealed = false;
        {
            const busy_section busy;
            transaction_runner::leave<Engine>();
            is_sealed = seal();
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
            combined_call& last = *calls_[count_ - 1];
            const bool may_be_the_last = succeeded_ > 1 && last.end == combined_call::outcome::open;
            if (problem && problem->code == errc::transaction_too_large && may_be_the_last) {
                last.problem = std::move(problem);
                fail_last(last);
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
        end_as(problem ? combined_call::outcome::unknown : combined_call::outcome::committed);
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
        release_joined();
        lock_.note_served(count_);
        lock_.unlock();
    }

    template <class F>
    void for_each_open(F&& f) {
        for (unsigned i = 0; i < count_; ++i)
            if (calls_[i]->end == combined_call::outcome::open) f(*calls_[i]);
    }
    void end_as(combined_call::outcome end) noexcept {
        for_each_open([end](combined_call& each) { each.end = end; });
    }
    template <class F>
    void fail_all(F&& explain) {
        for_each_open(explain);
        end_as(combined_call::outcome::rolled_back);
    }
    /// The others' threads go on; what they were is gone with that.
    void answer_others() noexcept {
        has_ended_ = true;
        for (unsigned i = 1; i < count_; ++i) calls_[i]->tell();
        count_ = 1;
    }
    /// A fault for the explorer.
    void answer_others_early() noexcept {
        end_as(combined_call::outcome::committed);
        own_.end = combined_call::outcome::open;
        answer_others();
    }

    combining_mutex& lock_;
    open_pool& pool_;
    combined_call& own_;
    typename Engine::transaction& transaction_;
    const void* held_[1];
    unsigned count_ = 1;
    unsigned succeeded_ = 0;
    bool has_ended_ = false;
    combined_call* calls_[calls_at_most];  ///< `count_` of them, in the order they ran; the first is the own one
};

template <class Engine, class R, class F>
result<R> run_combined(open_pool& pool, F& f, combining_mutex& lock) {
    if (is_handler_frame(__builtin_frame_address(0), __builtin_return_address(0))) [[unlikely]]
        return refused_in_signal_handler();
    // Before the lock: a thread's first one may find no memory.
    auto& transaction = transaction_runner::of_this_thread<Engine>();
    combined_call_of<R, F> call(pool, f);
    if (lock.try_lock() || lock.lock_or_be_served(call)) {
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
