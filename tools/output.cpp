#include "output.hpp"

#include "command.hpp"
#include "streams.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace holdfast::tools {

std::string readable_bytes(std::uint64_t bytes) {
    static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < std::size(units)) {
        value /= 1024;
        ++unit;
    }
    const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
    return whole ? fmt::format("{:.0f} {}", value, units[unit]) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string readable_ns(double time_ns) {
    if (time_ns < 10) return fmt::format("{:.1f} ns", time_ns);
    if (time_ns < 1000) return fmt::format("{:.0f} ns", time_ns);
    if (time_ns < 100e3) return fmt::format("{:.1f} us", time_ns / 1e3);
    if (time_ns < 10e6) return fmt::format("{:.2f} ms", time_ns / 1e6);
    if (time_ns < 1e9) return fmt::format("{:.0f} ms", time_ns / 1e6);
    return fmt::format("{:.2f} s", time_ns / 1e9);
}

std::string readable_count(std::uint64_t count) {
    std::string digits = std::to_string(count);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
    return digits;
}

std::string hexadecimal(std::uint64_t value) { return fmt::format("{:#x}", value); }

namespace {

bool is_read(output state) {
    if (state == output::lost) fail(errc::io, output_complaint());
    return state == output::written;
}

}  // namespace

bool print(std::string_view text) { return is_read(show(text)); }

namespace {

bool print_line(std::string text) {
    text.push_back('\n');
    return print(text);
}

}  // namespace

bool print_json(const json& value) { return print_line(value.dump(2, ' ', false, json::error_handler_t::replace)); }

bool print_json_line(const json& value) {
    return print_line(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

void finish_output() { is_read(flush_output()); }

json to_json(const error& reason) {
    json value;
    value["code"] = name_of(reason.code);
    value["what"] = reason.what;
    if (!reason.path.empty()) value["path"] = reason.path;
    if (reason.offset) value["offset"] = *reason.offset;
    if (!reason.expected.empty()) value["expected"] = reason.expected;
    if (!reason.found.empty()) value["found"] = reason.found;
    if (!reason.remedy.empty()) value["remedy"] = reason.remedy;
    return value;
}

json to_json(const pool_info& info) {
    json value;
    value["path"] = info.path;
    value["layout"] = info.layout;
    value["engine"] = info.engine;
    value["version"] = fmt::format("{}.{}", info.version_major, info.version_minor);
    // As text: it has 64 bits, and the numbers of many readers of JSON have 53.
    value["pool_id"] = hexadecimal(info.pool_id);
    value["base"] = info.base;
    value["bytes"] = info.bytes;
    value["reserved_bytes"] = info.reserved_bytes;
    value["zones"] = info.zones;
    value["log_bytes"] = info.log_bytes;
    value["segment_bytes"] = info.segment_bytes;
    value["generation"] = info.generation;
    value["clean"] = info.clean;
    value["last_level"] = name_of(info.last_level);
    value["last_boot_id"] = info.last_boot_id;
    value["same_boot"] = info.same_boot;
    value["file_system"] = info.storage.file_system;
    value["medium"] = persist::name_of(info.storage.kind);
    return value;
}

int report(const error& reason, bool as_json) {
    complain(fmt::format("holdfast: {}\n", reason.text()));
    // What is wrong has been said, or could not be: output that fails now changes nothing about it.
    if (as_json) {
        show(json{{"error", to_json(reason)}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
        if (flush_output() == output::lost && reason.what != output_complaint())
            complain("holdfast: " + output_complaint() + "\n");
    }
    return reason.code == errc::invalid_argument ? exit_usage : exit_failed;
}

}  // namespace holdfast::tools
