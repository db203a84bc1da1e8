// Loads and stores of instrumented code: values of any size and alignment as words with byte masks, with the hints
// handed to the algorithm; copies and fills as ranges.
#pragma once

#include <holdfast/base/words.hpp>
#include <holdfast/itm/abi.hpp>
#include <holdfast/itm/planted.hpp>
#include <holdfast/itm/state.hpp>
#include <holdfast/itm/undo_log.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace holdfast::itm {

/// What the compiler knows about earlier or later accesses of the same place in the same transaction.
enum class hint { none, after_read, after_write, for_write };

/// Bytes of a value that are stored: an x87 long double's last six are padding, which may hold anything.
template <class T>
inline constexpr std::size_t stored_bytes =
    std::is_same_v<T, long double> && sizeof(T) == 16 && __LDBL_MANT_DIG__ == 64 ? 10 : sizeof(T);

/// The algorithm with the hint of one barrier, as load_bytes and store_bytes want it.
template <class Algorithm, hint Hint>
struct hinted {
    Algorithm& algorithm;

    [[gnu::always_inline]] std::uint64_t load(const pool_word* word) {
        const auto* const home = reinterpret_cast<const stm::word*>(word);
        if constexpr (Hint == hint::after_read) {
            return algorithm.load_after_read(home);
        } else if constexpr (Hint == hint::after_write) {
            return algorithm.load_after_write(home);
        } else if constexpr (Hint == hint::for_write) {
            return is_planted(fault::hint_misused) ? algorithm.load_after_write(home) : algorithm.load_for_write(home);
        } else {
            return algorithm.load(home);
        }
    }
    [[gnu::always_inline]] void store(pool_word* word, std::uint64_t value, std::uint8_t mask) {
        auto* const home = reinterpret_cast<stm::word*>(word);
        if constexpr (Hint == hint::after_read) {
            algorithm.store_after_read(home, value, mask);
        } else if constexpr (Hint == hint::after_write) {
            algorithm.store_after_write(home, value, mask);
        } else {
            algorithm.store(home, value, mask);
        }
    }
};

/// Loads to `value`, and does not return it: how vectors are returned depends on the caller's flags.
template <class Algorithm, hint Hint, class T>
inline void load_to(const T* from, T& value) {
    hinted<Algorithm, Hint> words{Algorithm::of_this_thread()};
    load_bytes(words, from, &value, stored_bytes<T>);
}

/// Apart, so that a load of an aligned value saves no register.
template <class Algorithm, hint Hint, class T>
[[gnu::noinline]] T load_unaligned(const T* from) {
    T value;
    load_to<Algorithm, Hint>(from, value);
    return value;
}

template <class Algorithm, hint Hint, class T>
[[gnu::always_inline]] inline T load(const T* from) {
    static_assert(sizeof(T) <= 8);
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    if (address % sizeof(T) != 0) [[unlikely]]
        return load_unaligned<Algorithm, Hint>(from);
    const auto [word, byte] = detail::word_of(from);
    hinted<Algorithm, Hint> words{Algorithm::of_this_thread()};
    std::uint64_t bits = 0;
    if constexpr (sizeof(T) == 8) {
        bits = words.load(reinterpret_cast<const pool_word*>(from));
    } else {
        bits = words.load(word) >> (8 * byte);
    }
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

/// Whatever is larger than a word, not aligned, or stored in a nested block that may be cancelled.
template <class Algorithm, hint Hint, class T>
[[gnu::noinline]] void store_slowly(T* home, const T& value) {
    Algorithm& algorithm = Algorithm::of_this_thread();
    const std::size_t size = is_planted(fault::padding_stored) ? sizeof(T) : stored_bytes<T>;
    if (state().notes_stores) note_shared(algorithm, state(), home, size);
    hinted<Algorithm, Hint> words{algorithm};
    const unsigned byte = detail::word_of(home).byte;
    if constexpr (sizeof(T) % 8 == 0 && stored_bytes<T> == sizeof(T)) {
        if (byte == 0) [[likely]] {
            for (std::size_t at = 0; at < sizeof(T) / 8; ++at) {
                std::uint64_t bits;
                std::memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + 8 * at, 8);
                words.store(reinterpret_cast<pool_word*>(home) + at, bits, 0xFF);
            }
            return;
        }
    }
    const bool torn = is_planted(fault::straddling_torn) && byte + size > 8;
    store_bytes(words, home, &value, torn ? 8 - byte : size);
}

template <class Algorithm, hint Hint, class T>
[[gnu::noinline]] void store_value_slowly(T* home, T value) {
    store_slowly<Algorithm, Hint>(home, value);
}

template <class Algorithm, hint Hint, class T>
[[gnu::always_inline]] inline void store(T* home, T value) {
    static_assert(sizeof(T) <= 8);
    if (reinterpret_cast<std::uintptr_t>(home) % sizeof(T) != 0 || state().notes_stores) [[unlikely]]
        return store_value_slowly<Algorithm, Hint>(home, value);
    const auto [word, byte] = detail::word_of(home);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    hinted<Algorithm, Hint> words{Algorithm::of_this_thread()};
    if constexpr (sizeof(T) == 8) {
        words.store(reinterpret_cast<pool_word*>(home), bits, 0xFF);
    } else {
        words.store(word, bits << (8 * byte), detail::byte_mask(byte, sizeof(T)));
    }
}

/// Ranges: one call of the algorithm, which checks a lock or the clock once a line.
template <class Algorithm>
struct ranges {
    static Algorithm& about_to_store(void* to, std::size_t bytes) {
        Algorithm& algorithm = Algorithm::of_this_thread();
        if (state().notes_stores && bytes != 0) [[unlikely]]
            note_shared(algorithm, state(), to, bytes);
        return algorithm;
    }
    /// To memory of the thread's own. g++ 12 notes variables before it stores to them, but not before such a copy.
    static void read(void* to, const void* from, std::size_t bytes) {
        if (is_variable_from_before(state(), to)) note_local(state(), to, bytes);
        Algorithm::of_this_thread().read_range(to, from, bytes);
    }
    static void write(void* to, const void* from, std::size_t bytes) {
        about_to_store(to, bytes).write_range(to, from, bytes);
    }
    static void copy(void* to, const void* from, std::size_t bytes) {
        Algorithm& algorithm = about_to_store(to, bytes);
        if (is_planted(fault::move_as_copy)) {
            auto* target = static_cast<unsigned char*>(to);
            const auto* const source = static_cast<const unsigned char*>(from);
            for (std::size_t each = 0; each < bytes; ++each)
                store<Algorithm, hint::none>(target + each, load<Algorithm, hint::none>(source + each));
            return;
        }
        algorithm.copy_range(to, from, bytes);
    }
    static void fill(void* to, int byte, std::size_t bytes) { about_to_store(to, bytes).fill_range(to, byte, bytes); }
};

}  // namespace holdfast::itm
