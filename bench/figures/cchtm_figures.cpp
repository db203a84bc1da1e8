// Figures 3 to 17 of the paper on continuous checkpointing: throughput by threads, lag, size, share of stores, alias
// table and time of a write; responses at rates of arrival; and what is pending.
#include <bench/figures/figures.hpp>
#include <bench/figures/plot.hpp>

#include <holdfast/base/result.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace holdfast::bench {
namespace {

constexpr std::uint64_t usual_lag = 128, usual_group = 10, all_stored = 100;

template <class T>
T value_in(const record& one, const std::string& name) {
    for (const auto& [each, value] : one.params)
        if (each == name)
            if (const auto* const found = std::get_if<T>(&value)) return *found;
    return {};
}

/// Who is compared, in the order of the keys.
struct competitor {
    const char* engine;
    const char* concurrency;
    const char* retire;
    const char* aliases;  ///< nullptr: pages, or none
    const char* title;
    const char* colour;
};
constexpr std::array competitors{
    competitor{"htm_only", "value", "none", nullptr, "htm_only (value)", colour::grey},
    competitor{"htm_only", "versioned", "none", nullptr, "htm_only (versioned)", colour::black},
    competitor{"cc_htm", "value", "cooperative", nullptr, "cc_htm (value)", colour::vermilion},
    competitor{"cc_htm", "versioned", "cooperative", nullptr, "cc_htm (versioned)", colour::ochre},
    competitor{"cc_htm", "value", "thread", nullptr, "cc_htm (value), a thread retires", colour::pink},
    competitor{"ptl2", "tl2", "none", nullptr, "ptl2, the paper's", colour::blue},
    competitor{"ptl2_best", "tl2", "none", nullptr, "ptl2_best", colour::sky},
    competitor{"redo_tl2", "tl2", "none", nullptr, "redo_tl2", colour::green},
    competitor{"cc_htm", "value", "cooperative", "table", "cc_htm (value), table", colour::brown},
    competitor{"cc_htm", "value", "cooperative", "sets", "cc_htm (value), sets", colour::purple},
    competitor{"htm_only", "rtm", "none", nullptr, "htm_only (RTM)", colour::teal},
    competitor{"cc_htm", "rtm", "cooperative", nullptr, "cc_htm (RTM)", colour::wine},
};
constexpr std::size_t our_value = 2, our_versioned = 3, their_ptl2 = 5, our_rtm = 11;

/// What is measured, by whom.
struct point {
    std::string case_name;
    std::size_t who = 0;
    std::uint64_t threads = 1;
    std::uint64_t delay_ns = 0;
    std::uint64_t lag = 0;  ///< of cc_htm; 0: power, and all others
    std::uint64_t group = 0;
    std::uint64_t write_percent = 0;
    std::uint64_t rate = 0;
    auto operator<=>(const point&) const = default;
};

point usual_point(const std::string& case_name, std::size_t who, std::uint64_t threads) {
    point made{case_name, who, threads};
    if (std::string_view(competitors[who].engine) == "cc_htm") made.lag = usual_lag;
    if (case_name == "hash") made.group = usual_group, made.write_percent = all_stored;
    return made;
}

class cchtm_figures {
public:
    cchtm_figures(const std::vector<record>& records, std::filesystem::path directory)
        : directory_(std::move(directory)) {
        for (const auto& one : records) take(one);
        if (values_of("tree", &point::threads).empty() || values_of("hash", &point::group).size() < 2)
            fail(errc::invalid_argument, "these records are not of a whole run of suite cchtm");
    }

