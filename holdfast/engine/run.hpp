// Runs one transaction: nesting, locks, exceptions, side effects. The engine does the rest.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/engine/gate.hpp>
#include <holdfast/base/signal_handlers.hpp>
#include <holdfast/engine/transaction.hpp>
#include <holdfast/persist/seam.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast {

class combining_mutex;
namespace detail {

template <class T>
struct unwrapped {
    using type = T;
    static constexpr bool is_result = false;
};
template <class T>
struct unwrapped<result<T>> {
    using type = T;
    static constexpr bool is_result = true;
};

error nested_in_other_pool(const open_pool& open, const open_pool& wanted);
[[noreturn]] void fail_in_other_pool(const open_pool& open, const open_pool& wanted);
error doomed_by_inner();
error heap_store_failed();
kept_error group_aborted() noexcept;
error snapshot_of_volatile(const open_pool& pool);

/// What the call's own function returns, held until the commit has succeeded.
template <class R>
struct held_value {
    std::optional<R> value;
    template <class F>
    void run(F& f) {
        value.emplace(f());
    }
    result<R> take() { return std::move(*value); }
};
template <>
struct held_value<void> {
    template <class F>
    void run(F& f) {
        f();
    }
    result<void> take() { return {}; }
};

}  // namespace detail

/// The steps around one engine's transaction, with the thread's state in their care.
class transaction_runner {
public:
    /// The transaction object of this thread.
    template <class Engine>
    static typename Engine::transaction& of_this_thread() {
        if (typename Engine::transaction* const made = made_of_thread<Engine>) [[likely]]
            return *made;
        return make_of_this_thread<Engine>();
    }

    template <class Engine>
    static void open(typename Engine::transaction& transaction) noexcept {
        HOLDFAST_ASSERT(open_transaction == nullptr, "a thread has one transaction open");
        open_transaction = &transaction;
        open_transaction_of<Engine> = &transaction;
    }
    template <class Engine>
    static void leave() noexcept {
        open_transaction = nullptr;
        open_transaction_of<Engine> = nullptr;
    }

    /// True while this thread commits, so that only a signal handler can ask; and for ever once the thread is gone.
    static bool busy() noexcept { return detail::stage_of_thread != detail::thread_stage::ready; }
    static void set_busy(bool busy) noexcept {
        detail::stage_of_thread = busy ? detail::thread_stage::committing : detail::thread_stage::ready;
    }

    /// Drops what the transaction remembers, without touching its pool, which is not there any more. It keeps the
    /// caller's locks.
    template <class Transaction>
    static void forget(Transaction& transaction) noexcept {
        auto joined = std::move(transaction.joined_locks_);
        const auto outermost = transaction.outermost_locks_;
        transaction.blocks_.forget();
        std::destroy_at(&transaction);
        std::construct_at(&transaction);
        transaction.joined_locks_ = std::move(joined);
        transaction.outermost_locks_ = outermost;
    }

    /// Why the transaction cannot commit, which is forgotten with that; nullptr: it can.
    [[gnu::always_inline]] static detail::kept_error take_doom(transaction_base& transaction) {
        if (!transaction.must_roll_back() && !transaction.doomed_) [[likely]]
            return nullptr;
        return take_reason(transaction);
    }
    static void forget_doom(transaction_base& transaction) noexcept { transaction.doomed_.reset(); }
    /// Runs the actions of one kind and forgets both kinds. What they throw goes to the handler of action failures.
    static void run_actions(transaction_base& transaction, bool committed) noexcept(persist::noexcept_seam) {
        if (transaction.on_commit.empty() && transaction.on_abort.empty()) [[likely]]
            return;
        run_some_actions(transaction, committed);
    }
    /// Forgets both kinds: whether the transaction is durable is not known.
    static void drop_actions(transaction_base& transaction) noexcept {
        transaction.on_commit.clear();
        transaction.on_abort.clear();
    }

    /// Forgets what was said of a transaction that was lost in a forked child.
    static void drop_lost(transaction_base& transaction) noexcept;

