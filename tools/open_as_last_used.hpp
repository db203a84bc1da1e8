// Opening a pool to do something to it as a whole.
#pragma once

#include "engines.hpp"

#include <holdfast/pool/opener.hpp>

#include <memory>
#include <string>

namespace holdfast::tools {

/// Opens the pool with its own engine, at the level of its last use where that can be kept, else at `process`: the
/// level of the last use is what the next one begins with. Throws failure: as open_pool::open.
inline std::unique_ptr<open_pool> open_as_last_used(const std::string& path) {
    const pool_info info = open_pool::info(path).value();
    const engine_description& engine = engine_named(info.engine);
    open_options how;
    how.durability = info.last_level;
    if (!pool_opener::check_level(path, engine, how.durability, info.storage)) how.durability = level::process;
    return open_pool::open(path, engine, how).value();
}

}  // namespace holdfast::tools
