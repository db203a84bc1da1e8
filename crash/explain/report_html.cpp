#include <crash/explain/report_html.hpp>

#include <crash/explain/svg.hpp>
#include <crash/explain/timeline_svg.hpp>

#include <tools/html.hpp>

#include <fmt/core.h>

#include <numeric>

namespace holdfast::crash {
namespace {

using tools::escaped;

constexpr std::string_view page_style = R"(body{background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:1180px;padding:24px}
h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:0 0 6px}p{margin:6px 0}
.lead{color:var(--soft);margin-bottom:18px}
.bad{color:var(--bad);font-weight:600}.good{color:var(--good);font-weight:600}
table{border-collapse:collapse;width:100%;margin:12px 0 24px;font-variant-numeric:tabular-nums}
th{text-align:left;color:var(--soft);font-weight:600;border-bottom:2px solid var(--rule);padding:4px 10px}
td{border-bottom:1px solid var(--rule);padding:4px 10px;vertical-align:top}.number{text-align:right}
section{border:1px solid var(--rule);border-radius:8px;padding:16px 18px;margin:0 0 22px;break-inside:avoid}
.cause{font-size:16px;border-left:4px solid var(--bad);padding:2px 0 2px 12px;margin:10px 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:10px 0}dt{color:var(--soft)}dd{margin:0}
code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}
pre{background:var(--panel);border:1px solid var(--rule);border-radius:6px;padding:8px 12px;margin:8px 0;
white-space:pre-wrap;overflow-wrap:anywhere;font:13px ui-monospace,monospace}
.wide{overflow-x:auto}.picture{overflow-x:auto;margin:14px 0 4px}.picture svg{min-width:900px}
@media print{body{max-width:none;padding:0}.wide,.picture{overflow:visible}.picture svg{min-width:0}}
)";

std::string violations_of(const findings& found) {
    if (found.first_life == 0) return std::to_string(found.violations);
    return fmt::format("{}, first in life {}", found.violations, found.first_life);
}

std::string row_of(const report_row& row) {
    const findings& found = row.found;
    return fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td class='number'>{}</td><td class='number'>{}</td>"
                       "<td class='number'>{}</td><td class='number {}'>{}</td><td>{}</td></tr>\n",
                       escaped(row.engine), escaped(row.workload_name), escaped(row.model_name), found.workloads,
                       found.cuts + found.nested_cuts, found.images, found.violations == 0 ? "good" : "bad",
                       violations_of(found), found.exhaustive ? "yes" : "no");
}

std::string fact(std::string_view name, const std::string& what) {
    return fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, what);
}

std::string lost_table(const story& told) {
    if (told.why.lost.empty()) return {};
    std::string rows;
    for (const lost_store& each : told.why.lost) {
        const event& store = told.account.traces.back().recorded.events[each.event];
        std::string from;
        for (const source_line& one : told.lines.lines_of(store))
            from += fmt::format("<code>{}</code> {}<br/>", escaped(one.text()), escaped(one.function));
        rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                            escaped(name_of_place(store, each)), store.where ? name_of(*store.where) : "",
                            words_for(each.lacked),
                            each.only_may_be ? "it is there by luck" : each.is_decisive ? "yes" : "not alone", from);
    }
    return "<details><summary>Lost stores and who made them</summary><div class='wide'><table><tr><th>lost</th>"
           "<th>site</th><th>what it lacked</th><th>right with it</th><th>stored by</th></tr>\n" +
           rows + "</table></div></details>\n";
}

std::string section_of(const report_row& row, const story& told, const model& how) {
    std::string text = fmt::format("<section>\n<h2>{} · {} · {}</h2>\n", escaped(row.engine),
                                   escaped(row.workload_name), escaped(row.model_name));
    const std::string replay = "holdfast crash --replay '" + replay_line(told.smallest) + "'";
    if (!told.reproduced)
        return text + "<p class='bad'>This violation did not show when it was run once more.</p><pre>" +
               escaped(replay) + "</pre></section>\n";
    text += fmt::format("<p class='cause'>{}</p>\n<dl>\n", escaped(told.sentence));
    text += fact("Violation", escaped(told.wrong));
    if (told.smallest.planted) text += fact("Planted", escaped(told.smallest.planted->name()));
    text += fact("Operations", escaped(words_for_operations(told.operations)));
    for (std::size_t i = 0; i < told.lives.size(); ++i)
        text += fact(fmt::format("Life {}", i + 2), "recovery, then " + escaped(words_for_operations(told.lives[i])));
    text += fact("Cut", escaped(words_for_cut(told)));
    text += fmt::format("</dl>\n<pre>{}</pre>\n", escaped(replay));
    text += fmt::format("<div class='picture'>{}</div>\n", timeline_svg(told, how));
    return text + lost_table(told) + "</section>\n";
}

/// Every call of the seam that was passed, and how often recovery stood a crash right before and after it.
std::string calls_table(const std::vector<report_row>& rows) {
    coverage all;
    for (const report_row& row : rows) all.add(row.found.calls);
    std::string table = "<h2>Where it crashed</h2>\n<div class='wide'><table>\n<tr><th>call</th>"
                        "<th class='number'>right before</th><th class='number'>right after</th></tr>\n";
    for (const auto& [name, crashes] : all.by_name()) {
        const bool both = crashes.before != 0 && crashes.after != 0;
        table += fmt::format("<tr><td>{}</td><td class='number'>{}</td><td class='number {}'>{}</td></tr>\n",
                             escaped(name), crashes.before, both ? "good" : "bad", crashes.after);
    }
    return table + "</table></div>\n";
}

}  // namespace

std::string html_of(const std::vector<report_row>& rows) {
    const auto sum = [&](auto member) {
        const auto add = [&](std::uint64_t so_far, const report_row& each) { return so_far + each.found.*member; };
        return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}, add);
    };
    const std::uint64_t violations = sum(&findings::violations);
    std::string table, sections;
    for (const report_row& row : rows) {
        table += row_of(row);
        for (const story& each : row.stories) sections += section_of(row, each, *model_named(row.model_name));
    }
    std::string page = "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'/>\n<meta name='viewport' "
                       "content='width=device-width'/>\n<title>Holdfast: crash report</title>\n<style>\n";
    page += std::string(timeline_style()) + std::string(page_style) + "</style>\n</head>\n<body>\n";
    page += "<h1>What a crash may leave</h1>\n";
    page += fmt::format("<p class='lead'>Recovery ran on {} distinct images. <span class='{}'>{}</span></p>\n",
                        sum(&findings::images), violations == 0 ? "good" : "bad",
                        violations == 0 ? "None is wrong." : fmt::format("{} runs were wrong.", violations));
    page += "<div class='wide'><table>\n<tr><th>engine</th><th>workload</th><th>model</th>"
            "<th class='number'>workloads</th><th class='number'>cuts</th><th class='number'>images</th>"
            "<th class='number'>violations</th><th>exhaustive</th></tr>\n" + table + "</table></div>\n";
    if (!sections.empty()) page += "<div class='picture'>" + timeline_legend() + "</div>\n" + sections;
    page += calls_table(rows);
    return page + "</body>\n</html>\n";
}

}  // namespace holdfast::crash
