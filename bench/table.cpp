#include <bench/table.hpp>

#include <bench/external.hpp>

#include <tools/columns.hpp>
#include <tools/streams.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace holdfast::bench {
namespace {

struct line {
    std::string case_name;
    std::string engine;
    parameters params;
    std::string who;
    std::map<std::string, record> metrics;

    std::optional<double> value(const std::string& metric) const {
        const auto found = metrics.find(metric);
        if (found == metrics.end()) return std::nullopt;
        return found->second.value;
    }
    double ns() const { return metrics.at("ns_per_tx").value; }
};

/// The parameters that have more than one value in this table, but for the delay. A variant always stands beside the
/// usual way, which has none.
std::set<std::string> varied_among(const std::vector<record>& records) {
    std::map<std::string, std::set<parameter>> values;
    for (const auto& one : records)
        for (const auto& [name, value] : one.params) values[name].insert(value);
    std::set<std::string> varied;
    for (const auto& [name, all] : values)
        if ((all.size() > 1 || name == "variant") && name != "delay_ns") varied.insert(name);
    return varied;
}

/// The engine and what tells its lines apart.
std::string who_of(const record& one, const std::set<std::string>& varied) {
    std::string text = one.engine;
    for (const auto& [name, value] : one.params) {
        const auto* const number = std::get_if<std::uint64_t>(&value);
        if (name == "delay_ns" && number != nullptr && *number != 0) text += fmt::format(" +{}", *number);
        if (!varied.contains(name)) continue;
        text += number != nullptr ? fmt::format(" {} {}", name, *number) : " " + std::get<std::string>(value);
    }
    return text;
}

std::vector<line> lines_of(const std::vector<record>& records) {
    const auto varied = varied_among(records);
    std::vector<line> lines;
    for (const auto& one : records) {
        if (lines.empty() || lines.back().case_name != one.case_name || lines.back().engine != one.engine ||
            lines.back().params != one.params)
            lines.push_back({one.case_name, one.engine, one.params, who_of(one, varied), {}});
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

/// What an engine shares with others: a batch, a mode and an algorithm are its own.
parameters conditions_of(const line& one) {
    parameters all = one.params;
    std::erase_if(all, [](const auto& each) {
        return each.first == "batch" || each.first == "mode" || each.first == "algorithm";
    });
    return all;
}

/// Another engine's line of the same case under the same conditions.
const line* find(const std::vector<line>& lines, const line& like, const std::string& engine) {
    for (const auto& one : lines)
        if (one.engine == engine && one.case_name == like.case_name && conditions_of(one) == conditions_of(like))
            return &one;
    return nullptr;
}

const line* find_floor(const std::vector<line>& lines) {
    for (const auto& one : lines)
        if (one.engine == "none" && one.case_name == "floor") return &one;
    return nullptr;
}

/// Columns that only some tables have.
struct observed_column {
    const char* metric;
    const char* head;
};
constexpr observed_column observed_columns[]{{"loads_per_tx", "loads"},
                                             {"stores_per_tx", "stores"},
                                             {"reads_per_tx", "reads"},
                                             {"writes_per_tx", "writes"},
                                             {"aborts_per_tx", "aborts"},
                                             {"share_inside", "inside"},
                                             {"ns_per_run", "ns/run"},
                                             {"ns_per_task", "ns/task"},
                                             {"ns_per_triangle", "ns/triangle"},
                                             {"mean_response_ns", "response"},
                                             {"p99_response_ns", "99 %"},
                                             {"mean_buffered_ns", "buffered"},
                                             {"blocked_per_tx", "blocked"},
                                             {"cpu_ns_per_tx", "CPU"},
                                             {"ns_per_element", "ns/elem"}};

/// Those that took part, in this order.
std::vector<std::string> rivals_among(const std::vector<line>& lines) {
    std::vector<std::string> found;
    for (const char* rival : {"libpmemobj", "libpmemobj_best", "lmdb", "sqlite"})
        for (const auto& one : lines)
            if (one.engine == rival && (found.empty() || found.back() != rival)) found.emplace_back(rival);
    for (const auto& one : lines)
        if (one.engine.ends_with(external_mark) && std::find(found.begin(), found.end(), one.engine) == found.end())
            found.push_back(one.engine);
    return found;
}

/// What the columns of a table are.
struct layout {
    bool with_engines = false;
    std::vector<std::string> rivals;
    std::vector<observed_column> observed;
};

layout layout_of(const std::vector<line>& lines) {
    layout made;
    made.rivals = rivals_among(lines);
    for (const auto& one : lines) made.with_engines |= one.engine != "none";
    for (const auto& column : observed_columns) {
        const auto has = [&](const line& one) { return one.metrics.contains(column.metric); };
        if (std::any_of(lines.begin(), lines.end(), has)) made.observed.push_back(column);
    }
    return made;
}

std::vector<std::string> cells_of(const line& one, const std::vector<line>& lines, const layout& columns) {
    const bool is_floor = one.case_name == "floor";
    const line* floor = find_floor(lines);
    const line* plain = find(lines, one, "volatile_only");
    if (plain == nullptr) plain = find(lines, one, "plain");
    const auto& time = one.metrics.at("ns_per_tx");
    std::vector<std::string> cells{one.case_name, one.who};
    for (const std::optional<double> number : {std::optional(time.value), std::optional(time.min),
                                               std::optional(time.max), one.value("tx_per_s")})
        cells.push_back(short_number(number));
    std::optional<double> to_floor, over_plain;
    if (floor != nullptr && !is_floor) to_floor = one.ns() / floor->ns();
    if (plain != nullptr && !is_floor && plain != &one) over_plain = one.ns() - plain->ns();
    if (columns.with_engines) cells.insert(cells.end(), {times(to_floor), short_number(over_plain)});
    for (const auto& rival : columns.rivals) {
        const line* other = is_floor ? nullptr : find(lines, one, rival);
        std::optional<double> faster;
        if (other != nullptr && other != &one) faster = other->ns() / one.ns();
        cells.push_back(times(faster));
    }
    for (const char* count :
         {"write_backs_per_tx", "fences_per_tx", "pm_bytes_per_tx", "syncs_per_tx", "truncations", "syncs_per_group"})
        cells.push_back(short_number(one.value(count)));
    for (const auto& column : columns.observed) cells.push_back(short_number(one.value(column.metric)));
    return cells;
}

std::vector<std::string> heads_of(const layout& columns) {
    std::vector<std::string> heads{"case", "engine", "ns/tx", "min", "max", "tx/s"};
    if (columns.with_engines) heads.insert(heads.end(), {"of floor", "+plain"});
    for (const auto& rival : columns.rivals)
        heads.push_back(rival == "libpmemobj"           ? "vs pmemobj"
                        : rival == "libpmemobj_best"    ? "vs its best"
                        : rival.ends_with(external_mark) ? "vs " + rival.substr(0, rival.size() - external_mark.size())
                                                        : "vs " + rival);
    heads.insert(heads.end(), {"wr.backs", "fences", "bytes", "syncs", "truncs", "sync/grp"});
    for (const auto& column : columns.observed) heads.emplace_back(column.head);
    return heads;
}

}  // namespace

void print_table(const std::string& title, const std::vector<record>& records) {
    const auto lines = lines_of(records);
    const layout columns = layout_of(lines);
    std::vector<std::vector<std::string>> rows{heads_of(columns)};
    for (const auto& one : lines) rows.push_back(cells_of(one, lines, columns));
    constexpr std::size_t names = 2;
    tools::show("\n" + title + "\n" + tools::aligned(rows, names));
    tools::flush_output();
}

}  // namespace holdfast::bench
