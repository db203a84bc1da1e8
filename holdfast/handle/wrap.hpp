// Wraps: transactions that are opened and closed by hand, as in the SoftWrAP papers. For code that already has its
// locks and its control flow; elsewhere `pool.atomically` is safer.
//
//     auto id = OpenWrap(pool);
//     wrapStore(id, &x, 1);
//     wrapStore(id, &z, wrapLoad(id, &x));
//     CloseWrap(id).value();
#pragma once

#include <holdfast/base/words.hpp>
#include <holdfast/engine/gate.hpp>
#include <holdfast/engine/open_wraps.hpp>
#include <holdfast/handle/planted.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/pool/registry.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast {

namespace detail {

/// Transaction objects that are between two wraps: their tables keep their size.
template <class Engine>
class spare_transactions {
public:
    using transaction = typename Engine::transaction;
    static std::unique_ptr<transaction> take() {
        auto& spare = of_this_thread();
        if (spare.empty()) return std::make_unique<transaction>();
        auto taken = std::move(spare.back());
        spare.pop_back();
        return taken;
    }
    static void give(std::unique_ptr<transaction> done) noexcept {
        if (thread_is_gone()) return;
        try {
            auto& spare = of_this_thread();
            // Room was reserved: a vector of that capacity does not allocate.
            if (spare.size() < most) spare.push_back(std::move(done));
        } catch (const std::bad_alloc&) {
            // A thread that opened none has no room yet. Then it is not kept.
        }
    }

private:
    static constexpr std::size_t most = 8;
    static std::vector<std::unique_ptr<transaction>> room_of_thread() {
        begin_thread();
        std::vector<std::unique_ptr<transaction>> room;
        room.reserve(most);
        return room;
    }
    static std::vector<std::unique_ptr<transaction>>& of_this_thread() {
        struct of_thread {
            std::vector<std::unique_ptr<transaction>> spare = room_of_thread();
            // Last, after all that may fail: its destructor must not run if the rest was not made.
            end_of_thread end;
        };
        thread_local of_thread mine;
        return mine.spare;
    }
};

/// Whether a wrap may not be opened or closed here, nor allocate: in a signal handler, or when the thread's state is
/// destroyed.
inline bool is_refused_here() noexcept {
    return thread_is_gone() || is_handler_frame(__builtin_frame_address(0), __builtin_return_address(0));
}
[[gnu::cold, gnu::noinline]] inline kept_error refusal_here() {
    return thread_is_gone() ? refused_by_stage() : refused_in_signal_handler();
}
/// Throws failure: misuse.
inline void check_thread_and_handler() {
    if (is_refused_here()) [[unlikely]]
        throw failure(refusal_here());
}

}  // namespace detail

/// One failure-atomic region on a pool of `Engine` (softwrap_lat, softwrap). Move-only.
///
/// It is misuse, as a result or a thrown failure, to use a wrap whose pool was closed, or that was opened before a
/// fork, or on a thread whose state is destroyed; and to open, close, allocate and free in a signal handler. Destroying
/// it there is harmless: the wrap then has no effect.
///
/// Its stores are private until it is closed: only loads through it see them. The caller isolates wraps: a lock that
/// guards what the wrap touches may be released only after `close` returns. Otherwise other threads could read what a
/// crash may still revert, and their wrap could precede this one in the log. A thread may have any number of wraps open
/// at the same time. A wrap may be passed between threads; the caller orders this. Transactions (`atomically`) do not
/// join wraps, nor wraps transactions.
/// What holds if the process dies inside, or at level `power` the power fails: nothing of an open wrap; all of one
/// whose `close` returned.
template <class Engine>
class wrap {
    static_assert(Engine::opens_wraps, "this engine's transactions are not opened by hand: use pool.atomically");

public:
    /// OpenWrap. Throws failure: misuse (the pool is closed, or was opened before a fork).
    explicit wrap(basic_pool<Engine>& pool) {
        open_pool& core = pool.core();
        if (core.is_inherited()) throw failure(detail::refused_in_child(core));
        detail::check_thread_and_handler();
        transaction_ = detail::spare_transactions<Engine>::take();
        changes_ = pool_changes.load(std::memory_order_acquire);
        instance_ = core.instance();
        transaction_->begin(core);
        listing_.use(*transaction_, instance_);
    }
    /// An open wrap is aborted.
    ~wrap() { end(); }
    wrap(wrap&& other) noexcept = default;
    wrap& operator=(wrap&& other) noexcept {
        if (this == &other) return *this;
        end();
        transaction_ = std::move(other.transaction_);
        listing_ = std::move(other.listing_);
        instance_ = other.instance_;
        changes_ = other.changes_;
        return *this;
    }

