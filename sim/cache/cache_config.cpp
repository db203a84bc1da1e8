#include <sim/cache/cache_config.hpp>

#include <bit>

namespace holdfast::sim {

namespace {

std::optional<configuration_error> check_level(std::string_view prefix, const cache_config& level) {
    range_check visitor(prefix);
    cache_config::visit_fields(level, visitor);
    if (auto error = std::move(visitor).error()) return error;
    range_check rules(prefix);
    if (level.bytes % (line_bytes * level.ways) != 0 || !std::has_single_bit(level.sets())) {
        rules.refuse("bytes", std::to_string(level.bytes),
                     "64 bytes times " + std::to_string(level.ways) + " ways times a power of two");
    }
    return std::move(rules).error();
}

}  // namespace

std::optional<configuration_error> check(const hierarchy_config& config) {
    range_check visitor("cache.");
    hierarchy_config::visit_fields(config, visitor);
    if (auto error = std::move(visitor).error()) return error;
    if (auto error = check_level("cache.il1.", config.il1)) return error;
    if (auto error = check_level("cache.dl1.", config.dl1)) return error;
    return check_level("cache.l2.", config.l2);
}

std::optional<configuration_error> set(hierarchy_config& config, std::string_view key, std::string_view text) {
    bool found = false;
    std::optional<configuration_error> error;
    const auto try_part = [&](std::string_view prefix, auto& part) {
        field_setter visitor(prefix, key, text);
        part.visit_fields(part, visitor);
        found = found || visitor.found();
        if (!error) error = std::move(visitor).error();
    };
    try_part("cache.", config);
    try_part("cache.il1.", config.il1);
    try_part("cache.dl1.", config.dl1);
    try_part("cache.l2.", config.l2);
    if (!found) return configuration_error{std::string(key), std::string(text), "a key of this machine"};
    return error;
}

}  // namespace holdfast::sim
