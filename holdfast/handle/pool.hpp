// The user's handle of an open pool.
#pragma once

#include <holdfast/engine/combining.hpp>
#include <holdfast/engine/engine.hpp>
#include <holdfast/engine/run.hpp>
#include <holdfast/handle/roots.hpp>
#include <holdfast/log/replay_report.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/pool/options.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast {

/// An open pool of one engine. Move-only; closes on destruction (`close` reports errors). Destroying a handle, or
/// assigning to it, inside a transaction on the pool dooms the transaction (misuse) and closes the pool when the
/// transaction has ended. In a forked child destruction writes nothing; in a signal handler it leaves the pool open
/// until the process ends.
/// Thread safety: all members except close, abandon and moves may be called concurrently; the caller's locks isolate
/// what a transaction reads and writes.
/// Errors of every member, in addition to those named there: misuse, as a result or a thrown failure, on an empty
/// handle (closed, abandoned, moved from), in a child forked after opening, and in a signal handler; for transactions
/// also after the thread's own state is destroyed, in late destructors of thread_local and static objects.
template <class Engine>
class basic_pool {
public:
    using engine = Engine;

    /// Creates a pool file and opens it. See open_pool::create for errors and crashes.
    static result<basic_pool> create(const std::string& path, const create_options& options = {}) {
        if (auto entered = detail::check_entry_without_pool(); !entered) return entered.error();
        return wrap(open_pool::create(path, Engine::description, options));
    }
    /// Opens a pool, recovering it if it was not closed. See open_pool::open.
    static result<basic_pool> open(const std::string& path, const open_options& options = {}) {
        if (auto entered = detail::check_entry_without_pool(); !entered) return entered.error();
        return wrap(open_pool::open(path, Engine::description, options));
    }
    /// Opens the pool at `path`, or creates it if no file exists.
    static result<basic_pool> open_or_create(const std::string& path, const create_options& options = {}) {
        auto opened = open(path, options);
        if (opened || opened.error().code != errc::not_found) return opened;
        auto created = create(path, options);
        // Another process may have been first.
        if (!created && created.error().code == errc::already_exists) return open(path, options);
        return created;
    }

    basic_pool(basic_pool&&) noexcept = default;
    basic_pool& operator=(basic_pool&& other) noexcept {
        if (this == &other) return *this;
        detail::let_go(std::move(core_), detail::letting_go::closes);
        core_ = std::move(other.core_);
        return *this;
    }
    ~basic_pool() { detail::let_go(std::move(core_), detail::letting_go::closes); }

    /// Runs `f` as one transaction: all of its writes or none survive an exception, a killed process, and at level
    /// power a power cut. `atomically(lock…, f)` holds the locks (acquired together, without deadlock) until the commit
    /// is decided; they provide the isolation. A single `combining_mutex` lets threads that wait for it share a commit.
    ///
    /// Returns what f returns; if f returns a result<T>, its error rolls back and is returned.
    /// Exceptions of f roll back and propagate; failures of the library roll back and are returned. Inside an open
    /// transaction of the same pool it joins: nothing is durable before the outermost call returns, and an error or
    /// exception that leaves the inner call dooms the outer one. Locks of an inner call are held until then too (a lock
    /// that is already held is not acquired twice), so they must live that long. on_commit does not run if the outcome
    /// is unknown. f may run more than once under some engines, and must not swallow everything with catch (...).
    /// std::bad_alloc, of f or of the commit, rolls back and propagates. The result of f is moved once more after the
    /// commit; the move must not throw.
    /// An engine that isolates (cc_htm) needs no lock, runs f again after a conflict, and requires locks with try_lock.
    /// What holds if the process dies inside: nothing of f or all of it; all of it once the call has returned, except
    /// at level lag, where the last lag.commits that have returned may be missing.
    /// Errors: transaction_too_large, out_of_space, misuse, aborted, outcome_unknown, poisoned.
    template <class... LocksAndF>
    auto atomically(LocksAndF&&... locks_and_f) {
        return call(std::forward_as_tuple(locks_and_f...),
                    std::make_index_sequence<sizeof...(LocksAndF) - 1>{});
    }

