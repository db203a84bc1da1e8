// A growing array for the runtime's own lists: constant-initialised, trivially destroyed, and it does not throw.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <unistd.h>

namespace holdfast::itm {

/// Ends the program with a message: what a runtime under nothrow barriers has left where it can neither go on nor go
/// back. Writes to stderr without allocating.
[[noreturn]] inline void stop(const char* what, const char* why) noexcept {
    const auto say = [](const char* text) {
        const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
        static_cast<void>(written);
    };
    say("holdfast: ");
    say(what);
    say(": ");
    say(why);
    say("\n");
    std::abort();
}

/// Elements are bytes to it. Once warm it does not allocate. One thread's.
template <class T>
class grown {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T& operator[](std::size_t index) noexcept { return data_[index]; }
    T& back() noexcept { return data_[size_ - 1]; }
    T* data() noexcept { return data_; }
    T* begin() noexcept { return data_; }
    T* end() noexcept { return data_ + size_; }

    void push(const T& element) noexcept { *extend(1) = element; }
    /// Room for `count` more, uninitialised.
    T* extend(std::size_t count) noexcept {
        if (capacity_ - size_ < count) [[unlikely]]
            grow(size_ + count);
        T* const at = data_ + size_;
        size_ += count;
        return at;
    }
    void pop() noexcept { --size_; }
    /// Requires: at most size().
    void shrink(std::size_t size) noexcept { size_ = size; }

    /// Gives the memory back; what comes later grows anew.
    void release() noexcept {
        std::free(static_cast<void*>(data_));
        *this = {};
    }

private:
    [[gnu::cold, gnu::noinline]] void grow(std::size_t least) noexcept {
        const std::size_t capacity = least < 64 ? 128 : 2 * least;
        void* const larger = std::realloc(static_cast<void*>(data_), capacity * sizeof(T));
        if (larger == nullptr)
            stop("out of memory", "a transaction's list of what to undo cannot grow, and a barrier cannot throw");
        data_ = static_cast<T*>(larger);
        capacity_ = capacity;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace holdfast::itm
