// `holdfast figures`: the figures of the papers, drawn anew from what is measured here, with the papers' numbers beside
// ours.
#include <bench/bench.hpp>
#include <bench/figures/figures.hpp>
#include <bench/suites.hpp>

#include <holdfast/base/result.hpp>
#include <tools/streams.hpp>
#include <tools/suggestion.hpp>
#include <tools/writable.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <utility>

namespace holdfast::bench {
namespace {

struct paper {
    const char* name;
    const char* suite;
    paper_section (*draw)(const std::vector<record>&, const std::filesystem::path&);
};

constexpr std::array all_papers{paper{"cltx", "bounded-buffer", draw_cltx},
                                paper{"softwrap-lat", "wrap", draw_softwrap_lat},
                                paper{"cc-htm", "cchtm", draw_cc_htm}};

struct figures_line {
    std::string paper;  ///< empty: all
    std::string directory = "figures";
    std::vector<std::string> records;
    options asked;
};

/// What was measured for the paper: in the files, or now if there are none.
std::vector<record> records_for(const paper& wanted, const figures_line& line) {
    if (line.records.empty()) return measure(wanted.suite, line.asked).records();
    std::vector<record> all;
    for (const auto& path : line.records)
        for (auto& one : read_records(path))
            if (one.suite == wanted.suite) all.push_back(std::move(one));
    return all;
}

void write_page(const std::filesystem::path& directory, const std::vector<paper_section>& sections) {
    const std::string path = (directory / "index.html").string();
    std::ofstream out(path);
    // A narrow window scrolls figures and tables sideways, rather than making them too small to read.
    out << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width\">\n"
           "<title>The papers' figures, measured again</title>\n"
           "<style>body{font-family:sans-serif;max-width:75em;margin:2em auto;padding:0 1em}"
           "div{overflow-x:auto}img{width:100%;min-width:56em}table{border-collapse:collapse}"
           "td,th{border:1px solid #bbb;padding:.2em .6em;text-align:left}</style></head><body>\n";
    for (const auto& section : sections) {
        out << fmt::format("<h1>{}</h1>\n<p>{}</p>\n", section.title, section.introduction);
        for (const auto& one : section.figures)
            out << fmt::format("<h2>{}</h2>\n<div><img src=\"{}\" alt=\"{}\"></div>\n<p>{}</p>\n", one.title, one.file,
                               one.title, one.caption);
        out << fmt::format("<h2>{}</h2>\n<div>\n{}</div>\n", section.table_title, section.table);
    }
    out << "</body></html>\n";
    out.close();
    if (!out) throw failure({errc::io, "the page could not be written", path, {}, {}, {}});
}

int draw_figures(const figures_line& line) {
    try {
        // Before the measurements, rather than after.
        std::filesystem::create_directories(line.directory);
        tools::check_writable((std::filesystem::path(line.directory) / "index.html").string()).value();
        std::vector<paper_section> sections;
        for (const auto& each : all_papers) {
            if (!line.paper.empty() && line.paper != each.name) continue;
            const auto records = records_for(each, line);
            // Files need not hold records for every paper, unless it was asked for.
            if (records.empty() && line.paper.empty()) continue;
            sections.push_back(each.draw(records, line.directory));
        }
        if (sections.empty()) fail(errc::invalid_argument, "these records are of no suite that repeats a paper");
        write_page(line.directory, sections);
        tools::show((std::filesystem::path(line.directory) / "index.html").string() + "\n");
        return 0;
    } catch (const std::exception& reason) {
        tools::complain(std::string("holdfast figures: ") + reason.what() + "\n");
        return 1;
    }
}

}  // namespace

void add_figures_command(CLI::App& command, std::function<int()>& chosen) {
    const auto line = std::make_shared<figures_line>();
    auto* figures = command.add_subcommand("figures", "Draw the papers' figures from measurements made here");
    figures
        ->add_option("--paper", line->paper,
                     "Only this paper: cltx (cache-line transactions), softwrap-lat (SoftWrAP, local alias tables) or "
                     "cc-htm (continuous checkpointing)")
        ->check(tools::one_of({"cltx", "softwrap-lat", "cc-htm"}));
    figures->add_flag("--quick", line->asked.quick, "Measure for at most 50 seconds a paper");
    figures
        ->add_option("--records", line->records,
                     "Use these records of `bench --json` instead of measuring (repeatable)")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
    figures->add_option("--out", line->directory, "Directory for the SVG files and index.html")
        ->type_name("DIRECTORY")
        ->capture_default_str();
    figures->callback([line, &chosen] { chosen = [line] { return draw_figures(*line); }; });
}

}  // namespace holdfast::bench
