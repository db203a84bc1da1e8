#include <sim/memory/memory_config.hpp>

namespace holdfast::sim {

namespace {

template <class Part>
std::optional<configuration_error> check_part(std::string_view prefix, const Part& part) {
    range_check visitor(prefix);
    Part::visit_fields(part, visitor);
    return std::move(visitor).error();
}

std::optional<configuration_error> check_rules_between_fields(const memory_config& config) {
    const controller_config& controller = config.controller;
    range_check rules("");
    if (config.map.nvram_begin.offset_in_line() != 0) {
        rules.refuse("memory.nvram_begin", std::to_string(config.map.nvram_begin.value), "a multiple of 64");
    }
    if (controller.high_mark > controller.write_entries) {
        rules.refuse("controller.high_mark", std::to_string(controller.high_mark),
                     "at most controller.write_entries, " + std::to_string(controller.write_entries));
    }
    if (controller.low_mark >= controller.high_mark) {
        rules.refuse("controller.low_mark", std::to_string(controller.low_mark),
                     "less than controller.high_mark, " + std::to_string(controller.high_mark));
    }
    const time shortest = std::min({config.nvram.row_hit, config.nvram.read_conflict, config.nvram.write_conflict});
    if (config.nvram.bus_burst > shortest) {
        rules.refuse("nvram.bus_burst_ns", nanoseconds_text(config.nvram.bus_burst),
                     "at most the shortest access, " + nanoseconds_text(shortest));
    }
    return std::move(rules).error();
}

}  // namespace

std::optional<configuration_error> check(const memory_config& config) {
    if (auto error = check_part("memory.", config.map)) return error;
    if (auto error = check_part("nvram.", config.nvram)) return error;
    if (auto error = check_part("controller.", config.controller)) return error;
    if (auto error = check_part("dram.", config.dram)) return error;
    return check_rules_between_fields(config);
}

std::optional<configuration_error> set(memory_config& config, std::string_view key, std::string_view text) {
    return set_field(key, text, [&config](auto&& take) {
        take("memory.", config.map);
        take("nvram.", config.nvram);
        take("controller.", config.controller);
        take("dram.", config.dram);
    });
}

}  // namespace holdfast::sim
