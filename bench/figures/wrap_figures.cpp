// Figures 2a and 2b of SoftWrAP-LAT: response times at rates of arrival, and the highest throughput. Its text has one
// number: SoftWrAP's throughput is almost twice that of its undo log.
#include <bench/figures/figures.hpp>
#include <bench/figures/plot.hpp>

#include <holdfast/base/result.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace holdfast::bench {
namespace {

constexpr double paper_times_undo = 2;
constexpr const char* paper_undo = "undo_paper";
constexpr const char* keeps_nothing = "volatile_only";

std::uint64_t number_in(const record& one, const std::string& name) {
    for (const auto& [each, value] : one.params)
        if (each == name)
            if (const auto* const number = std::get_if<std::uint64_t>(&value)) return *number;
    return 0;
}

/// An engine, and how many commits it truncates at once if it gathers them.
struct competitor {
    std::string engine;
    std::uint64_t batch = 0;
    auto operator<=>(const competitor&) const = default;
    std::string name() const { return batch == 0 ? engine : fmt::format("{}, batch {}", engine, batch); }
};

class wrap_figures {
public:
    wrap_figures(const std::vector<record>& records, std::filesystem::path directory)
        : directory_(std::move(directory)) {
        for (const auto& one : records) take(one);
        if (sustained_.empty() || curves_.empty())
            fail(errc::invalid_argument, "these records are not of a whole run of suite wrap");
    }

    paper_section draw() {
        for (const std::uint64_t delay_ns : delays_)
            add(delay_ns == 0 ? "softwrap-lat-figure-2a.svg" : fmt::format("softwrap-lat-figure-2a-{}.svg", delay_ns),
                "Figure 2a: response time of an insert, " + medium_name(delay_ns),
                "Responses count from the scheduled arrival. A curve ends where its engine answers fewer than 95 of "
                "100 requests in the time in which they arrive: from there on responses grow with the length of the "
                "run. The paper shows means, and says that SoftWrAP has the fastest response time.",
                {responses(delay_ns, "mean_response_ns", "Mean"),
                 responses(delay_ns, "p99_response_ns", "99th percentile")});
        add("softwrap-lat-figure-2b.svg", "Figure 2b: highest throughput of inserts",
            "Back-to-back inserts, each a transaction. In the paper SoftWrAP has almost twice its undo log, which is "
            "undo_paper here, and the line at 2.",
            {throughput(), times_undo()});
        return {"SoftWrAP-LAT: inserts into a B+ tree of 20,000 elements",
                "The evaluation, measured again by <code>holdfast bench wrap</code>. Medians; DRAM in tmpfs emulating "
                "NVRAM, with write-backs and fences; a delay is added for each line that is written.",
                figures_, "Throughput", table()};
    }

private:
    using points = std::map<std::uint64_t, std::map<std::string, double>>;  ///< by rate, by metric

    static bool is_of_the_paper(const record& one) {
        return std::none_of(one.params.begin(), one.params.end(), [](const auto& each) {
            return each.first == "variant" ||
                   (each.first == "level" && each.second != decltype(each.second){std::string("power")});
        });
    }

    void take(const record& one) {
        if (!is_of_the_paper(one)) return;
        const std::uint64_t delay_ns = number_in(one, "delay_ns");
        const competitor who{one.engine, number_in(one, "batch")};
        if (one.case_name == "response") curves_[{delay_ns, who}][number_in(one, "rate")][one.metric] = one.value;
        if (one.case_name != "sustained" || one.metric != "tx_per_s") return;
        sustained_[{delay_ns, who}] = one.value;
        if (std::find(all_.begin(), all_.end(), who) == all_.end()) all_.push_back(who);
        if (std::find(delays_.begin(), delays_.end(), delay_ns) == delays_.end()) delays_.push_back(delay_ns);
    }

    void add(const std::string& file, const std::string& title, const std::string& caption,
             const std::vector<panel>& panels) {
        draw_svg((directory_ / file).string(), title, panels);
        figures_.push_back({file, title, caption});
    }

    static std::string medium_name(std::uint64_t delay_ns) {
        return delay_ns == 0 ? "no delay" : fmt::format("+{} ns a line", delay_ns);
    }

