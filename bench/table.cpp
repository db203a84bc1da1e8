#include <bench/table.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <optional>

namespace holdfast::bench {
namespace {

struct line {
    std::string case_name;
    std::string engine;
    std::uint64_t delay_ns = 0;
    std::map<std::string, record> metrics;

    std::optional<double> value(const std::string& metric) const {
        const auto found = metrics.find(metric);
        if (found == metrics.end()) return std::nullopt;
        return found->second.value;
    }
    double ns() const { return metrics.at("ns_per_tx").value; }
    std::string who() const { return delay_ns == 0 ? engine : fmt::format("{} +{}", engine, delay_ns); }
};

std::uint64_t delay_of(const record& one) {
    for (const auto& [name, value] : one.params)
        if (name == "delay_ns") return std::get<std::uint64_t>(value);
    return 0;
}

std::vector<line> lines_of(const std::vector<record>& records) {
    std::vector<line> lines;
    for (const auto& one : records) {
        const std::uint64_t delay_ns = delay_of(one);
        if (lines.empty() || lines.back().case_name != one.case_name || lines.back().engine != one.engine ||
            lines.back().delay_ns != delay_ns)
            lines.push_back({one.case_name, one.engine, delay_ns, {}});
        lines.back().metrics[one.metric] = one;
    }
    return lines;
}

/// Four digits that count, whatever the size.
std::string short_number(std::optional<double> value) {
    if (!value) return "";
    if (*value == 0) return "0";
    if (*value < 10) return fmt::format("{:.3f}", *value);
    if (*value < 1000) return fmt::format("{:.1f}", *value);
    return fmt::format("{:.0f}", *value);
}

std::string times(std::optional<double> value) {
    return value ? fmt::format("{}x", short_number(value)) : std::string();
}

const line* find(const std::vector<line>& lines, const std::string& case_name, const std::string& engine,
                 std::uint64_t delay_ns) {
    for (const auto& one : lines)
        if (one.engine == engine && one.case_name == case_name && one.delay_ns == delay_ns) return &one;
    return nullptr;
}

/// Those that took part, in this order.
std::vector<std::string> rivals_among(const std::vector<line>& lines) {
    std::vector<std::string> found;
    for (const char* rival : {"libpmemobj", "libpmemobj_best", "lmdb", "sqlite"})
        for (const auto& one : lines)
            if (one.engine == rival && (found.empty() || found.back() != rival)) found.emplace_back(rival);
    return found;
}

void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_line(const line& one, const std::vector<line>& lines, bool with_engines,
                const std::vector<std::string>& rivals) {
    const bool is_floor = one.case_name == "floor";
    const line* floor = find(lines, "floor", "none", 0);
    const line* plain = find(lines, one.case_name, "volatile_only", one.delay_ns);
    if (plain == nullptr) plain = find(lines, one.case_name, "plain", one.delay_ns);
    const auto& time = one.metrics.at("ns_per_tx");
    std::string text = fmt::format("  {:<14} {:<20} {:>9} {:>9} {:>9} {:>10}", one.case_name, one.who(),
                                   short_number(time.value), short_number(time.min), short_number(time.max),
                                   short_number(one.value("tx_per_s")));
    std::optional<double> to_floor, over_plain;
    if (floor != nullptr && !is_floor) to_floor = one.ns() / floor->ns();
    if (plain != nullptr && !is_floor && plain != &one) over_plain = one.ns() - plain->ns();
    if (with_engines) text += fmt::format(" {:>8} {:>9}", times(to_floor), short_number(over_plain));
    for (const auto& rival : rivals) {
        const line* other = is_floor ? nullptr : find(lines, one.case_name, rival, one.delay_ns);
        std::optional<double> faster;
        if (other != nullptr && other != &one) faster = other->ns() / one.ns();
        text += fmt::format(" {:>11}", times(faster));
    }
    for (const char* count :
         {"write_backs_per_tx", "fences_per_tx", "pm_bytes_per_tx", "syncs_per_tx", "truncations", "syncs_per_group"})
        text += fmt::format(" {:>8}", short_number(one.value(count)));
    text.erase(text.find_last_not_of(' ') + 1);
    put(text + "\n");
}

}  // namespace

void print_table(const std::string& title, const std::vector<record>& records) {
    const auto lines = lines_of(records);
    bool with_engines = false;
    for (const auto& one : lines) with_engines |= one.engine != "none";
    const auto rivals = rivals_among(lines);
    put("\n" + title + "\n");
    std::string head =
        fmt::format("  {:<14} {:<20} {:>9} {:>9} {:>9} {:>10}", "case", "engine", "ns/tx", "min", "max", "tx/s");
    if (with_engines) head += fmt::format(" {:>8} {:>9}", "of floor", "+plain");
    for (const auto& rival : rivals)
        head += fmt::format(" {:>11}", rival == "libpmemobj"        ? "vs pmemobj"
                                       : rival == "libpmemobj_best" ? "vs its best"
                                                                    : "vs " + rival);
    head += fmt::format(" {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}", "wr.backs", "fences", "bytes", "syncs", "truncs",
                        "sync/grp");
    put(head + "\n");
    for (const auto& one : lines) print_line(one, lines, with_engines, rivals);
    std::fflush(stdout);
}

}  // namespace holdfast::bench