    /// Takes the locks of a joining call, together and without deadlock among themselves, but none
    /// that the transaction holds already. They are held until the outermost call is decided.
    /// False: the transaction has given way, and nothing may be thrown.
    template <class... Locks>
    static bool hold_joined(transaction_base& transaction, Locks&... locks);
    /// In handle/roots.cpp, which alone has one.
    template <class Lock>
    class late_lock;
    /// The outermost call's own locks, which it releases itself.
    static void note_outermost(transaction_base& transaction, std::span<const void* const> locks) noexcept {
        transaction.outermost_locks_ = locks;
    }
    static bool holds_joined(const transaction_base& transaction) noexcept {
        return !transaction.joined_locks_.empty();
    }
    /// Releases the locks of joining calls, the last one first.
    static void release_joined(transaction_base& transaction) noexcept {
        if (holds_joined(transaction)) [[unlikely]]
            release_each_joined(transaction);
    }

private:
    template <class Engine>
    class transaction_of_thread;
    /// What of_this_thread looks at: to ask whether the object was constructed is a call.
    template <class Engine>
    static inline constinit thread_local typename Engine::transaction* made_of_thread = nullptr;
    template <class Engine>
    [[gnu::cold, gnu::noinline]] static typename Engine::transaction& make_of_this_thread() {
        thread_local transaction_of_thread<Engine> mine;
        made_of_thread<Engine> = &mine.transaction;
        return mine.transaction;
    }

    static void release_each_joined(transaction_base& transaction) noexcept;
    static detail::kept_error take_reason(transaction_base& transaction);
    static void run_some_actions(transaction_base& transaction, bool committed) noexcept(persist::noexcept_seam);
};

/// One engine's transaction object of a thread.
template <class Engine>
class transaction_runner::transaction_of_thread final : public detail::thread_state {
public:
    typename Engine::transaction transaction;

    transaction_of_thread() = default;
    /// exit() inside a transaction comes here with it open.
    ~transaction_of_thread() {
        made_of_thread<Engine> = nullptr;
        if (open_transaction != &transaction) return;
        leave<Engine>();
        transaction.roll_back();
        drop_actions(transaction);
    }

private:
    void lose() noexcept override {
        if (open_transaction != &transaction) return;
        leave<Engine>();
        forget(transaction);
    }

    detail::end_of_thread end_;
};

namespace detail {

template <class Lock>
concept can_be_tried = requires(Lock& lock) { static_cast<bool>(lock.try_lock()); };

/// A lock as a joining call sees it: one that the transaction holds already is not taken again.
template <class Lock>
struct joined_lock {
    Lock& wanted;
    bool held_already;
    void lock() {
        if (!held_already) wanted.lock();
    }
    bool try_lock() { return held_already || wanted.try_lock(); }
    void unlock() {
        if (!held_already) wanted.unlock();
    }
};

/// Releases the transaction's locks, those of joining calls last.
template <class... Locks>
class transaction_locks {
public:
    transaction_locks(transaction_base& transaction, Locks&... locks)
        : transaction_(transaction), locks_(locks...), addresses_{&locks...}, held_(std::in_place, locks...) {
        transaction_runner::note_outermost(transaction, addresses_);
    }
    ~transaction_locks() {
        if (are_held()) release();
    }
    transaction_locks(const transaction_locks&) = delete;
    transaction_locks& operator=(const transaction_locks&) = delete;

    bool are_held() const noexcept { return held_.has_value(); }
    void release() noexcept {
        held_.reset();
        transaction_runner::note_outermost(transaction_, {});
        transaction_runner::release_joined(transaction_);
    }
    /// Requires: released.
    void hold_again() {
        std::apply([this](Locks&... locks) { held_.emplace(locks...); }, locks_);
        transaction_runner::note_outermost(transaction_, addresses_);
    }

private:
    transaction_base& transaction_;
    std::tuple<Locks&...> locks_;
    std::array<const void*, sizeof...(Locks)> addresses_;
    std::optional<std::scoped_lock<Locks...>> held_;
};
/// The same where the call names no lock.
template <>
class transaction_locks<> {
public:
    explicit transaction_locks(transaction_base& transaction) noexcept : transaction_(transaction) {}
    ~transaction_locks() {
        if (are_held()) release();
    }
    transaction_locks(const transaction_locks&) = delete;
    transaction_locks& operator=(const transaction_locks&) = delete;

