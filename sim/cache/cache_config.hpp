// Settings of the caches.
#pragma once

#include <sim/base/configuration.hpp>

namespace holdfast::sim {

struct cache_config {
    std::uint64_t bytes = 32 * 1024;
    std::uint32_t ways = 8;
    time latency = ps(1600);
    /// How long the tag walker keeps the tags of one set from everyone else.
    time walk_set = ps(400);

    constexpr std::uint64_t sets() const noexcept { return bytes / (line_bytes * ways); }

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor& visitor) {
        visitor.number("bytes", self.bytes, line_bytes, std::uint64_t{1} << 30);
        visitor.number("ways", self.ways, 1, 16);
        visitor.span("latency_ns", self.latency, ps(0), ns(1'000));
        visitor.span("walk_set_ns", self.walk_set, ps(0), ns(1'000));
    }
};

struct hierarchy_config {
    std::uint32_t cores = 4;
    cache_config il1{};
    cache_config dl1{};
    cache_config l2{8 * 1024 * 1024, 16, ps(4400), ps(4400)};
    /// What it takes L2, besides its own latency, to get a line that another L1 may have changed.
    time intervention = ps(1600);

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor& visitor) {
        visitor.number("cores", self.cores, 1, 8);
        visitor.span("intervention_ns", self.intervention, ps(0), ns(1'000));
    }
};

/// The first setting that is out of its range, as `cache.l2.bytes` and the like.
std::optional<configuration_error> check(const hierarchy_config& config);
/// Sets one field by its key. Errors: there is no such key, or the text does not fit; ranges are check's business.
std::optional<configuration_error> set(hierarchy_config& config, std::string_view key, std::string_view text);

}  // namespace holdfast::sim
