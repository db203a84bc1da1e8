// Figures 6 to 8 of the paper on cache-line transactions, with the paper's numbers beside ours.
#include <bench/figures/figures.hpp>
#include <bench/figures/paper_ratios.hpp>
#include <bench/figures/plot.hpp>

#include <holdfast/base/result.hpp>

#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace holdfast::bench {
namespace {

struct engine_look {
    const char* engine;
    const char* title;
    const char* colour;
};

constexpr engine_look looks[]{{"plain", "no transactions", colour::grey},
                              {"line", "line (CLTX)", colour::ochre},
                              {"woven", "woven (CLTX)", colour::green},
                              {"libpmemobj", "libpmemobj, as in the paper (PMDK)", colour::blue},
                              {"libpmemobj_best", "libpmemobj, at its best", colour::sky}};
constexpr const char* paper_colour = colour::grey;
constexpr const char* our_colour = colour::vermilion;

/// The paper on cache-line transactions.
class cltx_figures {
public:
    cltx_figures(const std::vector<record>& records, std::filesystem::path directory)
        : records_(records), directory_(std::move(directory)), delays_(delays_of(records_)) {
        if (delays_.size() != 3)
            fail(errc::invalid_argument, "these records are not of a whole run of suite bounded-buffer");
        ratios_ = paper_ratios(records_);
    }

    paper_section draw() {
        add("cltx-figure-6.svg", "Figure 6: add 29 bytes in 29 transactions (scenario 1)",
            "The buffer is reset, untimed, before each repetition. The delays are chosen so that the ratios of line "
            "are the paper's. There libpmemobj was slightly faster than line on DRAM, and no slower on NVRAM.",
            {times("scenario1"), ratios(6)});
        add("cltx-figure-6-full.svg", "Figure 6, without a reset of the buffer",
            "Scenario 1 on a buffer that stays full: no transaction changes anything, and line still commits. "
            "Where libpmemobj is below 1 without the reset and above 1 with it, this is what the paper shows.",
            {times("scenario1-full"), against_line()});
        add("cltx-figure-7.svg", "Figure 7: add 29 bytes, then get 29, in 58 transactions (scenario 2)",
            "The delays are those of Figure 6, so all of these ratios are predictions.",
            {times("scenario2"), ratios(7)});
        add("cltx-figure-8.svg", "Figure 8: fill in one transaction, drain in another (scenario 3)",
            "The same delays. libpmemobj takes a snapshot for each member that is stored to.",
            {times("scenario3"), ratios(8)});
        return {"Cache-Line Transactions: Building Blocks for Persistent Kernel Data Structures Enabled by AspectC++",
                "Section 5, measured again by <code>holdfast bench bounded-buffer</code>. Medians; DRAM in tmpfs, with "
                "write-backs and fences. The paper's two kinds of NVRAM are the same memory with an added delay for "
                "each line that is written back.",
                figures_, "Ratios", table()};
    }

private:
    void add(const std::string& file, const std::string& title, const std::string& caption,
             const std::vector<panel>& panels) {
        draw_svg((directory_ / file).string(), title, panels);
        figures_.push_back({file, title, caption});
    }

    std::string medium_name(std::size_t medium) const {
        if (delays_[medium] == 0) return "DRAM\n\n(no delay)";
        const char* const kind = medium == 1 ? "interleaved" : "non-interleaved";
        return fmt::format("{}\nNVRAM\n(+{} ns a line)", kind, delays_[medium]);
    }
    std::vector<std::string> medium_names() const { return {medium_name(0), medium_name(1), medium_name(2)}; }

    bar_panel times(const std::string& case_name) const {
        bar_panel panel{"Measured here", "CPU time of a transaction, ns (logarithmic)", medium_names(), {}, true, {}};
        for (const auto& look : looks) {
            bar_series one{look.title, look.colour, {}};
            bool measured = false;
            for (const auto delay_ns : delays_) {
                one.values.push_back(value_of(records_, case_name, look.engine, "power", delay_ns));
                measured |= one.values.back().has_value();
            }
            if (measured) panel.series.push_back(std::move(one));
        }
        return panel;
    }

    bar_panel ratios(unsigned of_figure) const {
        bar_panel panel{"Ratios that the paper gives", "times", {}, {}, false, {}};
        bar_series theirs{"the paper", paper_colour, {}}, ours{"here", our_colour, {}};
        for (const auto& one : ratios_) {
            if (one.figure != of_figure || !one.paper) continue;
            const char* const medium =
                one.medium == paper_medium::interleaved ? "interleaved" : "non-interleaved";
            panel.groups.push_back(one.over_dram ? fmt::format("line,\n{}\n/ DRAM", medium)
                                                 : fmt::format("PMDK / line,\n{}", medium));
            theirs.values.push_back(one.paper);
            ours.values.push_back(one.ours);
        }
        panel.series = {std::move(theirs), std::move(ours)};
        return panel;
    }

    bar_panel against_line() const {
        bar_panel panel{"libpmemobj / line (the paper: below 1)", "times (logarithmic)", medium_names(), {}, true, 1.0};
        for (const auto& [name, title, its_colour] :
             {std::tuple{"scenario1", "reset before each repetition", colour::blue},
              std::tuple{"scenario1-full", "never reset", our_colour}}) {
            bar_series one{title, its_colour, {}};
            for (const auto& ratio : ratios_)
                if (ratio.case_name == name && !ratio.over_dram) one.values.push_back(ratio.ours);
            panel.series.push_back(std::move(one));
        }
        return panel;
    }

    std::string table() const {
        std::string text = "<table>\n<tr><th>figure</th><th>case</th><th>medium in the paper</th><th>delay here, ns a "
                           "line</th><th>ratio</th><th>paper</th><th>here</th></tr>\n";
        for (const auto& one : ratios_) {
            const auto medium = static_cast<std::size_t>(one.medium);
            text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>"
                                "\n",
                                one.figure, one.case_name, paper_medium_names[medium], delays_[medium],
                                one.over_dram ? "line / line on DRAM" : "libpmemobj / line",
                                one.paper ? fmt::format("{:.1f}", *one.paper) : one.in_words,
                                one.ours ? fmt::format("{:.2f}", *one.ours) : std::string("-"));
        }
        return text + "</table>\n";
    }

    const std::vector<record>& records_;
    std::filesystem::path directory_;
    std::vector<std::uint64_t> delays_;
    std::vector<paper_ratio> ratios_;
    std::vector<figure> figures_;
};

}  // namespace

paper_section draw_cltx(const std::vector<record>& records, const std::filesystem::path& directory) {
    return cltx_figures(records, directory).draw();
}

}  // namespace holdfast::bench
