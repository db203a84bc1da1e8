// The softwrap engine: what must be inlined. The protocol is in softwrap.cpp.
#pragma once

#include <holdfast/engine/open_wraps.hpp>
#include <holdfast/engine/record_stream.hpp>
#include <holdfast/engine/write_aside.hpp>
#include <holdfast/log/alias_tables.hpp>
#include <holdfast/pool/registry.hpp>

namespace holdfast {

/// A wrap whose values wait in the pool's alias tables once it is closed. One thread at a time.
class softwrap_transaction final : public write_aside_transaction {
public:
    void begin(open_pool& pool) noexcept {
        write_aside_transaction::begin(pool);
        stream_.begin(pool);
        aliases_ = pool.alias_values();
    }

    std::uint64_t load(const pool_word* home) noexcept {
        const auto committed = [&] { return load_committed(home); };
        return writes_.empty() ? committed() : writes_.load(offset_of(home), committed);
    }
    /// The word as this wrap sees it; without the wrap it would be `below`.
    std::uint64_t load_over(const pool_word* home, std::uint64_t below) noexcept {
        return writes_.load(offset_of(home), [below] { return below; });
    }
    void load_into(const void* home, void* bytes, std::size_t size) override { load_bytes(*this, home, bytes, size); }

    using write_aside_transaction::store;
    void store(pool_word* home, std::uint64_t value, std::uint8_t mask) {
        write_aside_transaction::store(home, value, mask);
        stream_.follow(*pool_, writes_);
    }
    void store_run(pool_word* home, const void* bytes, std::size_t words) {
        write_aside_transaction::store_run(home, bytes, words);
        stream_.follow(*pool_, writes_);
    }
    /// Commits: logs the stores and makes them visible. The caller may release its locks afterwards.
    result<void> seal() { return has_stores() ? commit() : result<void>{}; }
    void roll_back() noexcept(persist::noexcept_seam) {
        record_stream::give_up(*pool_, writes_);
        write_aside_transaction::roll_back();
    }

private:
    std::uint64_t load_committed(const pool_word* home) const noexcept {
        if (aliases_ != nullptr && offset_of(home) < size_) [[likely]]
            return aliases_->load(home);
        // It may be where the pool has grown since the wrap was opened. What is not in the pool has no alias; where
        // homes are private, nothing has.
        if (aliases_ != nullptr && pool_->contains(home)) return aliases_->load(home);
        return __atomic_load_n(home, __ATOMIC_RELAXED);
    }
    result<void> commit();
    void store_homes();
    void publish(alias_entrance& entered);

    record_stream stream_;
    const alias_tables* aliases_ = nullptr;
};

/// SoftWrAP with a shared alias table: closing costs one fence and stores no home; values wait in two tables that take
/// turns, and a thread of the pool retires them. Loads consult the tables, also outside transactions. Transactions can
/// also be opened by hand: wrap.hpp. `using store = holdfast::softwrap;`
struct softwrap : engine_interface<softwrap> {
    using transaction = softwrap_transaction;
    static constexpr engine_description description{.name = "softwrap", .stores_homes_late = true};
    static constexpr bool opens_wraps = true;
    /// wrapped.hpp
    template <class T>
    using wrapped = basic_wrapped<softwrap, T>;
    static constexpr bool has_shared_aliases = true;

    /// Copies bytes of an open pool as of the last commit, overlaid with the stores of this thread's open
    /// wraps and transaction. Requires: the caller's locks guard them; without locks each word is from some commit,
    /// perhaps not the last one. Bytes in no open pool are copied as they are.
    static void read(const void* home, void* to, std::size_t bytes);
    /// Throws failure: misuse (not in an open pool of this engine).
    static void require_in_open_pool(const void* home);
};

/// Reads what was closed last, for many loads. It names the pool, for which wrapLoad without a wrap searches each time,
/// and ignores this thread's open wraps. A copy is cheap; use one per thread.
///
///     const closed_values closed(pool);
///     total += closed.load(&data.x);
class closed_values {
public:
    /// Throws failure: misuse (the pool is closed, or was opened before a fork).
    template <class Pool>
    explicit closed_values(Pool& pool) : closed_values(pool.core()) {}

    /// Without the caller's lock perhaps not the last value, but never a torn word. Throws failure: misuse (the pool
    /// was closed meanwhile; address not in the pool).
    template <class T>
    T load(const T* home) const {
        static_assert(std::is_trivially_copyable_v<T>, "a wrap loads bytes: T must be trivially copyable");
        if (pool_changes.load(std::memory_order_relaxed) != changes_ || !pool_->contains(home)) [[unlikely]]
            check_load(home);
        return load_value<T>(*this, home);
    }
    /// The aligned word. Requires: in the pool, which is open.
    std::uint64_t load(const pool_word* home) const noexcept {
        return aliases_ != nullptr ? aliases_->load(home) : __atomic_load_n(home, __ATOMIC_RELAXED);
    }

private:
    explicit closed_values(open_pool& pool);
    void check_load(const void* home) const;

    open_pool* pool_;
    const alias_tables* aliases_;
    std::uint64_t instance_;
    mutable std::uint64_t changes_;  ///< the pool was open at that count of pool_changes
};

/// wrapLoad of algorithm 1, which names no wrap: returns what this thread's open wraps have stored, otherwise what was
/// closed last; see softwrap::read. Throws failure: misuse (not in an open pool of softwrap: no other engine shares its
/// table).
template <class T>
T wrapLoad(const T* home) {
    static_assert(std::is_trivially_copyable_v<T>, "a wrap loads bytes: T must be trivially copyable");
    softwrap::require_in_open_pool(home);
    return read_value<softwrap>(home);
}

}  // namespace holdfast