    /// By their place in the table, the same in all figures.
    std::string colour_of(const competitor& who) const {
        constexpr std::array colours{colour::grey,  colour::blue, colour::sky,   colour::vermilion,
                                     colour::ochre, colour::green, colour::pink, colour::brown,
                                     colour::black, colour::purple, colour::teal, colour::wine};
        const auto at = static_cast<std::size_t>(std::find(all_.begin(), all_.end(), who) - all_.begin());
        return colours[at % colours.size()];
    }

    std::optional<double> sustained(std::uint64_t delay_ns, const competitor& who) const {
        const auto found = sustained_.find({delay_ns, who});
        if (found == sustained_.end()) return std::nullopt;
        return found->second;
    }
    std::optional<double> times_undo(std::uint64_t delay_ns, const competitor& who) const {
        const auto ours = sustained(delay_ns, who), undo = sustained(delay_ns, {paper_undo});
        if (!ours || !undo) return std::nullopt;
        return *ours / *undo;
    }

    line_panel responses(std::uint64_t delay_ns, const std::string& metric, const std::string& title) const {
        constexpr double least_part = 0.95, ns_per_us = 1000;
        line_panel made{title, "requests a second (logarithmic)", "response time, us (logarithmic)", {}};
        for (const auto& who : all_) {
            const auto found = curves_.find({delay_ns, who});
            if (found == curves_.end()) continue;
            line_series one{who.name(), colour_of(who), {}};
            for (const auto& [rate, metrics] : found->second) {
                const auto offered = static_cast<double>(rate);
                if (metrics.at("achieved_per_s") < least_part * offered) break;
                one.points.emplace_back(offered, metrics.at(metric) / ns_per_us);
            }
            if (!one.points.empty()) made.series.push_back(std::move(one));
        }
        return made;
    }

    bar_panel bars(const std::string& title, const std::string& label) const {
        bar_panel made{title, label, {}, {}, true, {}};
        for (const std::uint64_t delay_ns : delays_) made.groups.push_back(medium_name(delay_ns));
        return made;
    }
    bar_panel throughput() const {
        constexpr double thousand = 1000;
        bar_panel made = bars("Measured here", "thousand inserts a second (logarithmic)");
        for (const auto& who : all_) {
            bar_series one{who.name(), colour_of(who), {}};
            for (const std::uint64_t delay_ns : delays_) {
                const auto value = sustained(delay_ns, who);
                one.values.push_back(value ? std::optional(*value / thousand) : std::nullopt);
            }
            made.series.push_back(std::move(one));
        }
        return made;
    }
    bar_panel times_undo() const {
        bar_panel made = bars("Against the paper's undo log", "times undo_paper");
        made.logarithmic = false;
        made.reference = paper_times_undo;
        for (const auto& who : all_) {
            if (who.engine == paper_undo || who.engine == keeps_nothing) continue;
            bar_series one{who.name(), colour_of(who), {}};
            for (const std::uint64_t delay_ns : delays_) one.values.push_back(times_undo(delay_ns, who));
            made.series.push_back(std::move(one));
        }
        return made;
    }

    std::string table() const {
        std::string text = "<table>\n<tr><th>delay, ns a line</th><th>engine</th><th>inserts a second</th>"
                           "<th>times undo_paper (the paper: SoftWrAP almost 2)</th></tr>\n";
        for (const std::uint64_t delay_ns : delays_) {
            for (const auto& who : all_) {
                const auto value = sustained(delay_ns, who), times = times_undo(delay_ns, who);
                if (!value) continue;
                text += fmt::format("<tr><td>{}</td><td>{}</td><td>{:.0f}</td><td>{}</td></tr>\n", delay_ns, who.name(),
                                    *value, times ? fmt::format("{:.2f}", *times) : std::string("-"));
            }
        }
        return text + "</table>\n";
    }

    using place = std::pair<std::uint64_t, competitor>;  ///< delay in ns, and who

    std::filesystem::path directory_;
    std::vector<competitor> all_;
    std::vector<std::uint64_t> delays_;
    std::map<place, double> sustained_;
    std::map<place, points> curves_;
    std::vector<figure> figures_;
};

}  // namespace

paper_section draw_softwrap_lat(const std::vector<record>& records, const std::filesystem::path& directory) {
    return wrap_figures(records, directory).draw();
}

}  // namespace holdfast::bench
