// `holdfast figures`: the figures of the papers, drawn anew from what is measured here, with the papers' numbers beside
// ours.
#include <bench/bench.hpp>
#include <bench/figures/figures.hpp>
#include <bench/figures/steal_runs.hpp>
#include <bench/suites.hpp>

#include <holdfast/base/result.hpp>
#include <tools/streams.hpp>
#include <tools/suggestion.hpp>
#include <tools/writable.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <utility>

namespace holdfast::bench {
namespace {

struct paper {
    const char* name;
    const char* suite;
    paper_section (*draw)(const std::vector<record>&, const std::filesystem::path&);
    /// What is simulated for it; nullptr: it is measured on this machine.
    std::vector<simulated_campaign> (*campaigns)(bool quick) = nullptr;
    /// What writes its records, if no command of ours can; nullptr otherwise.
    const char* written_by = nullptr;
};

constexpr std::array all_papers{paper{"cltx", "bounded-buffer", draw_cltx},
                                paper{"softwrap-lat", "wrap", draw_softwrap_lat},
                                paper{"cc-htm", "cchtm", draw_cc_htm},
                                paper{"steal-but-no-force", "sim", draw_steal_but_no_force, steal::campaigns},
                                paper{"dnv-memory", "rig", draw_dnv_memory, nullptr,
                                      "make rig writes build/rig-times.json; give it as --records"}};
constexpr const char* whole = "1/1";

struct figures_line {
    std::string paper;  ///< empty: all
    std::string directory = "figures";
    std::vector<std::string> records;
    std::string shard = whole;
    options asked;
};

/// Runs the paper's sweeps, or a share of each, and leaves their records in the directory.
std::vector<std::string> simulate(const paper& wanted, const figures_line& line) {
    std::string share;
    if (line.shard != whole) {
        share = "-" + line.shard;
        share.replace(share.find('/'), 1, "-of-");
    }
    const auto all = wanted.campaigns(line.asked.quick);
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string file = fmt::format("{}-{}{}.json", wanted.name, all[i].name, share);
        paths.push_back((std::filesystem::path(line.directory) / file).string());
        tools::show(fmt::format("\n{} of {}: {}\n", i + 1, all.size(), all[i].command_line()));
        std::fflush(stdout);
        run_campaign(all[i], line.shard, paths.back());
    }
    return paths;
}

/// What was measured for the paper: in the files, or now if there are none.
std::vector<record> records_for(const paper& wanted, const figures_line& line) {
    if (line.records.empty() && wanted.written_by != nullptr) {
        if (line.paper.empty()) return {};
        throw failure({errc::invalid_argument, "these figures are drawn from records alone", wanted.name, {}, {}, {},
                       wanted.written_by});
    }
    if (line.records.empty() && wanted.campaigns == nullptr) return measure(wanted.suite, line.asked).records();
    std::vector<record> all;
    for (const auto& path : line.records.empty() ? simulate(wanted, line) : line.records)
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
        for (const auto& one : section.figures) {
            out << fmt::format("<h2>{}</h2>\n", one.title);
            if (!one.file.empty())
                out << fmt::format("<div><img src=\"{}\" alt=\"{}\"></div>\n", one.file, one.title);
            out << fmt::format("<p>{}</p>\n", one.caption);
            if (!one.table.empty()) out << fmt::format("<div>\n{}</div>\n", one.table);
        }
        out << fmt::format("<h2>{}</h2>\n<div>\n{}</div>\n", section.table_title, section.table);
    }
    out << "</body></html>\n";
    out.close();
    if (!out) throw failure({errc::io, "the page could not be written", path, {}, {}, {}});
}

/// One share of the simulated papers' runs. Nothing is drawn before all shares are there.
int run_share(const figures_line& line) {
    if (!line.records.empty()) fail(errc::invalid_argument, "--shard makes records, and --records takes them");
    std::string files;
    for (const auto& each : all_papers) {
        if (each.campaigns == nullptr || (!line.paper.empty() && line.paper != each.name)) continue;
        for (const auto& path : simulate(each, line)) files += " --records " + path;
    }
    if (files.empty()) fail(errc::invalid_argument, "--shard is for papers that are simulated: steal-but-no-force");
    tools::show("\nWhen all shares are there: holdfast figures" + files + " ...\n");
    return 0;
}

int draw_figures(const figures_line& line) {
    try {
        // Before the measurements, rather than after.
        std::filesystem::create_directories(line.directory);
        tools::check_writable((std::filesystem::path(line.directory) / "index.html").string()).value();
        if (line.shard != whole) return run_share(line);
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
                     "Only this paper: cltx (cache-line transactions), softwrap-lat (SoftWrAP, local alias tables), "
                     "cc-htm (continuous checkpointing), steal-but-no-force (hardware undo+redo logging, simulated) or "
                     "dnv-memory (saves at power failures, from records of the rig)")
        ->check(tools::one_of({"cltx", "softwrap-lat", "cc-htm", "steal-but-no-force", "dnv-memory"}));
    figures->add_flag("--quick", line->asked.quick,
                      "Measure for at most 50 seconds a paper; simulate for at most 5 minutes, on two processors");
    figures
        ->add_option("--records", line->records,
                     "Use these records of `bench --json` or `sim --json` instead of measuring (repeatable)")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
    figures
        ->add_option("--shard", line->shard,
                     "Run only every N-th simulation, beginning with the I-th; leave the records in the directory "
                     "(for --records) and draw nothing")
        ->type_name("I/N")
        ->check([](const std::string& text) {
            const bool is_share = text.find_first_not_of("0123456789/") == std::string::npos &&
                                  std::count(text.begin(), text.end(), '/') == 1;
            return is_share ? std::string() : "--shard is " + text + ", allowed is I/N with I from 1 to N";
        })
        ->capture_default_str();
    figures->add_option("--out", line->directory, "Directory for the SVG files and index.html")
        ->type_name("DIRECTORY")
        ->capture_default_str();
    figures->callback([line, &chosen] { chosen = [line] { return draw_figures(*line); }; });
}

}  // namespace holdfast::bench