    bool is_open() const noexcept { return transaction_ != nullptr; }

    /// Makes it this thread's innermost wrap, which wrapped<T> and wrap_allocator use: for a wrap from another thread.
    /// Throws failure: misuse (not open), std::bad_alloc.
    void continue_here() { listing_.use(opened(), instance_); }

    /// wrapStore of a value, of any size and alignment. Throws failure: misuse (not open, or not in the wrap's pool).
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) {
        static_assert(std::is_trivially_copyable_v<T>, "a wrap stores bytes: T must be trivially copyable");
        store_value<T>(opened_for(home), home, value);
    }
    void store(void* home, const void* bytes, std::size_t size) { store_bytes(opened_for(home), home, bytes, size); }

    /// wrapLoad: as this wrap sees it. Throws failure: misuse (not open).
    template <class T>
    T load(const T* home) {
        static_assert(std::is_trivially_copyable_v<T>, "a wrap loads bytes: T must be trivially copyable");
        return load_value<T>(opened(), home);
    }
    void load(const void* home, void* bytes, std::size_t size) { load_bytes(opened(), home, bytes, size); }

    /// A block of the pool, uninitialised; free again if the wrap is not closed. Throws failure: out_of_space, misuse.
    void* allocate(std::size_t bytes, std::size_t alignment = 16) {
        detail::check_thread_and_handler();
        return opened().allocate(bytes, alignment).address;
    }
    /// The block is reused only after the wrap is durable. nullptr does nothing. Throws failure: misuse.
    void free(void* address) {
        detail::check_thread_and_handler();
        auto& transaction = opened();
        if (address != nullptr) transaction.deallocate(address);
    }

    /// CloseWrap: durable, as the pool's level promises, when it returns. After an error, or if std::bad_alloc leaves,
    /// the wrap has ended without effect, except for outcome_unknown. Errors: transaction_too_large, busy,
    /// outcome_unknown, poisoned, io, misuse (not open).
    result<void> close() {
        if (!transaction_) return not_open();
        if (!is_pool_there()) {
            abort();
            return detail::pool_of_wrap_is_gone();
        }
        if (detail::is_refused_here()) [[unlikely]]
            return detail::refusal_here();
        listing_.end(*transaction_);
        auto sealed = seal();
        if (!sealed) {
            abort();
            return sealed;
        }
        auto settled = transaction_->settle();
        if (settled) persist::tell_committed();
        detail::spare_transactions<Engine>::give(std::move(transaction_));
        return settled;
    }
    /// AbortWrap: ends the wrap without effect. Does nothing if it is not open, and in a signal handler, where it stays
    /// open.
    void abort() noexcept(persist::noexcept_seam) {
        if (!transaction_) return;
        if (!is_pool_there()) return forget();
        if (!detail::thread_is_gone() && detail::is_refused_here()) [[unlikely]]
            return;
        listing_.end(*transaction_);
        transaction_->roll_back();
        detail::spare_transactions<Engine>::give(std::move(transaction_));
    }

