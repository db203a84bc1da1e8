// What maps need to know about their keys, and how a program declares it for its own keys.
#pragma once

#include <holdfast/container/element.hpp>
#include <holdfast/container/string.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace holdfast {

/// How a map takes, keeps and reads a key.
///
/// `argument` is what functions take, `owned` a copy in ordinary memory, and read calls f with the
/// argument form of a held key. The default is for trivially copyable keys and std::pairs of such.
template <class Key>
struct key_form {
    static_assert(detail::is_plain_value<Key>,
                  "a map's key is trivially copyable, a std::pair of such, or a string; specialise holdfast::key_form "
                  "for another, as the guide on containers shows");
    using argument = Key;
    using owned = Key;
    template <class Held, class F>
    static decltype(auto) read(const Held& held, F&& f) {
        return f(held.get());
    }
};

/// Strings are looked up by std::string_view.
template <class Engine>
struct key_form<string<Engine>> {
    using argument = std::string_view;
    using owned = std::string;
    template <class F>
    static decltype(auto) read(const string<Engine>& held, F&& f) {
        return held.with_view(std::forward<F>(f));
    }
};

namespace detail {

/// A key and a value in a map: `first` and `second`, as in std::pair.
template <class Key, class T, class Engine>
struct map_entry {
    const held_element<Key, Engine> first;
    held_element<T, Engine> second;
};

/// A bijection of 64-bit numbers that spreads every bit: the finalizer of splitmix64 (S. Vigna, public domain). It
/// decides what is on the media.
constexpr std::uint64_t mix(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
    return value ^ (value >> 31);
}

/// A hash that is the same in every process and on every machine: it decides what is on the media.
inline std::uint64_t hash_bytes(const void* bytes, std::size_t size) noexcept {
    const auto* at = static_cast<const unsigned char*>(bytes);
    std::uint64_t hash = 0x9E3779B97F4A7C15ull ^ size;
    for (; size > 8; size -= 8, at += 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        hash = std::rotl((hash ^ word) * 0x9FB21C651E98DF25ull, 32);
    }
    std::uint64_t word = 0;
    std::memcpy(&word, at, size);
    return mix((hash ^ word) * 0x9FB21C651E98DF25ull);
}

}  // namespace detail

/// The hash of a key of hash_map<Key, …>. Specialise it for a key whose equality is not that of its bytes. It is part
/// of the pool's contents: it must never change. It is not keyed: chosen keys can collide.
template <class Key>
struct key_hash {
    static_assert(std::has_unique_object_representations_v<Key>, "specialise holdfast::key_hash for this key");
    std::uint64_t operator()(const Key& key) const noexcept { return detail::hash_bytes(&key, sizeof key); }
};
/// Of a number.
template <class Key>
    requires std::is_integral_v<Key> || std::is_enum_v<Key>
struct key_hash<Key> {
    std::uint64_t operator()(Key key) const noexcept {
        const auto bits = static_cast<std::uint64_t>(key);
        return detail::mix(bits ^ 0x9E3779B97F4A7C15u);
    }
};
/// Of a string's characters.
template <class Engine>
struct key_hash<string<Engine>> {
    std::uint64_t operator()(std::string_view key) const noexcept { return detail::hash_bytes(key.data(), key.size()); }
};

/// Of both members.
template <class First, class Second>
struct key_hash<std::pair<First, Second>> {
    std::uint64_t operator()(const std::pair<First, Second>& key) const noexcept {
        // Not the sum: (a, b) and (b, a) must not collide.
        return detail::mix(key_hash<First>()(key.first) * 0x9FB21C651E98DF25ull + key_hash<Second>()(key.second));
    }
};

/// Whether two keys of hash_map<Key, …> are the same. Specialise it for a key without ==.
template <class Key>
struct key_equal {
    using argument = typename key_form<Key>::argument;
    bool operator()(const argument& a, const argument& b) const { return a == b; }
};

/// The order of btree_map<Key, …>: strict and total. Specialise it for another order; it is part of the pool's contents
/// and must never change. Strings are ordered by unsigned bytes.
template <class Key>
struct key_less {
    using argument = typename key_form<Key>::argument;
    bool operator()(const argument& a, const argument& b) const { return a < b; }
};

}  // namespace holdfast