    /// The object of root `name`, created by `T(arguments…)` in a transaction if it does not exist. A T with a member
    /// that is neither a field nor made of fields does not compile (lives_in_pool.hpp).
    /// `version` is the user's name for T's layout; it must match, as must size and alignment.
    /// Thread-safe. One thread at a time creates a root: a caller that looks for a root that does not exist, or for the
    /// first time since the pool was opened, waits until a transaction that is creating a root is decided. Create roots
    /// before other transactions, or in separate calls: inside a transaction the wait adds to the locks that it holds.
    /// Errors: root_mismatch, out_of_space, corrupt, invalid_argument.
    template <class T, class... Arguments>
    result<T*> root(std::string_view name, std::string_view version = "1", Arguments&&... arguments) {
        static_assert(detail::can_live<T, detail::held_as::object>);
        return find_or_make_root<T>(name, version, std::forward<Arguments>(arguments)...);
    }
    /// The same for a trivially copyable T with plain members. Store to them through wraps or in atomic blocks: any
    /// other store belongs to no transaction and may be lost.
    template <class T, class... Arguments>
    result<T*> plain_root(std::string_view name, std::string_view version = "1", Arguments&&... arguments) {
        static_assert(std::is_trivially_copyable_v<T>, "a plain root is trivially copyable");
        static_assert(detail::can_live<T, detail::held_as::value>);
        auto found = find_or_make_root<const T>(name, version, std::forward<Arguments>(arguments)...);
        if (!found) return std::move(found).give_error();
        return const_cast<T*>(*found);
    }

    /// Brings all commits to their home locations and empties the log. Thread-safe. Errors: io, poisoned, misuse (also
    /// inside a transaction on the pool).
    result<void> checkpoint() {
        if (auto entered = detail::check_entry(core_.get(), refused_inside); !entered) return entered;
        return core_->checkpoint();
    }
    /// Returns when every transaction that had committed before the call is home on the medium; others continue
    /// meanwhile. So nothing that has returned is missing after a crash. For engines that checkpoint (cc_htm).
    /// Thread-safe. Errors: io, outcome_unknown, poisoned, misuse (also inside a transaction). Source: TXFence, cc-HTM,
    /// section 3.2.
    result<void> fence()
        requires(Engine::description.checkpoints)
    {
        if (auto entered = detail::check_entry(core_.get(), refused_inside); !entered) return entered;
        return core_->fence();
    }
    /// The same, and calls f() while no transaction commits: what it reads of the pool is the state after all
    /// transactions so far, and the medium has the same state. Private memory of homes is released. Transactions that
    /// are open wait at their end. Several threads may call it; f runs for one at a time, and only reads: a transaction
    /// on a pool of this engine, and every other call that would wait, is misuse there.
    /// What holds if the process dies inside: as for commits before. Errors: as fence, and what f throws.
    /// Source: TXBarrier, cc-HTM, section 3.2.
    template <class F>
    result<void> barrier(F&& f)
        requires(Engine::description.checkpoints)
    {
        if (auto entered = detail::check_entry(core_.get(), refused_inside); !entered) return entered;
        return core_->barrier([&f] { f(); });
    }
    /// Makes the pool `bytes` large in total, while it is in use; see open_pool::grow for errors and crashes. A
    /// transaction that ran out of space may call it and allocate again; the growth remains if the transaction is
    /// rolled back.
    result<void> grow(std::uint64_t bytes) {
        if (auto entered = detail::check_entry(core_.get(), allowed_inside); !entered) return entered;
        return core_->grow(bytes);
    }
    /// Copies the pool to a new file while it is in use; see open_pool::snapshot for the contents of the copy, errors
    /// and crashes. Further errors: misuse (also inside a transaction), level_unavailable (an engine without recovery
    /// has no moment at which a copy is consistent).
    result<snapshot_report> snapshot(const std::string& path, const snapshot_options& options = {}) {
        if (auto entered = detail::check_entry(core_.get(), refused_inside); !entered) return entered.error();
        if constexpr (!Engine::description.recovers) return detail::snapshot_of_volatile(*core_);
        return core_->snapshot(path, options);
    }
    /// Closes cleanly. Requires: no other thread has a transaction open, and nothing in the pool is in use. Errors: io,
    /// poisoned; the handle is empty nevertheless. Also misuse: inside a transaction on the pool and in a signal
    /// handler, where the pool stays open; in a forked child, where the handle becomes empty and nothing is written.
    result<void> close() {
        if (auto entered = detail::check_entry(core_.get(), refused_inside); !entered) {
            if (core_ && core_->is_inherited()) core_.reset();
            return entered;
        }
        const auto core = std::move(core_);
        return core->close();
    }
    /// Releases the pool as a killed process would, for tests of recovery. Inside a transaction, in a child and in a
    /// signal handler it acts like destruction.
    void abandon() noexcept { detail::let_go(std::move(core_), detail::letting_go::abandons); }
    /// False after close, abandon or a move.
    bool is_open() const noexcept { return core_ != nullptr; }