private:
    result<void> seal() {
        try {
            return transaction_->seal();
        } catch (const std::bad_alloc&) {
            abort();
            throw;
        }
    }
    [[gnu::cold, gnu::noinline]] static error not_open() {
        return error{.code = errc::misuse, .what = "the wrap is not open"};
    }
    typename Engine::transaction& opened() {
        if (!transaction_ || pool_changes.load(std::memory_order_relaxed) != changes_ || detail::thread_is_gone())
            [[unlikely]] check_use();
        use();
        return *transaction_;
    }
    /// The transaction, to store there. What is outside the pool would be neither rolled back nor recovered.
    typename Engine::transaction& opened_for(const void* home) {
        auto& transaction = opened();
        if (!transaction.pool()->contains(home)) [[unlikely]]
            transaction.fail_outside_pool(home);
        return transaction;
    }
    /// Apart, so that `opened` is small enough to be inlined.
    [[gnu::cold, gnu::noinline]] void check_use() {
        if (!transaction_) throw failure(not_open());
        if (!is_pool_there()) throw failure(detail::pool_of_wrap_is_gone());
        if (detail::thread_is_gone()) throw failure(detail::refused_by_stage());
    }
    /// Whether the pool is still open, and open here.
    bool is_pool_there() noexcept {
        const std::uint64_t now = pool_changes.load(std::memory_order_relaxed);
        if (now == changes_) [[likely]]
            return true;
        return look_for_pool(now);
    }
    [[gnu::cold, gnu::noinline]] bool look_for_pool(std::uint64_t now) noexcept {
        if (!is_open_pool(transaction_->pool(), instance_)) return false;
        changes_ = now;
        return true;
    }
    /// Drops what the wrap stored without touching the pool, which is not there.
    [[gnu::cold, gnu::noinline]] void forget() noexcept {
        if (!listing_.end_in_child(*transaction_)) {
            // The list names it for ever.
            static_cast<void>(transaction_.release());
            return;
        }
        transaction_runner::forget(*transaction_);
        transaction_.reset();
    }
    void end() noexcept(persist::noexcept_seam) {
        abort();
        // In a signal handler: rolling back takes locks.
        if (transaction_) static_cast<void>(transaction_.release());
    }
    /// A load that names no wrap has to see what this one has stored.
    void use() {
        if constexpr (Engine::has_shared_aliases) listing_.use(*transaction_, instance_);
    }

    std::unique_ptr<typename Engine::transaction> transaction_;
    std::uint64_t instance_ = 0;
    std::uint64_t changes_ = 0;  ///< the pool was open at that count of pool_changes
    typename open_wraps<typename Engine::transaction>::listing listing_;
};

/// A lock with a wrap inside: the lock is released only after the wrap is closed or aborted. Destruction aborts a wrap
/// that was not closed.
///
///     wrapped_lock region(pool, mutex);
///     region->store(&balance, region->load(&balance) + 1);
///     region.close().value();
template <class Engine, class Lock>
class wrapped_lock {
public:
    /// Acquires the lock, then opens the wrap. Throws failure: misuse.
    wrapped_lock(basic_pool<Engine>& pool, Lock& lock) : held_(lock), wrap_(pool) {}
    ~wrapped_lock() { wrap_.abort(); }
    wrapped_lock(const wrapped_lock&) = delete;
    wrapped_lock& operator=(const wrapped_lock&) = delete;

    wrap<Engine>* operator->() noexcept { return &wrap_; }
    wrap<Engine>& operator*() noexcept { return wrap_; }
    /// Closes the wrap, then releases the lock. Errors: as wrap::close; the lock is released then too.
    result<void> close() {
        if (is_planted(planted::lock_released_early)) held_.unlock();
        auto closed = wrap_.close();
        if (held_.owns_lock()) held_.unlock();
        return closed;
    }

private:
    std::unique_lock<Lock> held_;
    wrap<Engine> wrap_;
};

/// Reads, without a lock, a value to which closing wraps of other threads may be storing: the value is from some closed
/// wrap, perhaps not the last one and perhaps not durable yet, and never torn. Two such reads are not ordered. For
/// counters that are displayed, and for hints that are checked again under the lock. For softwrap_lat; with softwrap
/// the value may be long out of date, and `wrapLoad` without a wrap returns the current one.
template <class T>
T eager_load(const T* home) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 ||
                                                      sizeof(T) == 8) && alignof(T) == sizeof(T),
                  "homes are stored in pieces of 8, 4, 2 or 1 bytes: what is larger, or not aligned, may be torn");
    T value;
    __atomic_load(home, &value, __ATOMIC_RELAXED);
    return value;
}

/// The papers' names for the same.
template <class Engine>
wrap<Engine> OpenWrap(basic_pool<Engine>& pool) {
    return wrap<Engine>(pool);
}
template <class Engine, class T>
void wrapStore(wrap<Engine>& id, T* home, const std::type_identity_t<T>& value) {
    id.store(home, value);
}
template <class Engine, class T>
T wrapLoad(wrap<Engine>& id, const T* home) {
    return id.load(home);
}
template <class Engine>
result<void> CloseWrap(wrap<Engine>& id) {
    return id.close();
}
template <class Engine>
void AbortWrap(wrap<Engine>& id) {
    id.abort();
}

}  // namespace holdfast
