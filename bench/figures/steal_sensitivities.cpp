// Figure 11, the log buffer and the period of scans; a sweep of what the paper leaves open; Table I.
#include <bench/figures/plot.hpp>
#include <bench/figures/steal_runs.hpp>

#include <sim/energy/logging_overhead.hpp>
#include <sim/logging/log_config.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::bench::steal {
namespace {

constexpr double ps_per_s = 1e12, mib = 1 << 20, cycle_ps = 400;

std::optional<double> throughput(const simulated_runs& runs, const simulated_run& one) {
    return value_of(runs, one, measure::throughput);
}

/// fwb on hash, which is what Figure 11 is about.
simulated_run hash_run(unsigned threads, const machine_settings& machine) {
    return steal::run_of("hash", forced_design, threads, "int", &machine);
}

machine_settings with_buffer_of(unsigned entries, const machine_settings& machine) {
    return both(machine, {{"log.buffer_entries", std::to_string(entries)}});
}

struct buffer_machine {
    const char* title;
    const machine_settings* settings;
    const char* colour;
};
const std::array buffer_machines{
    buffer_machine{"instant, faithful", &paper_machine(), colour::vermilion},
    buffer_machine{"durable, safe", &safe_machine(), colour::wine},
    buffer_machine{"instant, faithful, a log in order through 16 entries", &slow_log_machine(), colour::blue}};

bar_panel buffers(const simulated_runs& runs, unsigned threads) {
    bar_panel made{fmt::format("hash, integers, threads: {}", threads), "throughput, times that without a buffer", {},
                   {}, false, 1.0};
    for (const buffer_machine& each : buffer_machines) made.series.push_back({each.title, each.colour, {}});
    for (const unsigned entries : buffer_sizes) {
        if (!throughput(runs, hash_run(threads, with_buffer_of(entries, paper_machine())))) continue;
        made.groups.push_back(fmt::format("{} entries", entries));
        for (std::size_t i = 0; i < buffer_machines.size(); ++i) {
            const machine_settings& machine = *buffer_machines[i].settings;
            made.series[i].values.push_back(
                ratio(throughput(runs, hash_run(threads, with_buffer_of(entries, machine))),
                      throughput(runs, hash_run(threads, with_buffer_of(0, machine)))));
        }
    }
    return made;
}

std::string buffer_table(const simulated_runs& runs) {
    std::string text = "<table>\n<tr><th>threads</th><th>entries</th><th>the paper</th><th>instant, faithful</th>"
                       "<th>durable, safe</th><th>instant, faithful, log in order</th><th>lines in the NVRAM before a "
                       "record of theirs, faithful</th>"
                       "<th>the same in a thousand lines of data</th></tr>\n";
    for (const unsigned threads : thread_counts)
        for (const unsigned entries : buffer_sizes) {
            const simulated_run faithful = hash_run(threads, with_buffer_of(entries, paper_machine()));
            if (!runs.has(faithful)) continue;
            const auto over_none = [&](const machine_settings& machine) {
                return ratio(throughput(runs, hash_run(threads, with_buffer_of(entries, machine))),
                             throughput(runs, hash_run(threads, with_buffer_of(0, machine))));
            };
            const auto early = runs.value(faithful, "log_lines_early");
            const auto written = runs.value(faithful, "controller_writes");
            text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.0f}</td>"
                                "<td>{}</td></tr>\n",
                                threads, entries, entries == 8 ? "1.10" : entries == 15 ? "1.18" : "",
                                cell(over_none(paper_machine())), cell(over_none(safe_machine())),
                                cell(over_none(slow_log_machine())), early.value_or(0),
                                cell(ratio(early.value_or(0) * 1000, written)));
        }
    return text + "</table>\n<p>The paper has one number for each size. It takes 128 and 256 entries with unlimited "
                  "bandwidth of the NVRAM; here all sizes have the same. A buffer gains what stores would wait for the "
                  "controller's entries of the log: with 64 of them, in any order, next to nothing. So the last "
                  "machine has 16, and its lines reach the array in the order of the log, 34.9 ns each.</p>\n";
}