    /// Throws failure: misuse.
    pool_info info() const {
        detail::require_entry(core_.get(), allowed_inside);
        return core_->info();
    }
    /// Throws failure: misuse.
    heap_usage usage() {
        detail::require_entry(core_.get(), allowed_inside);
        core_->bring_home();
        return core_->heap().usage();
    }
    result<std::vector<root_listing>> roots() const {
        if (auto entered = detail::check_entry(core_.get(), allowed_inside); !entered) return entered.error();
        return list_roots(*core_);
    }
    /// The engine-independent part, for tools and tests. Throws failure: misuse (closed).
    open_pool& core() {
        if (!core_) throw failure(detail::closed_error());
        return *core_;
    }

private:
    explicit basic_pool(std::unique_ptr<open_pool> core) noexcept : core_(std::move(core)) {}

    static std::byte* address_of(const void* object) noexcept {
        return static_cast<std::byte*>(const_cast<void*>(object));
    }
    template <class T, class... Arguments>
    result<T*> find_or_make_root(std::string_view name, std::string_view version, Arguments&&... arguments) {
        const root_type type{sizeof(T), alignof(T), version};
        return atomically([&]() -> result<T*> {
            auto& transaction = current_transaction<Engine>();
            auto found = find_root_or_prepare(transaction, name, type);
            if (!found) return found.error();
            if (*found != nullptr) return reinterpret_cast<T*>(*found);
            T* made = Engine::template make<T>(std::forward<Arguments>(arguments)...);
            if (auto entered = enter_root(transaction, name, type, address_of(made)); !entered)
                return entered.error();
            return made;
        });
    }

    static constexpr auto refused_inside = detail::inside_transaction::refused;
    static constexpr auto allowed_inside = detail::inside_transaction::allowed;

    static result<basic_pool> wrap(result<std::unique_ptr<open_pool>> opened) {
        if (!opened) return opened.error();
        return basic_pool(std::move(*opened));
    }

    template <class Tuple, std::size_t... Indices>
    auto call(Tuple&& arguments, std::index_sequence<Indices...>) {
        auto& f = std::get<sizeof...(Indices)>(arguments);
        using returned = decltype(run_transaction<Engine>(*core_, f, std::get<Indices>(arguments)...));
        if (!core_) return returned(detail::closed_error());
        return run_transaction<Engine>(*core_, f, std::get<Indices>(arguments)...);
    }

    std::unique_ptr<open_pool> core_;
};

}  // namespace holdfast
