// line<T>: a small object in one cache line, changed in transactions that cost one write-back and one fence.
#pragma once

#include <holdfast/line/mechanism.hpp>
#include <holdfast/line/medium.hpp>
#include <holdfast/line/transact.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace holdfast {

/// Whether T was woven: its own member functions are the transactions, and it is a line already.
template <class T, class = void>
inline constexpr bool is_woven = false;
template <class T>
inline constexpr bool is_woven<T, std::void_t<typename T::holdfast_woven>> = T::holdfast_woven::value;

/// A T that is changed in transactions, in one cache line. For counters, small records and slots of a ring: objects of
/// at most 31 bytes, or 24 if T has members of 8 bytes (its size is a multiple of 8, and 32 would overlap the index).
///
/// Callers serialise access to each line: one thread at a time in a transaction on it, and no reader meanwhile. A crash
/// needs no recovery (line/mechanism.hpp has the protocol). This requires a medium that takes a line whole and its
/// stores in order, as x86-64 and aarch64 processors do with persistent memory; it does not work if a line may tear.
/// Lines live in a line_pool, or anywhere else, where they are atomic with respect to exceptions only.
template <class T>
class alignas(format::cache_line_bytes) line {
public:
    using holdfast_of_lines = void;  ///< of all pools only a line_pool can hold it

private:
    static_assert(std::is_trivially_copyable_v<T>,
                  "line<T>: T is copied byte by byte at each transaction, so it must be trivially copyable");
    static_assert(sizeof(T) <= format::line_payload_bytes,
                  "line<T>: T does not fit twice into a line of 64 bytes with its index: it may have 31 bytes, or 24 "
                  "where it is aligned to 8 (28 where to 4); holdfast::lines<T> takes more");
    static_assert(alignof(T) <= format::half_line_bytes, "line<T>: a half begins at 32 bytes");

public:
    line() noexcept(std::is_nothrow_default_constructible_v<T>) : line(T{}) {}
    explicit line(const T& value) noexcept {
        std::memset(bytes_, 0, sizeof bytes_);
        std::memcpy(bytes_, &value, sizeof(T));
    }
    line(const line&) = delete;
    line& operator=(const line&) = delete;

    /// Runs f(T&) as one transaction and returns its result. An exception that leaves f rolls back. A nested call
    /// inside f is part of the same transaction; on another line it is a transaction of its own.
    /// What holds if the process dies inside, or at level `power` the power fails: T as it was before, or, from the
    /// commit on, as f left it.
    /// Errors: none on byte-addressable media and at level `process`. In a pool on an ordinary file at `power` throws
    /// failure, and T is as it was before: poisoned, transaction_too_large; and outcome_unknown, after which the pool
    /// accepts no more commits, and after the next opening T may be in either state.
    template <class F>
    decltype(auto) transact(F&& f) {
        cache_line::transaction<line_medium, sizeof(T)> open(bytes_);
        return cache_line::run<T>(open, std::forward<F>(f));
    }

    /// The valid T; inside a transaction of this thread on this line, the one that is being changed. A reference is
    /// valid until the next transaction.
    const T& get() const noexcept {
        const void* half = cache_line::is_open<line_medium>(bytes_)
                               ? bytes_ + (cache_line::valid_offset(bytes_) ^ format::half_line_bytes)
                               : cache_line::valid_half(bytes_);
        return *std::launder(static_cast<const T*>(half));
    }
    const T* operator->() const noexcept { return &get(); }
    const T& operator*() const noexcept { return get(); }

    /// A copy of the valid T, for readers while another thread or process may commit. The copy is consistent if at most
    /// one commit happens meanwhile, because a second one overwrites what is being read. Readers that cannot exclude
    /// that use a counter that the writer increments before and after. The value may not be durable yet.
    T load() const noexcept {
        T copy;
        const std::size_t offset =
            __atomic_load_n(bytes_ + format::line_index_offset, __ATOMIC_ACQUIRE) & format::half_line_bytes;
        std::memcpy(&copy, bytes_ + offset, sizeof copy);
        return copy;
    }

    /// Takes over from a process that died: makes what this process sees of the object durable before it acts on it.
    /// (Opening a pool for one process does this for all objects.) Requires: no transaction on the object.
    void recover() { cache_line::take_over<line_medium>(bytes_); }

private:
    unsigned char bytes_[format::cache_line_bytes];
};

/// N elements, each changed by its own transactions: a root of a line_pool.
template <class Element, std::size_t N>
class array_of_lines {
public:
    using holdfast_of_lines = void;
    using value_type = Element;
    static_assert(sizeof(Element) % format::cache_line_bytes == 0 && alignof(Element) == format::cache_line_bytes);

    Element& operator[](std::size_t index) noexcept { return all_[index]; }
    const Element& operator[](std::size_t index) const noexcept { return all_[index]; }
    static constexpr std::size_t size() noexcept { return N; }
    Element* begin() noexcept { return all_; }
    Element* end() noexcept { return all_ + N; }
    const Element* begin() const noexcept { return all_; }
    const Element* end() const noexcept { return all_ + N; }

private:
    Element all_[N];
};

/// N lines, each with its own T; a woven T is already a line.
template <class T, std::size_t N>
using line_array = array_of_lines<std::conditional_t<is_woven<T>, T, line<T>>, N>;

}  // namespace holdfast