/// What a log of a size asks of the scans, by what was measured.
struct period_of_log {
    double needed_cycles = 0;  ///< two periods, and a scan, must fit into a lap of the log
    double on_time_cycles = 0; ///< into three quarters of a lap, or safe hardware begins a scan early
    double scan_cycles = 0;    ///< that one scan takes
    double line_ns = 0;        ///< between two lines of the log
};
std::optional<period_of_log> period_of(const simulated_runs& runs, const simulated_run& one, double log_mib) {
    const auto bytes = runs.per_transaction(one, "log_bytes"), rate = runs.value(one, "tx_per_s"),
               scans = runs.value(one, "log_scans"), scanning = runs.value(one, "log_scanning_ps");
    if (!bytes || !rate || !scans || !scanning || *bytes <= 0) return std::nullopt;
    period_of_log made;
    const double lines_per_s = *bytes * *rate / line_bytes_of_log;
    made.line_ns = 1e9 / lines_per_s;
    made.scan_cycles = *scans > 0 ? *scanning / *scans / cycle_ps : 0;
    const double lap_cycles = log_mib * mib / line_bytes_of_log / lines_per_s * ps_per_s / cycle_ps;
    made.needed_cycles = std::max(0.0, (lap_cycles - made.scan_cycles) / 2);
    made.on_time_cycles = std::max(0.0, (lap_cycles * 3 / 4 - made.scan_cycles) / 2);
    return made;
}

line_panel periods(const simulated_runs& runs) {
    constexpr double paper_cycles_per_mib = 750'000;
    line_panel made{"Period of scans that a log needs", "log, MiB", "period, thousand cycles (logarithmic)", {}};
    line_series paper{"the paper: 3 million cycles for 4 MiB", colour::grey, {}};
    for (const unsigned size : log_sizes_mib) paper.points.emplace_back(size, size * paper_cycles_per_mib / 1000);
    made.series.push_back(std::move(paper));
    for (const auto& [threads, its_colour] : {std::pair{1u, colour::sky}, {8u, colour::wine}}) {
        line_series ours{fmt::format("hash, threads: {}", threads), its_colour, {}};
        for (const unsigned size : log_sizes_mib)
            if (const auto found = period_of(runs, hash_run(threads, with_log_of(size)), size))
                if (found->needed_cycles > 0) ours.points.emplace_back(size, found->needed_cycles / 1000);
        if (!ours.points.empty()) made.series.push_back(std::move(ours));
    }
    return made;
}

std::string period_table(const simulated_runs& runs) {
    std::string text = "<table>\n<tr><th>threads</th><th>log, MiB</th><th>million tx/s</th><th>a line of the log "
                       "every, ns</th><th>the paper's period, thousand cycles</th><th>period that it needs "
                       "here</th><th>period without early scans</th><th>a scan takes</th><th>scans</th><th>of them "
                       "begun early, since the log ran short</th></tr>\n";
    for (const unsigned threads : thread_counts)
        for (const unsigned size : log_sizes_mib) {
            const simulated_run one = hash_run(threads, with_log_of(size));
            const auto found = period_of(runs, one, size);
            if (!found) continue;
            text += fmt::format("<tr><td>{}</td><td>{}</td><td>{:.2f}</td><td>{:.1f}</td><td>{:.0f}</td><td>{:.0f}</td>"
                                "<td>{:.0f}</td><td>{:.0f}</td><td>{:.0f}</td><td>{:.0f}</td></tr>\n",
                                threads, size, throughput(runs, one).value_or(0) / 1e6, found->line_ns, size * 750.0,
                                found->needed_cycles / 1000, found->on_time_cycles / 1000, found->scan_cycles / 1000,
                                runs.value(one, "log_scans").value_or(0),
                                runs.value(one, "log_scans_hurried").value_or(0));
        }
    text += "</table>\n<p>The paper's period is 37.5 ns a line of the log: random writes over 8 banks of 300 ns each, "
            "and two scans to a lap. A log is sequential, and lines follow each other as fast as the table says; a "
            "scan itself takes time, too, since it waits for the memory. What a log needs is that two periods and a "
            "scan fit into a lap. Safe hardware begins a scan early when less than a quarter of the log is free; for "
            "none to begin so, they have to fit into three quarters of a lap.</p>\n";
    for (const unsigned threads : thread_counts) {
        const auto lost = [&](scanning how) -> std::optional<double> {
            const auto left = ratio(throughput(runs, hash_run(threads, with_scans(how))),
                                    throughput(runs, hash_run(threads, with_scans(scanning::none))));
            return left ? std::optional((1 - *left) * 100) : std::nullopt;
        };
        if (const auto full = lost(scanning::full))
            text += fmt::format("<p>With a log of 256 MiB, which never runs short, scans every 3 million cycles cost "
                                "{:.1f} % of throughput, threads: {}.", *full, threads);
        if (const auto tags = lost(scanning::tags))
            text += fmt::format(" Looking at the tags alone, without write-backs, costs {:.1f} %. The paper says "
                                "3.6 %.</p>\n", *tags);
    }
    return text;
}

}  // namespace

