// lines<T>: an object of many cache lines, changed in transactions without a log.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/line/copies.hpp>
#include <holdfast/line/line.hpp>
#include <holdfast/line/medium.hpp>
#include <holdfast/line/transact.hpp>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace holdfast {

/// A T that is changed in transactions which cost one fence, and a write-back for each line whose bytes change: those
/// of the transaction, those of the previous transaction, and the first line. For records of 48 bytes to a few KiB;
/// smaller objects are cheaper in a line<T>. Takes twice the lines of 16 + sizeof(T) bytes.
///
/// Callers serialise access, as for line<T>. After a crash the opening of the pool recovers it. It relies neither on
/// the order of stores in a line nor on whole lines (line/copies.hpp has the protocol).
template <class T>
class alignas(format::cache_line_bytes) lines {
public:
    using holdfast_of_lines = void;  ///< of all pools only a line_pool can hold it

private:
    static_assert(std::is_trivially_copyable_v<T>,
                  "lines<T>: T is copied byte by byte at each transaction, so it must be trivially copyable");
    static_assert(alignof(T) <= sizeof(format::copy_header), "lines<T>: T begins 16 bytes into a line");
    static_assert(sizeof(T) <= 65536, "lines<T>: each transaction compares all of T; for more use redo");

public:
    lines() : lines(T{}) {}
    explicit lines(const T& value) noexcept { copies_.begin_with(&value); }
    lines(const lines&) = delete;
    lines& operator=(const lines&) = delete;

    /// Runs f(T&) as one transaction and returns its result; exceptions, nesting, crashes and errors as for
    /// line<T>::transact.
    template <class F>
    decltype(auto) transact(F&& f) {
        HOLDFAST_ASSERT(copies_.is_settled(), "the valid copy of an object is whole");
        cache_line::copies_transaction<line_medium, sizeof(T)> open(copies_);
        return cache_line::run<T>(open, std::forward<F>(f));
    }

    /// The valid T; inside a transaction of this thread on this object, the one that is being changed.
    const T& get() const noexcept {
        const std::size_t valid = copies_.valid();
        const std::size_t which = cache_line::is_open<line_medium>(&copies_) ? 1 - valid : valid;
        return *std::launder(static_cast<const T*>(copies_.at(which).object()));
    }
    const T* operator->() const noexcept { return &get(); }
    const T& operator*() const noexcept { return get(); }

    /// Takes over from a process that died: call it before the first transaction on an object of a shared pool whose
    /// writer has died (opening a pool for one process does this automatically). Requires: no transaction on the
    /// object. Returns false, with nothing changed, if neither copy is valid, which no crash causes.
    /// What holds if the process dies inside: the same T.
    bool recover() { return copies_.template recover<line_medium>(); }
    /// For the opening of a pool, which has already made the stores of the previous process durable.
    bool recover_opened() { return copies_.is_settled() || recover(); }

private:
    cache_line::copies<sizeof(T)> copies_;
};

/// N such objects: a root of a line_pool.
template <class T, std::size_t N>
using lines_array = array_of_lines<lines<T>, N>;

}  // namespace holdfast
