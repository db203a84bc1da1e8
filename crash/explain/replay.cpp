#include <crash/explain/replay.hpp>

#include <crash/explore/named.hpp>

#include <charconv>
#include <utility>

namespace holdfast::crash {
namespace {

constexpr std::pair<event_kind, std::string_view> fault_kinds[] = {
    {event_kind::write_back, "write_back"}, {event_kind::fence, "fence"}, {event_kind::order, "order"},
    {event_kind::stream, "stream"},
    {event_kind::file_range_sync, "range_sync"}, {event_kind::file_sync, "sync"},
    {event_kind::directory_sync, "directory_sync"}};
constexpr std::string_view late = "late-";

template <class Number>
std::string list_of(const std::vector<Number>& all) {
    std::string text;
    for (std::size_t i = 0; i < all.size();) {
        std::size_t end = i + 1;
        while (end < all.size() && all[end] == all[i]) ++end;
        text += (text.empty() ? "" : ",") + std::to_string(all[i]);
        if (end - i > 1) text += "*" + std::to_string(end - i);
        i = end;
    }
    return text;
}

/// Reads a line from its beginning; stops at the first thing it does not understand.
class reader {
public:
    explicit reader(std::string_view line) : line_(line) {}

    bool at_end() const { return at_ == line_.size(); }
    std::size_t place() const { return at_; }
    bool take(std::string_view expected) {
        if (!line_.substr(at_).starts_with(expected)) return false;
        at_ += expected.size();
        return true;
    }
    std::string_view until_colon() {
        const std::size_t end = std::min(line_.find(':', at_), line_.size());
        return line_.substr(std::exchange(at_, end), end - at_);
    }
    std::optional<std::uint64_t> number() {
        std::uint64_t value = 0;
        const char* const begin = line_.data() + at_;
        const auto [end, wrong] = std::from_chars(begin, line_.data() + line_.size(), value);
        if (wrong != std::errc{}) return {};
        at_ += static_cast<std::size_t>(end - begin);
        return value;
    }
    /// Numbers of up to 32 bits, separated by commas, maybe none.
    result<std::vector<std::uint32_t>> list() {
        constexpr std::uint64_t longest = 1 << 20;
        std::vector<std::uint32_t> all;
        if (at_end() || line_[at_] == ':') return all;
        do {
            const std::size_t here = at_;
            const auto value = number();
            if (!value || *value > ~std::uint32_t{0}) return wrong(here, "a number of up to 32 bits");
            const std::size_t repeat = at_;
            std::uint64_t times = 1;
            if (take("*")) times = number().value_or(0);
            if (times == 0 || times > longest - all.size()) return wrong(repeat, "*N with N from 1 to a million");
            all.insert(all.end(), times, static_cast<std::uint32_t>(*value));
        } while (take(","));
        return all;
    }
    error wrong(std::size_t at, std::string expected) const {
        const std::string_view rest = line_.substr(std::min(at, line_.size()), 24);
        return {errc::invalid_argument, "the replay line cannot be read", {}, at, std::move(expected),
                rest.empty() ? "its end" : "\"" + std::string(rest) + "\""};
    }

private:
    std::string_view line_;
    std::size_t at_ = 0;
};

result<void> read_cut(reader& from, scenario& into) {
    const std::size_t here = from.place();
    const auto event = from.number();
    if (!event) return from.wrong(here, "the number of an event");
    if (from.take(":killed")) {
        into.cuts.push_back({static_cast<std::size_t>(*event), {}, true});
        return {};
    }
    if (!from.take(":choices=")) return from.wrong(from.place(), "\":choices=\"");
    auto made = from.list();
    if (!made) return made.error();
    into.cuts.push_back({static_cast<std::size_t>(*event), std::move(*made), false});
    return {};
}

result<void> read_field(reader& from, scenario& into) {
    const std::size_t here = from.place();
    if (from.take("cut=")) return read_cut(from, into);
    if (from.take("life=")) {
        if (into.cuts.empty()) return from.wrong(here, "\"cut=\" before it");
        auto operations = from.list();
        if (!operations) return operations.error();
        into.cuts.back().life.emplace(operations->begin(), operations->end());
        return {};
    }
    if (from.take("ops=")) {
        auto operations = from.list();
        if (!operations) return operations.error();
        into.operations.assign(operations->begin(), operations->end());
        return {};
    }
    if (from.take("schedule=")) {
        const std::size_t number_begins = from.place();
        const auto number = from.number();
        if (!number) return from.wrong(number_begins, "the number of an interleaving");
        into.schedule = static_cast<std::size_t>(*number);
        return {};
    }
    if (from.take("fault=")) {
        const std::size_t name_begins = from.place();
        into.planted = fault_named(from.until_colon());
        if (!into.planted) return from.wrong(name_begins, "a fault, such as fence@log_commit_fence");
        return {};
    }
    return from.wrong(here, "\"ops=\", \"schedule=\", \"fault=\" or \"cut=\"");
}

}  // namespace

std::string short_name(const fault& planted) {
    if (planted.how == fault::change::in_code) return planted.code->name;
    const std::string prefix(planted.how == fault::change::late ? late : "");
    for (const auto& [kind, name] : fault_kinds)
        if (kind == planted.kind) return prefix + std::string(name) + "@" + std::string(name_of(planted.where));
    return "?";
}

std::optional<fault> fault_named(std::string_view name) {
    for (const planted_fault* each : all_planted_faults())
        if (each->name == name) return fault{fault::change::in_code, {}, {}, each};
    auto how = fault::change::left_out;
    if (name.starts_with(late)) {
        how = fault::change::late;
        name.remove_prefix(late.size());
    }
    for (const auto& [kind, kind_name] : fault_kinds) {
        if (!name.starts_with(kind_name) || name.substr(kind_name.size(), 1) != "@") continue;
        const std::string_view place = name.substr(kind_name.size() + 1);
        const bool weakens = kind == event_kind::stream || kind == event_kind::file_range_sync;
        if (weakens && how == fault::change::late) return {};
        for (const persist::site_id each : all_sites())
            if (each.name() == place) return fault{weakens ? fault::change::weakened : how, kind, each};
    }
    return {};
}

scenario scenario_of(const subject& what, const model& how, const std::optional<fault>& planted,
                     const violation& told) {
    scenario made{std::string(what.engine()), std::string(what.name()), std::string(how.name),
                  told.operations, planted, told.outer, told.schedule};
    made.cuts.push_back({told.cut, told.made, false, {}});
    return made;
}

std::string replay_line(const scenario& which) {
    std::string line = which.engine + ":" + which.workload_name + ":" + which.model_name;
    line += ":ops=" + list_of(which.operations);
    if (which.schedule != 0) line += ":schedule=" + std::to_string(which.schedule);
    if (which.planted) line += ":fault=" + short_name(*which.planted);
    for (const cut_point& each : which.cuts) {
        line += ":cut=" + std::to_string(each.event) + (each.killed ? ":killed" : ":choices=" + list_of(each.made));
        if (each.life) line += ":life=" + list_of(*each.life);
    }
    return line;
}

result<scenario> parse_replay(std::string_view line) {
    reader from(line);
    scenario read;
    const std::pair<std::string*, const char*> names[] = {
        {&read.engine, "an engine"}, {&read.workload_name, "a workload"}, {&read.model_name, "a model"}};
    for (const auto& [to, expected] : names) {
        const std::size_t here = from.place();
        *to = from.until_colon();
        if (to->empty()) return from.wrong(here, expected);
        if (!from.take(":")) return from.wrong(from.place(), "\":\"");
    }
    do {
        if (auto field = read_field(from, read); !field) return field.error();
    } while (from.take(":"));
    if (!from.at_end()) return from.wrong(from.place(), "\":\" or the end");
    if (read.cuts.empty() || read.cuts.back().killed || read.cuts.back().life)
        return from.wrong(line.size(), "\":cut=\"");
    return read;
}

}  // namespace holdfast::crash
