// From an engine's name to its type.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/engine/volatile_only.hpp>
#include <holdfast/handle/line_pool.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::tools {

/// Calls `f.template operator()<Engine>()` for each engine that has transactions over a whole pool.
template <class F>
void for_each_engine(F&& f) {
    f.template operator()<redo>();
    f.template operator()<softwrap_lat>();
    f.template operator()<softwrap>();
    f.template operator()<undo>();
    f.template operator()<undo_paper>();
    f.template operator()<volatile_only>();
}

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
