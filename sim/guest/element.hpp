// What programs keep in their structures: numbers or strings, made from a seed, so that whoever checks knows what must
// be there.
#pragma once

#include <sim/guest/access.hpp>

namespace holdfast::guest {

/// A value that stands in the structure itself.
struct integer_element {
    static constexpr std::uint64_t bytes = 0;
    template <class Access>
    static std::int64_t make(const Access&, std::int64_t seed) noexcept { return seed ^ 0x5555; }
    template <class Access>
    static void drop(const Access&, std::int64_t) noexcept {}
    static std::uint64_t content(std::int64_t value) noexcept { return static_cast<std::uint64_t>(value); }
    static std::uint64_t expected(std::int64_t seed) noexcept { return static_cast<std::uint64_t>(seed ^ 0x5555); }
};

/// 256 bytes of the arena, whose address stands in the structure.
struct string_element {
    static constexpr std::uint64_t bytes = 256;
    static constexpr std::uint64_t words = bytes / 8;
    template <class Access>
    static std::int64_t make(const Access& memory, std::int64_t seed) noexcept {
        auto* const text = static_cast<std::uint64_t*>(memory.allocate(bytes));
        for (std::uint64_t i = 0; i < words; ++i) memory.store(text + i, static_cast<std::uint64_t>(seed) + i);
        return reinterpret_cast<std::intptr_t>(text);
    }
    template <class Access>
    static void drop(const Access& memory, std::int64_t value) noexcept {
        memory.free(reinterpret_cast<void*>(value));
    }
    static std::uint64_t content(std::int64_t value) noexcept {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < words; ++i) sum = sum * 31 + reinterpret_cast<const std::uint64_t*>(value)[i];
        return sum;
    }
    static std::uint64_t expected(std::int64_t seed) noexcept {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < words; ++i) sum = sum * 31 + static_cast<std::uint64_t>(seed) + i;
        return sum;
    }
};

}  // namespace holdfast::guest
