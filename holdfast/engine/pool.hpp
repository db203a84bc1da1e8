// The user's handle of an open pool.
#pragma once

#include <holdfast/engine/engine.hpp>
#include <holdfast/engine/roots.hpp>
#include <holdfast/engine/run.hpp>
#include <holdfast/pool/open_pool.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast {

/// An open pool of one engine. Move-only; closes on destruction (`close` reports errors).
/// Thread safety: all members but close, abandon and moves may be called concurrently; what a
/// transaction reads and writes is isolated by the caller's locks.
template <class Engine>
class basic_pool {
public:
    using engine = Engine;

    /// Creates a pool file and opens it. See open_pool::create for errors and crashes.
    static result<basic_pool> create(const std::string& path, const create_options& options = {}) {
        return wrap(open_pool::create(path, Engine::description, options));
    }
    /// Opens a pool, recovering it if it was not closed. See open_pool::open.
    static result<basic_pool> open(const std::string& path, const open_options& options = {}) {
        return wrap(open_pool::open(path, Engine::description, options));
    }
    /// Opens the pool at `path`, or creates it when nothing is there.
    static result<basic_pool> open_or_create(const std::string& path, const create_options& options = {}) {
        auto opened = open(path, options);
        if (opened || opened.error().code != errc::not_found) return opened;
        auto created = create(path, options);
        // Another process may have been first.
        if (!created && created.error().code == errc::already_exists) return open(path, options);
        return created;
    }

    /// Runs `f` as one transaction: all of its writes or none survive an exception, a killed
    /// process, and at level power a power cut. `atomically(lock…, f)` holds the locks (taken
    /// together, without deadlock) until the commit is decided; they are the isolation.
    ///
    /// Returns what f returns; if f returns a result<T>, its error rolls back and is returned.
    /// Exceptions of f roll back and propagate; failures of the library roll back and are returned.
    /// Inside an open transaction of the same pool it joins: nothing is durable before the
    /// outermost returns, and an error or exception that leaves the inner call dooms the outer. Locks of
    /// an inner call are held until then too (one that is held already is not taken twice), so they
    /// must live that long. on_commit does not run when the outcome is unknown. f may
    /// run more than once under some engines, and must not swallow everything with catch (...).
    /// What holds if the process dies inside: nothing of f, or once it returned, all of it.
    /// Errors: transaction_too_large, out_of_space, misuse, aborted, outcome_unknown, poisoned.
    template <class... LocksAndF>
    auto atomically(LocksAndF&&... locks_and_f) {
        return call(std::forward_as_tuple(locks_and_f...),
                    std::make_index_sequence<sizeof...(LocksAndF) - 1>{});
    }

    /// The object of root `name`, made by `T(arguments…)` in a transaction when it is not there.
    /// `version` is the user's name for T's layout; with size and alignment it must match.
    /// Errors: root_mismatch, out_of_space, corrupt, invalid_argument.
    template <class T, class... Arguments>
    result<T*> root(std::string_view name, std::string_view version = "1", Arguments&&... arguments) {
        const root_type type{sizeof(T), alignof(T), version};
        return atomically([&]() -> result<T*> {
            auto& transaction = current_transaction<Engine>();
            auto found = find_root(transaction, name, type);
            if (!found) return found.error();
            if (*found != nullptr) return reinterpret_cast<T*>(*found);
            T* made = Engine::template make<T>(std::forward<Arguments>(arguments)...);
            if (auto entered = enter_root(transaction, name, type, reinterpret_cast<std::byte*>(made)); !entered)
                return entered.error();
            return made;
        });
    }

    /// Brings all commits to their homes and empties the log. Thread-safe.
    result<void> checkpoint() { return core_ ? core_->checkpoint() : result<void>(closed_error()); }
    /// Makes the pool `bytes` large in all, while it is in use; see open_pool::grow for errors and crashes. A
    /// transaction that ran out of space may call it and allocate again; the growth stays if it is rolled back.
    result<void> grow(std::uint64_t bytes) { return core_ ? core_->grow(bytes) : result<void>(closed_error()); }
    /// Copies the pool to a new file while it is in use; see open_pool::snapshot for what the copy holds, for errors
    /// and for crashes. Errors besides: misuse (inside a transaction), level_unavailable (an engine that keeps
    /// nothing through a crash has no moment at which a copy is whole).
    result<snapshot_report> snapshot(const std::string& path, const snapshot_options& options = {}) {
        if (!core_) return closed_error();
        if (open_transaction != nullptr) return detail::snapshot_in_transaction(*core_);
        if constexpr (!Engine::description.recovers) return detail::snapshot_of_volatile(*core_);
        return core_->snapshot(path, options);
    }
    /// Closes cleanly. Requires: no transaction is open, nothing in the pool is in use.
    result<void> close() {
        if (!core_) return closed_error();
        const auto core = std::move(core_);
        return core->close();
    }
    /// Lets the pool go as a killed process would, for tests of recovery.
    void abandon() noexcept {
        if (core_) core_->abandon();
        core_.reset();
    }
    /// False after close, abandon or a move. All but the members above require an open pool.
    bool is_open() const noexcept { return core_ != nullptr; }

    pool_info info() const { return core_->info(); }
    heap_usage usage() {
        core_->bring_home();
        return core_->heap().usage();
    }
    result<std::vector<root_listing>> roots() const { return list_roots(*core_); }
    /// The engine-independent part, for tools and tests.
    open_pool& core() noexcept { return *core_; }

private:
    explicit basic_pool(std::unique_ptr<open_pool> core) noexcept : core_(std::move(core)) {}

    static error closed_error() {
        return error{.code = errc::misuse, .what = "the pool is closed"};
    }

    static result<basic_pool> wrap(result<std::unique_ptr<open_pool>> opened) {
        if (!opened) return opened.error();
        return basic_pool(std::move(*opened));
    }

    template <class Tuple, std::size_t... Indices>
    auto call(Tuple&& arguments, std::index_sequence<Indices...>) {
        auto& f = std::get<sizeof...(Indices)>(arguments);
        using returned = decltype(run_transaction<Engine>(*core_, f, std::get<Indices>(arguments)...));
        if (!core_) return returned(closed_error());
        return run_transaction<Engine>(*core_, f, std::get<Indices>(arguments)...);
    }

    std::unique_ptr<open_pool> core_;
};

}  // namespace holdfast
