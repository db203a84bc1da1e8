// `holdfast figures`: the figures of the papers, drawn anew from what is measured here, with the papers' numbers beside
// ours.
#include <bench/bench.hpp>
#include <bench/paper_ratios.hpp>
#include <bench/plot.hpp>
#include <bench/suites.hpp>

#include <holdfast/base/result.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <tuple>
#include <utility>

namespace holdfast::bench {
namespace {

struct engine_look {
    const char* engine;
    const char* title;
    const char* colour;
};

/// Colours that people who see fewer can tell apart.
constexpr engine_look looks[]{{"plain", "no transactions", "#999999"},
                              {"line", "line (CLTX)", "#E69F00"},
                              {"woven", "woven (CLTX)", "#009E73"},
                              {"libpmemobj", "libpmemobj, as in the paper (PMDK)", "#0072B2"},
                              {"libpmemobj_best", "libpmemobj, at its best", "#56B4E9"}};
constexpr const char* paper_colour = "#BBBBBB";
constexpr const char* our_colour = "#D55E00";

struct figure {
    std::string file;
    std::string title;
    std::string caption;
};

/// The paper on cache-line transactions.
class cltx_figures {
public:
    cltx_figures(std::vector<record> records, std::filesystem::path directory)
        : records_(std::move(records)), directory_(std::move(directory)), delays_(delays_of(records_)) {
        if (delays_.size() != 3)
            fail(errc::invalid_argument, "these records are not of a whole run of suite bounded-buffer");
        ratios_ = paper_ratios(records_);
    }

    void draw() {
        std::filesystem::create_directories(directory_);
        add("cltx-figure-6.svg", "Figure 6: add 29 bytes in 29 transactions (scenario 1)",
            "The buffer is reset, untimed, before each repetition. The delays are chosen so that the ratios of line "
            "are the paper's. There libpmemobj was slightly faster than line on DRAM, and no slower on NVRAM.",
            {times("scenario1"), ratios(6)});
        add("cltx-figure-6-full.svg", "Figure 6, if nobody resets the buffer",
            "Scenario 1 on a buffer that stays full: no transaction changes anything, and line commits all the same. "
            "Where libpmemobj is below 1 without the reset and above 1 with it, this is what the paper shows.",
            {times("scenario1-full"), against_line()});
        add("cltx-figure-7.svg", "Figure 7: add 29 bytes, then get 29, in 58 transactions (scenario 2)",
            "The delays are those of Figure 6, so all of these ratios are predictions.",
            {times("scenario2"), ratios(7)});
        add("cltx-figure-8.svg", "Figure 8: fill in one transaction, drain in another (scenario 3)",
            "The same delays. libpmemobj takes a snapshot for each member that is stored to.",
            {times("scenario3"), ratios(8)});
        write_page();
    }

private:
    void add(const std::string& file, const std::string& title, const std::string& caption,
             const std::vector<bar_panel>& panels) {
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
        for (const auto& [name, title, colour] :
             {std::tuple{"scenario1", "reset before each repetition", "#0072B2"},
              std::tuple{"scenario1-full", "never reset", our_colour}}) {
            bar_series one{title, colour, {}};
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

    void write_page() const {
        const std::string path = (directory_ / "index.html").string();
        std::ofstream out(path);
        out << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
               "<title>Cache-line transactions, measured again</title>\n"
               "<style>body{font-family:sans-serif;max-width:75em;margin:2em auto;padding:0 1em}"
               "img{max-width:100%}table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.2em .6em;"
               "text-align:left}</style></head><body>\n"
               "<h1>Cache-Line Transactions: Building Blocks for Persistent Kernel Data Structures Enabled by "
               "AspectC++</h1>\n<p>Section 5, measured again by <code>holdfast bench bounded-buffer</code>. Medians; "
               "DRAM in tmpfs, with write-backs and fences. The paper's two kinds of NVRAM are the same memory with "
               "an added delay for each line that is written back.</p>\n";
        for (const auto& one : figures_)
            out << fmt::format("<h2>{}</h2>\n<img src=\"{}\" alt=\"{}\">\n<p>{}</p>\n", one.title, one.file, one.title,
                               one.caption);
        out << "<h2>Ratios</h2>\n" << table() << "</body></html>\n";
        out.close();
        if (!out) throw failure({errc::io, "the page could not be written", path, {}, {}, {}});
    }

    std::vector<record> records_;
    std::filesystem::path directory_;
    std::vector<std::uint64_t> delays_;
    std::vector<paper_ratio> ratios_;
    std::vector<figure> figures_;
};

struct figures_line {
    std::string paper = "cltx";
    std::string directory = "figures";
    std::string records;
    options asked;
};

int draw_figures(const figures_line& line) {
    try {
        auto records =
            line.records.empty() ? measure("bounded-buffer", line.asked).records() : read_records(line.records);
        cltx_figures(std::move(records), line.directory).draw();
        std::printf("%s\n", (std::filesystem::path(line.directory) / "index.html").c_str());
        return 0;
    } catch (const std::exception& reason) {
        std::fprintf(stderr, "holdfast figures: %s\n", reason.what());
        return 1;
    }
}

}  // namespace

void add_figures_command(CLI::App& command, std::function<int()>& chosen) {
    const auto line = std::make_shared<figures_line>();
    auto* figures = command.add_subcommand("figures", "Draw the papers' figures anew, from measurements made here");
    figures->add_option("--paper", line->paper, "Only this paper: cltx (cache-line transactions)")
        ->check(CLI::IsMember({"cltx"}))
        ->capture_default_str();
    figures->add_flag("--quick", line->asked.quick, "Measure for at most 50 seconds");
    figures->add_option("--records", line->records, "Take these records of `bench --json` instead of measuring")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
    figures->add_option("--out", line->directory, "Where the SVG files and index.html go")
        ->type_name("DIRECTORY")
        ->capture_default_str();
    figures->callback([line, &chosen] { chosen = [line] { return draw_figures(*line); }; });
}

}  // namespace holdfast::bench