    paper_section draw() {
        add_threads("ssca2", "3 and 4", "construction of the SSCA2 graph",
                    "The paper has 1 to 16 threads on hardware transactions: cc-HTM is similar to htm_only, and over "
                    "1.5 times as fast as PTL2.",
                    true);
        add_aliases();
        add_pending();
        add_lags("ssca2", "7", "The paper has 8 threads, and gains nothing beyond a lag of 125.");
        add_threads("vacation", "8", "vacation-low", "The paper shows trends: cc-HTM follows htm_only.", false);
        add_delays("vacation", "9", "The paper has 4 threads: PTL2 suffers more from the time of a write.");
        add_threads("hash", "10", "10 stores to a hash array",
                    "In the paper cc-HTM has roughly twice PTL2's throughput for up to 5 threads.", false);
        add_lags("hash", "11", "The paper has 6 threads, and the peak at a lag of 125 to 150.");
        add_sweep("hash", "12", "by stores of a transaction", &point::group, "stores",
                  "The paper has 6 threads: with 2 stores cc-HTM is slightly slower than PTL2, with more it has 1.5 "
                  "to 2 times its throughput.");
        add_sweep("hash", "13", "by share of stores, of 10 words", &point::write_percent, "%",
                  "The paper has 6 threads: with one or two stores of ten cc-HTM is slower than PTL2, with stores "
                  "alone it has 1.5 times its throughput.");
        add_responses();
        add_threads("tree", "15", "inserts into a red-black tree",
                    "In the paper cc-HTM has almost 4 to 5 times PTL2's throughput, on hardware transactions; "
                    "htm_only itself has as much over PTL2 there.",
                    false);
        add_lags("tree", "16", "The paper has 4 threads, and the peak at a lag of 80.");
        add_delays("tree", "17", "The paper has 4 threads: both methods lose with slower writes.");
        return {"cc-HTM: transactions that become durable after their commit",
                "The evaluation, measured again by <code>holdfast bench cchtm</code>. Medians; DRAM in tmpfs emulating "
                "NVRAM, with write-backs and fences; a delay is added for each line that is written. "
                "<code>htm_only</code> is concurrency control alone, nothing logged: algorithms in software, and RTM "
                "where the processor has it. Where nothing else is said an alias is a word in a private page.",
                figures_, "What the paper says", table()};
    }

private:
    using points = std::map<point, double>;

    void take(const record& one) {
        if (one.suite != "cchtm" || value_in<std::string>(one, "medium") != "nvram") return;
        if (one.case_name == "pending") return take_pending(one);
        if (one.case_name == "aliases") return take_aliases(one);
        if (one.metric != (one.case_name == "response" ? "mean_response_ns" : "tx_per_s")) {
            if (one.metric == "achieved_per_s") each_place(one, achieved_);
            return;
        }
        each_place(one, one.case_name == "response" ? responses_ : measured_);
    }

    /// Figure 6: "blue_at_35" is what was found when 35 % of a batch was over.
    void take_pending(const record& one) {
        const auto at = one.metric.find("_at_");
        if (at == std::string::npos) return;
        const double percent = std::stod(one.metric.substr(at + 4));
        (one.metric.starts_with("blue") ? blue_ : red_).emplace_back(percent, one.value);
    }

    /// Figure 5. Without a size: private pages.
    void take_aliases(const record& one) {
        if (one.metric != "tx_per_s") return;
        constexpr double ns_per_s = 1e9;
        aliases_[{value_in<std::uint64_t>(one, "alias_ways"), value_in<std::uint64_t>(one, "alias_bytes")}] =
            ns_per_s / one.value;
    }

    template <class Values>
    void each_place(const record& one, Values& to) {
        for (std::size_t who = 0; who < competitors.size(); ++who) {
            const competitor& each = competitors[who];
            if (one.engine != each.engine || value_in<std::string>(one, "concurrency") != each.concurrency ||
                value_in<std::string>(one, "retire") != each.retire || !has_aliases_of(one, each))
                continue;
            const auto number = [&](const char* name) { return value_in<std::uint64_t>(one, name); };
            to[{one.case_name, who, one.threads, number("delay_ns"), number("lag"), number("group"),
                number("write_percent"), number("rate")}] = one.value;
        }
    }

    static bool has_aliases_of(const record& one, const competitor& each) {
        const auto aliases = value_in<std::string>(one, "aliases");
        return each.aliases != nullptr ? aliases == each.aliases : aliases != "table" && aliases != "sets";
    }

    std::optional<double> throughput(const point& at) const {
        const auto found = measured_.find(at);
        return found == measured_.end() ? std::nullopt : std::optional(found->second);
    }

    /// What a parameter has been, in measurements that are usual otherwise.
    std::set<std::uint64_t> values_of(const std::string& case_name, std::uint64_t point::* varied) const {
        std::set<std::uint64_t> all;
        for (const auto& [at, value] : measured_) {
            if (at.case_name != case_name) continue;
            point usual = usual_point(case_name, at.who, varied == &point::threads ? at.threads : sweep_threads);
            usual.*varied = at.*varied;
            if (usual == at) all.insert(at.*varied);
        }
        return all;
    }

    using name_of_group = std::string (*)(std::uint64_t, const char* unit);
    static std::string plain_name(std::uint64_t value, const char* unit) { return fmt::format("{} {}", value, unit); }
    static std::string threads_name(std::uint64_t value, const char*) {
        return value == 1 ? std::string("1 thread") : fmt::format("{} threads", value);
    }
    static std::string lag_name(std::uint64_t value, const char*) {
        return value == 0 ? std::string("power") : fmt::format("L = {}", value);
    }

