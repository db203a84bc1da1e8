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
    return set_field(key, text, [&config](auto&& take) {
        take("cache.", config);
        take("cache.il1.", config.il1);
        take("cache.dl1.", config.dl1);
        take("cache.l2.", config.l2);
    });
}

}  // namespace holdfast::sim