    bool are_held() const noexcept { return !is_released_; }
    void release() noexcept {
        is_released_ = true;
        transaction_runner::release_joined(transaction_);
    }
    void hold_again() noexcept { is_released_ = false; }

private:
    transaction_base& transaction_;
    bool is_released_ = false;
};

/// The library works on the thread's transaction: only a signal handler can ask for another one now.
class busy_section {
public:
    busy_section() noexcept { transaction_runner::set_busy(true); }
    ~busy_section() { transaction_runner::set_busy(false); }
    busy_section(const busy_section&) = delete;
    busy_section& operator=(const busy_section&) = delete;
};

template <class F> struct landing;
/// Joins the open transaction. An error or exception that leaves dooms the whole.
template <class R, class F, class... Locks>
result<R> join_transaction(open_pool& pool, F&& f, Locks&... locks) {
    transaction_base& outer = *open_transaction;
    if (is_handler_frame(__builtin_frame_address(0), __builtin_return_address(0))) [[unlikely]]
        return refused_in_signal_handler();
    try {
        if (outer.pool() != &pool) fail_in_other_pool(*outer.pool(), pool);
        if (!transaction_runner::hold_joined(outer, locks...)) [[unlikely]]
            return bare_error(errc::aborted);
        if constexpr (unwrapped<std::invoke_result_t<F&>>::is_result) {
            auto returned = f();
            if (!returned) outer.doom(failure(returned.error()));
            return returned;
        } else {
            held_value<R> held;
            held.run(f);
            return held.take();
        }
    } catch (const failure& reason) {
        outer.doom(reason);
        return reason.reason();
    } catch (...) {
        outer.doom_by_exception();
        throw;
    }
}

/// True in a forked child whose transaction went on in the parent: nothing is left of it but the caller's locks, which
/// are let go.
template <class... Locks>
bool was_lost(transaction_base& transaction, transaction_locks<Locks...>& held_locks) {
    if (open_transaction == &transaction) [[likely]]
        return false;
    transaction_runner::drop_lost(transaction);
    held_locks.release();
    return true;
}

/// Calls f and holds what it returns. An error: why the transaction cannot commit. Other exceptions of f leave.
template <class R, class F>
kept_error run_function(transaction_base& transaction, F& f, held_value<R>& held) {
    try {
        if constexpr (unwrapped<std::invoke_result_t<F&>>::is_result) {
            auto returned = f();
            if (!returned) return std::move(returned).give_error();
            if constexpr (!std::is_void_v<R>) held.value.emplace(std::move(*returned));
        } else {
            held.run(f);
        }
    } catch (const failure& reason) {
        return keep(reason.reason());
    }
    return transaction_runner::take_doom(transaction);
}

/// Takes back what f did. Out of line: it is rare.
template <class Engine, class... Locks>
[[gnu::cold, gnu::noinline]] void abandon(typename Engine::transaction& transaction,
                                          transaction_locks<Locks...>& held_locks) {
    {
        const busy_section busy;
        transaction_runner::leave<Engine>();
        transaction.roll_back();
        transaction_runner::forget_doom(transaction);
    }
    held_locks.release();
    transaction_runner::run_actions(transaction, false);
}

/// Runs f and seals. An error: why not; nothing of f is left then, and the locks are released. The same holds when an
/// exception leaves.
template <class Engine, class R, class F, class... Locks>
kept_error run_and_seal(typename Engine::transaction& transaction, transaction_locks<Locks...>& held_locks, F& f,
                        held_value<R>& held) {
    bool is_sealing = false;
    try {
        kept_error problem = run_function<R>(transaction, f, held);
        if (was_lost(transaction, held_locks)) [[unlikely]]
            return keep(lost_in_child());
        is_sealing = true;
        if (!problem) [[likely]] {
            const busy_section busy;
            transaction_runner::leave<Engine>();
            HOLDFAST_ASSERT(held_locks.are_held(), "the sequence is drawn with the caller's locks held");
            // The last step that can fail with nothing done: what it needs of memory it reserves first.
            result<void> sealed = transaction.seal();
            if (sealed) [[likely]]
                return nullptr;
            problem = std::move(sealed).give_error();
        }
        abandon<Engine>(transaction, held_locks);
        return problem;
#ifdef HOLDFAST_OBSERVED
    } catch (const persist::simulated_crash&) {
        throw;
#endif
    } catch (...) {
        if (is_sealing || !was_lost(transaction, held_locks)) abandon<Engine>(transaction, held_locks);
        throw;
    }
}

template <class Engine, class R, class F, class... Locks>
result<R> run_steps(open_pool& pool, F& f, Locks&... locks) {
    if (is_handler_frame(__builtin_frame_address(0), __builtin_return_address(0))) [[unlikely]]
        return refused_in_signal_handler();
    auto& transaction = transaction_runner::of_this_thread<Engine>();
    transaction_locks<Locks...> held_locks(transaction, locks...);
    transaction.begin(pool);
    transaction_runner::open<Engine>(transaction);
    held_value<R> held;
    if (kept_error problem = run_and_seal<Engine>(transaction, held_locks, f, held)) [[unlikely]]
        return problem;
    result<void> settled = [&] {
        const busy_section busy;
        held_locks.release();
        return transaction.settle();
    }();
    if (!settled) [[unlikely]] {
        transaction_runner::drop_actions(transaction);
        return std::move(settled).give_error();
    }
    persist::tell_committed();
    transaction_runner::run_actions(transaction, true);
    return held.take();
}

/// combining.hpp
template <class Engine, class R, class F>
result<R> run_combined(open_pool& pool, F& f, combining_mutex& lock);

template <class Engine, class R, class F, class... Locks>
result<R> run_attempts(open_pool& pool, F& f, Locks&... locks);

template <class Engine, class R, class F, class... Locks>
result<R> run_outermost_steps(open_pool& pool, F& f, Locks&... locks) {
    if constexpr (Engine::isolates)
        return run_attempts<Engine, R>(pool, f, locks...);
    else
        return run_steps<Engine, R>(pool, f, locks...);
}

/// Whether the engine can take back a part of a transaction, and the call's only lock combines such parts.
template <class Engine, class... Locks>
inline constexpr bool combines =
    requires(typename Engine::transaction& transaction) { transaction.roll_back_part(); } &&
    std::is_same_v<std::tuple<Locks...>, std::tuple<combining_mutex>>;

template <class Engine, class R, class F, class... Locks>
result<R> run_outermost(open_pool& pool, F& f, Locks&... locks) {
    if constexpr (combines<Engine, Locks...>) return run_combined<Engine, R>(pool, f, locks...);
#ifdef HOLDFAST_OBSERVED
    try {
        return run_outermost_steps<Engine, R>(pool, f, locks...);
    } catch (const persist::simulated_crash&) {
        // The process "died": only what is in DRAM is put in order, for the next one.
        transaction_runner::leave<Engine>();
        transaction_runner::set_busy(false);
        transaction_runner::of_this_thread<Engine>().forget();
        transaction_runner::forget_doom(transaction_runner::of_this_thread<Engine>());
        throw;
    }
#else
    return run_outermost_steps<Engine, R>(pool, f, locks...);
#endif
}

}  // namespace detail

