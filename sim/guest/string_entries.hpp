// Lets workload/sps.hpp, whose entries are words, move strings of 256 bytes: the array has room for strings, and what
// the workload takes for the i-th word names the i-th string. A string is its number and 31 words made from it.
#pragma once

#include <sim/guest/access.hpp>

namespace holdfast::guest {

inline constexpr std::uint64_t string_bytes = 256;
inline constexpr std::uint64_t string_words = string_bytes / sizeof(std::uint64_t);

constexpr std::uint64_t string_word(std::uint64_t number, std::uint64_t i) noexcept {
    return i == 0 ? number : (number + i) * 0x9E3779B97F4A7C15ull;
}

/// What the three have in common; Self says what loading and storing an entry is.
template <class Self, class Access = guest_access>
class string_access : public Access {
public:
    string_access(arena& memory, std::uint32_t thread) noexcept
        : Access(memory, thread), words_(*static_cast<std::uint64_t**>(memory.root())) {}

    template <class T>
    T load(const T* home) const noexcept {
        if constexpr (sizeof(T) == sizeof(std::uint64_t) && !std::is_pointer_v<T>) {
            if (is_entry(home)) return static_cast<const Self*>(this)->load_string(string_at(home));
        }
        return Access::load(home);
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const noexcept {
        if constexpr (sizeof(T) == sizeof(std::uint64_t) && !std::is_pointer_v<T>) {
            if (is_entry(home)) return static_cast<const Self*>(this)->store_string(string_at(home), value);
        } else {
            words_ = reinterpret_cast<std::uint64_t*>(value);  // the array, just allocated
        }
        Access::store(home, value);
    }
    void* allocate(std::size_t bytes) const noexcept { return Access::allocate(bytes * string_words); }

private:
    /// The roots lie below the array, and the workload stores nothing else.
    bool is_entry(const void* home) const noexcept { return words_ != nullptr && home >= words_; }
    std::uint64_t* string_at(const void* home) const noexcept {
        return words_ + (static_cast<const std::uint64_t*>(home) - words_) * static_cast<std::ptrdiff_t>(string_words);
    }

    mutable std::uint64_t* words_;
};

/// Stores whole strings by their numbers.
class creating_strings : public string_access<creating_strings> {
public:
    using string_access::string_access;
    std::uint64_t load_string(const std::uint64_t* text) const noexcept { return *text; }
    void store_string(std::uint64_t* text, std::uint64_t number) const noexcept {
        for (std::uint64_t i = 0; i < string_words; ++i) guest_access::store(text + i, string_word(number, i));
    }
};

/// Loads a string into one of two buffers, as a swap by value does, and stores what is in a buffer.
template <class Access>
class swapping_strings : public string_access<swapping_strings<Access>, Access> {
public:
    using string_access<swapping_strings, Access>::string_access;
    std::uint64_t load_string(const std::uint64_t* text) const noexcept {
        next_ ^= 1;
        for (std::uint64_t i = 0; i < string_words; ++i) buffers_[next_][i] = Access::load(text + i);
        return next_;
    }
    void store_string(std::uint64_t* text, std::uint64_t buffer) const noexcept {
        for (std::uint64_t i = 0; i < string_words; ++i) Access::store(text + i, buffers_[buffer][i]);
    }

private:
    mutable std::uint64_t buffers_[2][string_words];
    mutable std::uint64_t next_ = 0;
};

/// Loads a string's number; one that is not whole has a number that no entry may have.
class checking_strings : public string_access<checking_strings> {
public:
    using string_access::string_access;
    std::uint64_t load_string(const std::uint64_t* text) const noexcept {
        for (std::uint64_t i = 1; i < string_words; ++i) {
            if (text[i] != string_word(*text, i)) return ~std::uint64_t{0};
        }
        return *text;
    }
    void store_string(std::uint64_t*, std::uint64_t) const noexcept {}
};

}  // namespace holdfast::guest