    /// Throughput of everyone for each value of what is varied.
    bar_panel bars(const std::string& case_name, std::uint64_t point::* varied, name_of_group name, const char* unit,
                   bool only_ours) const {
        constexpr double thousand = 1000;
        bar_panel made{"Throughput", "thousand transactions a second", {}, {}, false, {}};
        const auto all = values_of(case_name, varied);
        for (const std::uint64_t value : all) made.groups.push_back(name(value, unit));
        for (std::size_t who = 0; who < competitors.size(); ++who) {
            if (only_ours && who != our_value && who != our_versioned && who != our_rtm) continue;
            bar_series one{competitors[who].title, competitors[who].colour, {}};
            bool any = false;
            for (const std::uint64_t value : all) {
                point at = usual_point(case_name, who, sweep_threads);
                at.*varied = value;
                const auto found = throughput(at);
                any = any || found;
                one.values.push_back(found ? std::optional(*found / thousand) : std::nullopt);
            }
            if (any) made.series.push_back(std::move(one));
        }
        return made;
    }

    static bar_panel relative(bar_panel from, const std::string& title, const std::string& label) {
        from.title = title;
        from.y_label = label;
        from.reference = 1;
        for (auto& one : from.series) {
            const auto first = one.values.front();
            for (auto& value : one.values) value = first && value ? std::optional(*value / *first) : std::nullopt;
        }
        return from;
    }

    void add(const std::string& number, const std::string& title, const std::string& caption,
             const std::vector<panel>& panels) {
        const std::string file = "cc-htm-figure-" + number.substr(0, number.find(' ')) + ".svg";
        const char* const figures = number.find(' ') == std::string::npos ? "Figure " : "Figures ";
        const std::string whole = figures + number + ": " + title;
        draw_svg((directory_ / file).string(), whole, panels);
        figures_.push_back({file, whole, caption});
    }
    void add_threads(const std::string& case_name, const std::string& number, const std::string& title,
                     const std::string& caption, bool with_speedup) {
        const bar_panel all = bars(case_name, &point::threads, threads_name, "", false);
        std::vector<panel> panels{all};
        if (with_speedup) panels.emplace_back(relative(all, "Speedup", "times one thread"));
        add(number, title + ", by threads", caption, panels);
    }
    void add_sweep(const std::string& case_name, const std::string& number, const std::string& title,
                   std::uint64_t point::* varied, const char* unit, const std::string& caption) {
        add(number, case_name + " " + title + ", 2 threads", caption,
            {bars(case_name, varied, plain_name, unit, false)});
    }
    void add_delays(const std::string& case_name, const std::string& number, const std::string& caption) {
        const bar_panel all = bars(case_name, &point::delay_ns, plain_name, "ns a line", false);
        add(number, case_name + " by the time of a write, 2 threads", caption,
            {all, relative(all, "What is left of it", "times that without a delay")});
    }
    void add_aliases() {
        if (aliases_.empty()) return;
        bar_panel made{"Time", "ns an edge", {}, {}, false, {}};
        std::set<std::uint64_t> sizes;
        for (const auto& [at, time_ns] : aliases_)
            if (at.second != 0) sizes.insert(at.second);
        for (const std::uint64_t bytes : sizes)
            made.groups.push_back(bytes < 1u << 20 ? fmt::format("{} KiB", bytes >> 10)
                                                   : fmt::format("{} MiB", bytes >> 20));
        constexpr std::array colours{colour::sky, colour::vermilion, colour::green};
        constexpr std::array<std::uint64_t, 3> ways{1, 2, 4};
        for (std::size_t i = 0; i < ways.size(); ++i) {
            bar_series one{fmt::format("{}-way", ways[i]), colours[i], {}};
            for (const std::uint64_t bytes : sizes) {
                const auto found = aliases_.find({ways[i], bytes});
                one.values.push_back(found == aliases_.end() ? std::nullopt : std::optional(found->second));
            }
            made.series.push_back(std::move(one));
        }
        if (const auto pages = aliases_.find({0, 0}); pages != aliases_.end()) made.reference = pages->second;
        add("5", "construction of the SSCA2 graph by size and associativity of the alias table, 2 threads",
            "cc_htm (value) with alias sets; the line is private pages. The paper has 8 threads: small tables abort "
            "more often, large ones miss the cache, and 64 to 256 MB in 2 to 4 ways are good.",
            {made});
    }
    void add_pending() {
        if (blue_.empty()) return;
        bar_panel made{"Commits that are not home", "commits", {}, {}, false, {}};
        made.series = {{"blue: not finished", colour::blue, {}}, {"red: finished", colour::vermilion, {}}};
        for (std::size_t i = 0; i < blue_.size() && i < red_.size(); ++i) {
            made.groups.push_back(fmt::format("{:.0f}%", blue_[i].first));
            made.series[0].values.emplace_back(blue_[i].second);
            made.series[1].values.emplace_back(red_[i].second);
        }
        add("6", "commits pending over the construction of the SSCA2 graph, lag 512, 2 threads",
            "Medians of the batches, as a commit of the first thread found them. The paper has 8 threads, and never "
            "more than 150 of both colours. Here a thread retires as soon as 128 wait, and besides the counting commit "
            "only one other can be unfinished.",
            {made});
    }
    void add_responses() {
        constexpr double least_part = 0.95, ns_per_us = 1000;
        line_panel made{"Mean", "requests a second (logarithmic)", "response time, us (logarithmic)", {}};
        for (std::size_t who = 0; who < competitors.size(); ++who) {
            line_series one{competitors[who].title, competitors[who].colour, {}};
            for (const auto& [at, response_ns] : responses_) {
                const auto offered = static_cast<double>(at.rate);
                if (at.who != who || at.lag != usual_point("response", who, sweep_threads).lag) continue;
                const auto found = achieved_.find(at);
                if (found == achieved_.end() || found->second < least_part * offered) continue;
                one.points.emplace_back(offered, response_ns / ns_per_us);
            }
            if (!one.points.empty()) made.series.push_back(std::move(one));
        }
        if (made.series.empty()) return;
        add("14", "response time of an insert into the tree, 2 threads",
            "Responses count from the arrival of a request. A curve ends where fewer than 95 of 100 requests are "
            "answered in the time in which they arrive. The paper has 4 threads: cc-HTM answers in a fourth to a fifth "
            "of PTL2's time, and close to htm_only.",
            {made});
    }
    void add_lags(const std::string& case_name, const std::string& number, const std::string& caption) {
        add(number, case_name + " by the lag, 2 threads", caption, {bars(case_name, &point::lag, lag_name, "", true)});
    }

