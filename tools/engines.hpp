// From an engine's name to its type.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/engine/cc_htm.hpp>
#include <holdfast/engine/engines.hpp>
#include <holdfast/handle/line_pool.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::tools {

/// Calls `f.template operator()<Engine>()` for each engine whose pools the command opens: those of the list, and
/// cc_htm, which is not in it for what its headers cost every program. Its two algorithms have the same pools.
template <class F>
void for_each_engine_of_command(F&& f) {
    for_each_engine(f);
    f.template operator()<cc_htm>();
}

inline std::vector<std::string> engine_names() {
    std::vector<std::string> names;
    for_each_engine_of_command([&]<class Engine>() { names.emplace_back(Engine::description.name); });
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
    for_each_engine_of_command([&]<class Engine>() {
        if (Engine::description.name == name) found = &Engine::description;
    });
    if (found == nullptr)
        fail(errc::engine_mismatch, "this command does not know the engine \"" + std::string(name) + "\"");
    return *found;
}

}  // namespace holdfast::tools