template <class... Locks>
bool transaction_runner::hold_joined(transaction_base& transaction, Locks&... locks) {
    if constexpr (sizeof...(Locks) > 0) {
        // Room first: what is locked must be remembered.
        transaction.joined_locks_.reserve(transaction.joined_locks_.size() + sizeof...(Locks));
        std::tuple wanted{detail::joined_lock<Locks>{locks, transaction.holds(&locks)}...};
        if (transaction.must_not_wait()) {
            const auto try_all = [](auto&... each) {
                if constexpr (sizeof...(each) > 1)
                    return std::try_lock(each...) == -1;
                else if constexpr ((detail::can_be_tried<Locks> && ...))
                    return (each.try_lock() && ...);
                else  // of no engine that isolates
                    return (each.lock(), ...), true;
            };
            if (!std::apply(try_all, wanted)) return transaction.give_way(), false;
        } else {
            const auto lock_all = [](auto&... each) {
                if constexpr (sizeof...(each) == 1)
                    (each.lock(), ...);
                else
                    std::lock(each...);
            };
            std::apply(lock_all, wanted);
        }
        const auto remember = [&]<class Lock>(detail::joined_lock<Lock>& each) {
            if (each.held_already) return;
            transaction.joined_locks_.push_back({&each.wanted, [](void* lock) { static_cast<Lock*>(lock)->unlock(); }});
        };
        std::apply([&](auto&... each) { (remember(each), ...); }, wanted);
    }
    return true;
}

/// Runs f as one transaction of `Engine` on `pool`, holding the locks until the commit is decided.
/// Joins the transaction this thread has open on the same pool. See basic_pool::atomically.
template <class Engine, class F, class... Locks>
auto run_transaction(open_pool& pool, F& f, Locks&... locks) {
    using R = std::decay_t<typename detail::unwrapped<std::invoke_result_t<F&>>::type>;
    static_assert(!Engine::isolates || (detail::can_be_tried<Locks> && ...),
                  "locks of an engine that isolates need try_lock: what others may wait for does not wait");
    if (transaction_runner::busy()) return result<R>(detail::refused_by_stage());
    if (pool.is_inherited()) return result<R>(detail::refused_in_child(pool));
    using joining = std::conditional_t<Engine::isolates, detail::landing<F>, F&>;
    if (open_transaction != nullptr) return detail::join_transaction<R>(pool, static_cast<joining>(f), locks...);
    return detail::run_outermost<Engine, R>(pool, f, locks...);
}

}  // namespace holdfast
