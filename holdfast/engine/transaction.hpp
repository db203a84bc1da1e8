// What all engines' transactions share: the thread's open transaction, nesting, side effects.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/base/words.hpp>
#include <holdfast/heap/heap.hpp>
#include <holdfast/pool/open_pool.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace holdfast {

/// The part of a transaction that does not depend on the engine. One object per thread and
/// engine, reused; only its own thread touches it.
class transaction_base : public heap_writer {
public:
    open_pool* pool() const noexcept { return pool_; }

    using heap_writer::store;
    /// Reads bytes as the transaction sees them.
    virtual void load_into(const void* home, void* bytes, std::size_t size) = 0;

    /// Both change nothing if they fail, or doom the transaction if the heap's own stores failed.
    heap_block allocate(std::size_t bytes, std::size_t alignment) {
        uses_heap_ = true;
        try {
            return blocks_.allocate(pool_->heap(), bytes, alignment, *this);
        } catch (...) {
            rethrow_from_heap();
        }
    }
    void deallocate(void* address) {
        uses_heap_ = true;
        try {
            blocks_.release(pool_->heap(), address, *this);
        } catch (...) {
            rethrow_from_heap();
        }
    }

    /// Marks the transaction so that it cannot commit; `atomically` returns `reason`.
    void doom(error reason) noexcept { doom(failure(std::move(reason))); }
    void doom(const failure& reason) noexcept {
        if (!doomed_) doomed_ = reason;
    }
    /// The same after an exception, even without memory for a message.
    void doom_by_exception() noexcept;
    bool is_doomed() const noexcept { return doomed_.has_value(); }

    /// Throws failure: misuse, when the pool holds one of them and not the other.
    void check_both_or_neither_in_pool(const void* a, const void* b) const {
        if (pool_->contains(a) != pool_->contains(b)) [[unlikely]]
            fail_exchange_across();
    }

    /// Throws failure: misuse, since a wrap's store to `home` could be neither rolled back nor recovered.
    [[noreturn]] void fail_outside_pool(const void* home) const;
    /// Throws failure: misuse, when `home` is in the pool and `pointer` is neither null nor into it (or at its end).
    void check_pointer(const void* home, const void* pointer) const {
        if (!pool_->contains(pointer)) [[unlikely]] {
            if (pointer != nullptr) check_outside_pointer(home, pointer);
        }
    }

    /// Whether other transactions may wait for this one: then it does not wait for a lock that one of them may hold.
    bool must_not_wait() const noexcept { return is_waited_for_; }
    /// Takes everything back and leaves, by an exception, to be run again. Where nothing may be thrown it returns: the
    /// attempt is over, and the caller goes on without the lock. Requires: must_not_wait().
    virtual void give_way() {}
    /// Whether the attempt has ended so: then its outermost call lets its own locks go before it tries again.
    bool gives_way() const noexcept { return gives_way_; }
    /// From here to `release_conflicts` no load or store throws a conflict: for code that must not throw. What is
    /// loaded after a conflict is 0, what is stored is ignored.
    void hold_conflicts() noexcept { ++holds_conflicts_; }
    /// Throws the conflict that was held, if there was one.
    void release_conflicts() {
        if (--holds_conflicts_ == 0) throw_held_conflict();
    }

    std::vector<std::function<void()>> on_commit;
    std::vector<std::function<void()>> on_abort;

protected:
    ~transaction_base() = default;
    /// A store that misses the pool: fine for an object on the stack, misuse in another pool.
    void check_in_no_other_pool(const void* home) const;
    [[noreturn]] void fail_exchange_across() const;
    void check_outside_pointer(const void* home, const void* pointer) const;
    friend class transaction_runner;

    /// A lock that a joining call acquired, and how to release it.
    struct joined_lock {
        void* lock;
        void (*unlock)(void*);
    };
    /// A store of the heap's metadata failed: the heap's state in memory and on the media differ.
    bool must_roll_back() const noexcept { return uses_heap_ && blocks_.writer_failed(); }
    bool holds(const void* lock) const noexcept {
        const auto same = [lock](const joined_lock& each) { return each.lock == lock; };
        return std::find(outermost_locks_.begin(), outermost_locks_.end(), lock) != outermost_locks_.end() ||
               std::any_of(joined_locks_.begin(), joined_locks_.end(), same);
    }

    virtual void throw_held_conflict() {}
    /// Dooms the transaction when a store of the heap's failed half-way. The exception goes on; a failure, which the
    /// heap makes without knowing its file, then names the pool. Requires: inside a handler.
    [[noreturn]] void rethrow_from_heap();

    /// Tells the heap that the transaction is settled as `sequence`, if it allocated or freed.
    void settle_heap(std::uint64_t sequence) noexcept {
        if (!uses_heap_) [[likely]]
            return;
        uses_heap_ = false;
        blocks_.committed(sequence);
    }
    void roll_heap_back() noexcept {
        if (!uses_heap_) return;
        uses_heap_ = false;
        blocks_.rolled_back();
    }

    open_pool* pool_ = nullptr;
    bool uses_heap_ = false;
    bool is_waited_for_ = false;
    bool gives_way_ = false;
    int uncaught_ = 0;  ///< exceptions on their way when the attempt began; where is_waited_for_
    unsigned holds_conflicts_ = 0;
    std::span<const void* const> outermost_locks_;
    std::vector<joined_lock> joined_locks_;
    heap::session blocks_;
    std::optional<failure> doomed_;
};

/// The transaction this thread has open, of whatever engine; nullptr outside.
inline constinit thread_local transaction_base* open_transaction = nullptr;

/// The same by engine, for loads and stores: nullptr where another engine's transaction is open.
template <class Engine>
inline constinit thread_local typename Engine::transaction* open_transaction_of = nullptr;

[[noreturn]] void fail_outside_transaction();

/// The open transaction of `Engine`. Throws failure (misuse) outside one.
template <class Engine>
inline typename Engine::transaction& current_transaction() {
    auto* transaction = open_transaction_of<Engine>;
    if (transaction == nullptr) [[unlikely]]
        fail_outside_transaction();
    return *transaction;
}

/// Copies bytes as the open transaction of `Engine` sees them, or as they are outside one.
template <class Engine>
inline void read_bytes(const void* from, void* to, std::size_t bytes) {
    if (auto* transaction = open_transaction_of<Engine>) {
        load_bytes(*transaction, from, to, bytes);
    } else if constexpr (Engine::has_shared_aliases) {
        Engine::read(from, to, bytes);
    } else {
        std::memcpy(to, from, bytes);
    }
}

/// The same of a value.
template <class Engine, class T>
inline T read_value(const T* from) {
    if (auto* transaction = open_transaction_of<Engine>) return load_value<T>(*transaction, from);
    T value;
    if constexpr (Engine::has_shared_aliases) {
        Engine::read(from, &value, sizeof value);
    } else {
        std::memcpy(&value, from, sizeof value);
    }
    return value;
}

}  // namespace holdfast
