// Settings of the whole machine: one struct, and one file of `key = value` lines for it.
#pragma once

#include <sim/base/result.hpp>
#include <sim/base/software_log_config.hpp>
#include <sim/cache/cache_config.hpp>
#include <sim/core/core_config.hpp>
#include <sim/logging/log_config.hpp>
#include <sim/memory/memory_config.hpp>

namespace holdfast::sim {

struct scheduling_config {
    std::uint32_t harts_per_core = 2;
    /// How far a hart may run ahead of the others.
    std::uint32_t quantum_cycles = 25;

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor& visitor) {
        visitor.number("harts_per_core", self.harts_per_core, 1, 2);
        visitor.number("quantum_cycles", self.quantum_cycles, 1, 1'000'000);
    }
};

struct machine_config {
    core_config core{};
    hierarchy_config caches{};
    memory_config memory{};
    log_config log{};
    software_log_config software_log{};
    scheduling_config scheduling{};
};

/// The first setting that is out of its range.
std::optional<configuration_error> check(const machine_config& config);

/// Sets one field by its key, such as `cache.l2.bytes`, for which `cache.l2.size` is another name. Numbers may end in
/// KiB, MiB or GiB. `core.name` sets all of the core.
/// Errors: there is no such key, or the text does not fit; ranges are check's business.
std::optional<configuration_error> set(machine_config& config, std::string_view key, std::string_view text);

/// Sets what the lines `key = value` say; `#` begins a comment. Errors name the line.
std::optional<problem> set_lines(machine_config& config, std::string_view text, const std::string& file);

/// All settings as such lines.
std::string lines_of(const machine_config& config);

}  // namespace holdfast::sim
