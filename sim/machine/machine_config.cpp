#include <sim/machine/machine_config.hpp>

#include <charconv>

namespace holdfast::sim {
namespace {

/// Every part of the machine, with the prefix of its keys.
template <class Config, class Take>
void for_each_part(Config& config, Take&& take) {
    take("core.", config.core);
    take("machine.", config.scheduling);
    take("cache.", config.caches);
    take("cache.il1.", config.caches.il1);
    take("cache.dl1.", config.caches.dl1);
    take("cache.l2.", config.caches.l2);
    take("memory.", config.memory.map);
    take("nvram.", config.memory.nvram);
    take("controller.", config.memory.controller);
    take("dram.", config.memory.dram);
    take("log.", config.log);
    take("software_log.", config.software_log);
}

/// Visitor that writes a line for each field.
class line_writer {
public:
    explicit line_writer(std::string prefix) : prefix_(std::move(prefix)) {}

    void number(std::string_view key, std::uint64_t value, std::uint64_t, std::uint64_t) {
        write(key, std::to_string(value));
    }
    void power_of_two(std::string_view key, std::uint64_t value, std::uint64_t, std::uint64_t) {
        write(key, std::to_string(value));
    }
    void span(std::string_view key, time value, time, time) { write(key, nanoseconds_text(value)); }
    void flag(std::string_view key, bool value) { write(key, value ? "true" : "false"); }
    template <class Enum>
    void choice(std::string_view key, Enum value, std::span<const std::string_view> names) {
        write(key, names[static_cast<std::size_t>(value)]);
    }
    std::string text{};

private:
    void write(std::string_view key, std::string_view value) {
        text += prefix_ + std::string(key) + " = " + std::string(value) + "\n";
    }
    std::string prefix_;
};

/// "8MiB" as "8388608"; whatever is no such thing as it is.
std::string without_suffix(std::string_view text) {
    constexpr std::pair<std::string_view, unsigned> suffixes[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    for (const auto& [suffix, shift] : suffixes) {
        if (!text.ends_with(suffix)) continue;
        std::uint64_t value = 0;
        const char* const end = text.data() + text.size() - suffix.size();
        const auto [stop, problem] = std::from_chars(text.data(), end, value);
        if (problem == std::errc{} && stop == end && value <= ~std::uint64_t{0} >> shift) {
            return std::to_string(value << shift);
        }
    }
    return std::string(text);
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view spaces = " \t\r";
    const std::size_t first = text.find_first_not_of(spaces);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

}  // namespace

std::optional<configuration_error> check(const machine_config& config) {
    range_check core("core.");
    core_config::visit_fields(config.core, core);
    if (auto error = std::move(core).error()) return error;
    range_check scheduling("machine.");
    scheduling_config::visit_fields(config.scheduling, scheduling);
    if (auto error = std::move(scheduling).error()) return error;
    range_check log("log.");
    log_config::visit_fields(config.log, log);
    check_order(config.log, log);
    if (auto error = std::move(log).error()) return error;
    range_check software_log("software_log.");
    software_log_config::visit_fields(config.software_log, software_log);
    if (auto error = std::move(software_log).error()) return error;
    if (auto error = check(config.caches)) return error;
    return check(config.memory);
}

std::optional<configuration_error> set(machine_config& config, std::string_view key, std::string_view text) {
    if (key == "core.name") {
        const std::optional<core_config> named = core_named(text);
        if (named) config.core = *named;
        if (named) return std::nullopt;
        return configuration_error{std::string(key), std::string(text),
                                   std::string(core_names[0]) + ", " + std::string(core_names[1])};
    }
    std::string known(key);
    if (key.starts_with("cache.") && key.ends_with(".size")) known.replace(known.size() - 4, 4, "bytes");
    const std::string value = without_suffix(text);
    auto error = set_field(known, value, [&config](auto&& take) { for_each_part(config, take); });
    // The words that were given, which are not always those that were looked for.
    if (error) *error = {std::string(key), std::string(text), error->allowed};
    return error;
}

std::optional<problem> set_lines(machine_config& config, std::string_view text, const std::string& file) {
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        line = trimmed(line.substr(0, line.find('#')));
        if (line.empty()) continue;
        const std::string where = file + ", line " + std::to_string(number);
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos) {
            return problem{"bad line of a configuration", where, "KEY = VALUE", std::string(line)};
        }
        const auto error = set(config, trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
        if (error) return problem{"bad configuration: " + error->key, where, error->allowed, error->found};
    }
    return std::nullopt;
}

std::string lines_of(const machine_config& config) {
    std::string text;
    for_each_part(config, [&](std::string_view prefix, const auto& part) {
        line_writer writer{std::string(prefix)};
        part.visit_fields(part, writer);
        text += writer.text;
    });
    return text;
}

}  // namespace holdfast::sim
