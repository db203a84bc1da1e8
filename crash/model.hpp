// The crash models, as data: what a medium may hold after a cut. Sources and limits: docs/crash/models.md.
#pragma once

#include <string_view>

namespace holdfast::crash {

/// How a medium that stores go to line by line comes to hold them.
struct model {
    std::string_view name;
    /// A store is durable as soon as it is visible: no write-back is needed.
    bool stores_are_durable;
    /// So is a stream. False: its 8-byte words arrive in any order until the fence.
    bool streams_are_durable;
    /// A line reaches the medium in 8-byte words, each independently. False: as it was at one moment.
    bool lines_tear;
};

inline constexpr model models[] = {
    {"kill", true, true, false},
    {"x86", false, false, false},
    {"x86-torn", false, false, true},
    {"eadr", true, false, false},
};

constexpr const model* model_named(std::string_view name) noexcept {
    for (const model& each : models)
        if (each.name == name) return &each;
    return nullptr;
}

}  // namespace holdfast::crash
