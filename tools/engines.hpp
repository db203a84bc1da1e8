// From an engine's name to its type.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/engine/engines.hpp>
#include <holdfast/handle/line_pool.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::tools {

inline std::vector<std::string> engine_names() {
    std::vector<std::string> names;
    for_each_engine([&]<class Engine>() { names.emplace_back(Engine::description.name); });
    return names;
}

/// Those, and the engine of pools of lines.
inline std::vector<std::string> engine_names_of_pools() {
    std::vector<std::string> names = engine_names();
    names.emplace_back(line_engine::description.name);
    return names;
}

/// Throws failure: engine_mismatch when no engine has that name.
inline const engine_description& engine_named(std::string_view name) {
    const engine_description* found = nullptr;
    if (line_engine::description.name == name) found = &line_engine::description;
    for_each_engine([&]<class Engine>() {
        if (Engine::description.name == name) found = &Engine::description;
    });
    if (found == nullptr)
        fail(errc::engine_mismatch, "this command does not know the engine \"" + std::string(name) + "\"");
    return *found;
}

}  // namespace holdfast::tools
