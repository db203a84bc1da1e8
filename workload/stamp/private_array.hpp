// Arrays in memory of one process.
#pragma once

#include <workload/private_memory.hpp>

#include <type_traits>

namespace holdfast::workload {

/// `count` elements, all zero at first. Threads share it as they would an array. Where there is no memory the process
/// ends: a program cannot begin without its input.
template <class T, class Memory = own_memory>
    requires std::is_trivially_copyable_v<T>
class private_array {
public:
    explicit private_array(std::uint64_t count = 0)
        : places_(Memory::template allocate<T>(count != 0 ? count : 1)), count_(count) {
        if (places_ == nullptr) std::abort();
    }
    ~private_array() { Memory::free(places_); }
    private_array(const private_array&) = delete;
    private_array& operator=(const private_array&) = delete;
    private_array(private_array&& other) noexcept : places_(other.places_), count_(other.count_) {
        other.places_ = nullptr;
        other.count_ = 0;
    }
    private_array& operator=(private_array&& other) noexcept {
        T* const places = places_;
        const std::uint64_t count = count_;
        places_ = other.places_;
        count_ = other.count_;
        other.places_ = places;
        other.count_ = count;
        return *this;
    }

    std::uint64_t count() const noexcept { return count_; }
    T* data() const noexcept { return places_; }
    T& operator[](std::uint64_t i) const noexcept { return places_[i]; }
    T* begin() const noexcept { return places_; }
    T* end() const noexcept { return places_ + count_; }

private:
    T* places_;
    std::uint64_t count_;
};

/// Elements that are added one by one. Otherwise as a private_array.
template <class T>
class private_list {
public:
    std::uint64_t count() const noexcept { return count_; }
    T& operator[](std::uint64_t i) const noexcept { return places_[i]; }
    T* begin() const noexcept { return places_.begin(); }
    T* end() const noexcept { return places_.begin() + count_; }

    void add(T value) {
        if (count_ == places_.count()) {
            private_array<T> larger(count_ == 0 ? 64 : 2 * count_);
            for (std::uint64_t i = 0; i < count_; ++i) larger[i] = places_[i];
            places_ = static_cast<private_array<T>&&>(larger);
        }
        places_[count_++] = value;
    }

private:
    private_array<T> places_;
    std::uint64_t count_ = 0;
};

}  // namespace holdfast::workload