std::vector<figure> draw_sensitivities(const simulated_runs& runs, const std::filesystem::path& directory) {
    std::vector<figure> made;
    std::vector<panel> panels;
    for (const unsigned threads : thread_counts)
        if (auto one = buffers(runs, threads); one.groups.size() > 1) panels.emplace_back(std::move(one));
    if (!panels.empty()) {
        const char* const file = "steal-figure-11a.svg";
        draw_svg((directory / file).string(), "Figure 11(a): throughput by size of the log buffer", panels);
        made.push_back({file, "Figure 11(a): throughput by size of the log buffer",
                        "fwb, records of 64 bytes. The paper bounds the buffer by 15 entries, so that a record is on "
                        "the bus before its line can be; safe hardware needs no bound, since the controller holds the "
                        "line.",
                        buffer_table(runs)});
    }
    if (line_panel one = periods(runs); one.series.size() > 1) {
        const char* const file = "steal-figure-11b.svg";
        draw_svg((directory / file).string(), "Figure 11(b): period of scans by size of the log", {one});
        made.push_back({file, "Figure 11(b): period of scans by size of the log",
                        "fwb, durable and safe, records of 64 bytes. A record may be overwritten when two scans have "
                        "begun and ended since its line was stored to. What a log needs here follows from how fast "
                        "it was written and how long scans took.",
                        period_table(runs)});
    }
    if (auto one = draw_conclusions(runs)) made.push_back(*std::move(one));
    return made;
}

std::string overhead_table() {
    const sim::log_config log;
    const sim::hierarchy_config caches;
    const sim::logging_overhead ours =
        sim::overhead_of(caches, log.buffer_entries, sim::bytes_of(sim::record_format::line));
    const sim::logging_overhead& paper = sim::paper_overhead;
    std::string text = "<table>\n<tr><th>mechanism</th><th>the paper, bytes</th><th>here, bytes</th><th>remark</th>"
                       "</tr>\n";
    const auto row = [&](const char* name, std::uint64_t theirs, std::uint64_t mine, const std::string& remark) {
        text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", name, theirs, mine, remark);
    };
    row("transaction id register", paper.transaction_register_bytes, ours.transaction_register_bytes,
        "8 bits of the 16 that a record has");
    row("log head register", paper.head_bytes, ours.head_bytes, "");
    row("log tail register", paper.tail_bytes, ours.tail_bytes, "");
    row("log buffer", paper.buffer_bytes, ours.buffer_bytes,
        fmt::format("{} entries of 64 bytes; the paper's are of 514 bits", log.buffer_entries));
    row("fwb bits", paper.state_bytes, ours.state_bytes,
        fmt::format("one for each of {} lines of L2 and {} of the DL1s; the paper's are enough for {}",
                    caches.l2.bytes / sim::line_bytes, caches.cores * caches.dl1.bytes / sim::line_bytes,
                    paper.state_bytes * 8));
    return text + "</table>\n";
}

}  // namespace holdfast::bench::steal