    /// Throughput of the better of ours over the rival's.
    std::optional<double> times_ptl2(point at) const {
        const auto ours = [&](std::size_t who) {
            at.who = who;
            at.lag = usual_lag;
            return throughput(at).value_or(0);
        };
        const double best = std::max(ours(our_value), ours(our_versioned));
        at.who = their_ptl2;
        at.lag = 0;
        const auto rival = throughput(at);
        return rival && best > 0 ? std::optional(best / *rival) : std::nullopt;
    }

    std::string table() const {
        std::string text = "<table>\n<tr><th>figure</th><th>case</th><th>the paper: cc-HTM over PTL2</th>"
                           "<th>here, 1 thread</th><th>here, 2 threads</th></tr>\n";
        const auto cell = [](std::optional<double> value) {
            return value ? fmt::format("{:.2f}", *value) : std::string("-");
        };
        const auto row = [&](const char* figure, const char* case_name, const char* paper, std::uint64_t group) {
            const auto at = [&](std::uint64_t threads) {
                point where = usual_point(case_name, our_value, threads);
                if (group != 0) where.group = group;
                return times_ptl2(where);
            };
            const std::string name = group != 0 ? fmt::format("{}, {} stores", case_name, group) : case_name;
            text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", figure, name,
                                paper, cell(at(1)), cell(at(2)));
        };
        row("3", "ssca2", "over 1.5", 0);
        row("8", "vacation", "shown only", 0);
        row("10", "hash", "roughly 2", 0);
        row("12", "hash", "slightly below 1", 2);
        row("12", "hash", "1.5 to 2", 30);
        row("15", "tree", "almost 4 to 5", 0);
        return text + "</table>\n<p>The better of cc_htm's two algorithms at a lag of 128, over ptl2.</p>\n";
    }

    /// Where the paper varies one thing; the suite's own.
    static constexpr std::uint64_t sweep_threads = 2;

    std::filesystem::path directory_;
    points measured_, responses_, achieved_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, double> aliases_;  ///< ns an edge, by ways and bytes
    std::vector<std::pair<double, double>> blue_, red_;  ///< percent of a batch, and commits
    std::vector<figure> figures_;
};

}  // namespace

paper_section draw_cc_htm(const std::vector<record>& records, const std::filesystem::path& directory) {
    return cchtm_figures(records, directory).draw();
}

}  // namespace holdfast::bench
