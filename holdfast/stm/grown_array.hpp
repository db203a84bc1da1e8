// The arrays of read and write sets, and of the runtime's lists of what to undo.
#pragma once

#include <holdfast/base/assertion.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace holdfast::stm {

/// What a list does that cannot grow.
struct throw_bad_alloc {
    [[noreturn]] static void no_memory() { throw std::bad_alloc(); }
};

/// Elements in the order in which they were added. One thread. Grows by doubling, never shrinks; no allocation once
/// warm. Constant-initialised and trivially destructible, for objects that a thread must reach without a guard:
/// release() gives the memory back. Where there is no memory it calls NoMemory::no_memory().
template <class T, class NoMemory = throw_bad_alloc>
class grown_array {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    bool empty() const noexcept { return begin_ == end_; }
    std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - begin_); }
    T* begin() noexcept { return begin_; }
    T* end() noexcept { return end_; }
    const T* begin() const noexcept { return begin_; }
    const T* end() const noexcept { return end_; }
    T* data() noexcept { return begin_; }
    /// Requires: not empty.
    T& back() noexcept {
        HOLDFAST_ASSERT(!empty(), "an array has a last element");
        return end_[-1];
    }
    T& operator[](std::size_t at) noexcept { return begin_[at]; }
    const T& operator[](std::size_t at) const noexcept { return begin_[at]; }

    [[gnu::always_inline]] void push(const T& each) {
        if (end_ == limit_) [[unlikely]]
            grow(1);
        *end_++ = each;
    }
    /// Room for `count` more behind the last one; taken() says how many were put there.
    T* room_for(std::size_t count) {
        if (static_cast<std::size_t>(limit_ - end_) < count) grow(count);
        return end_;
    }
    void taken(std::size_t count) noexcept {
        HOLDFAST_ASSERT(count <= static_cast<std::size_t>(limit_ - end_), "an array has room for what was put into it");
        end_ += count;
    }
    /// Adds `count` elements, uninitialised.
    T* extend(std::size_t count) {
        T* const at = room_for(count);
        taken(count);
        return at;
    }
    /// Requires: not empty.
    void pop() noexcept {
        HOLDFAST_ASSERT(!empty(), "an array has a last element");
        --end_;
    }
    bool is_full() const noexcept { return end_ == limit_; }
    /// Requires: not full.
    [[gnu::always_inline]] void push_without_growing(const T& each) noexcept {
        HOLDFAST_ASSERT(!is_full(), "an array has room for one more");
        *end_++ = each;
    }
    void clear() noexcept { end_ = begin_; }
    /// Keeps the first `count` elements. Requires: count <= size().
    void keep(std::size_t count) noexcept {
        HOLDFAST_ASSERT(count <= size(), "an array keeps elements that it has");
        end_ = begin_ + count;
    }

    /// Empties it and gives its memory back; it may be used again.
    void release() noexcept {
        std::free(begin_);
        begin_ = end_ = limit_ = nullptr;
    }

private:
    static constexpr std::size_t first_capacity = 256;

    /// Makes room for `more` behind the last one. An array that was emptied keeps its capacity.
    [[gnu::noinline, gnu::cold]] void grow(std::size_t more) {
        const std::size_t count = size();
        const std::size_t doubled = 2 * static_cast<std::size_t>(limit_ - begin_);
        const std::size_t capacity = std::max({first_capacity, doubled, count + more});
        auto* larger = static_cast<T*>(std::realloc(static_cast<void*>(begin_), capacity * sizeof(T)));
        if (larger == nullptr) NoMemory::no_memory();
        begin_ = larger;
        end_ = larger + count;
        limit_ = larger + capacity;
    }

    T* begin_ = nullptr;
    T* end_ = nullptr;
    T* limit_ = nullptr;
};

}  // namespace holdfast::stm
