// The crash models, as data: what a medium may hold after a cut. Sources and limits: docs/crash/models.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::crash {

/// In which order stores that went to one granule of a medium reach it.
enum class store_order : std::uint8_t {
    visible,      ///< in that in which they became visible: the medium lacks a suffix
    by_fence,     ///< those to one word so, and those of one thread on both sides of its fence
    none,         ///< those to one word so, the words independently
};

/// How a medium comes to hold what a program stored and wrote.
struct model {
    std::string_view name;
    /// A store is durable as soon as it is visible: no write-back is needed.
    bool stores_are_durable;
    /// So is a stream. False: its 8-byte words arrive in any order until the fence.
    bool streams_are_durable;
    /// So is what is written to the file, and its size and name. False: with the next sync.
    bool writes_are_durable;
    store_order order;
    /// What the medium takes as it was at one moment: a line of 8 words, a sector of 64.
    std::uint32_t granule_words;
    /// The pool is an ordinary file at level `power`: its stores never reach the medium.
    bool is_file;
    /// Another model, which allows whatever this one does; empty: there is none.
    std::string_view within{};
    /// The pool is at `on_power_fail`: wherever it is cut, a handler saves what is visible first, and is cut itself.
    bool is_saved = false;
};

inline constexpr model models[] = {
    {"kill", true, true, true, store_order::visible, 8, false},
    {"x86", false, false, false, store_order::visible, 8, false, "x86-torn"},
    {"x86-torn", false, false, false, store_order::none, 8, false},
    {"eadr", true, false, false, store_order::visible, 8, false},
    {"arm", false, false, false, store_order::by_fence, 8, false, "x86-torn"},
    {"file", true, true, false, store_order::visible, 64, true},
    {"power-fail", false, false, false, store_order::visible, 8, false, {}, true},
};

constexpr const model* model_named(std::string_view name) noexcept {
    for (const model& each : models)
        if (each.name == name) return &each;
    return nullptr;
}

}  // namespace holdfast::crash
