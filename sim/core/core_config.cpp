#include <sim/core/core_config.hpp>

namespace holdfast::sim {

std::optional<core_config> core_named(std::string_view name) {
    if (name == core_names[0]) return core_config{};
    if (name != core_names[1]) return std::nullopt;
    core_config small;
    small.reorder_buffer = 64;
    small.load_queue = 64;
    small.store_queue = 64;
    small.misprediction_cycles = 8;
    small.load_ports = 1;
    small.store_prefetch = false;
    return small;
}

}  // namespace holdfast::sim
