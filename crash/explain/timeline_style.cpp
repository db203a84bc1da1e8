#include <crash/explain/timeline_svg.hpp>

#include <crash/explain/svg.hpp>

#include <fmt/core.h>

namespace holdfast::crash {

std::string_view timeline_style() {
    return R"(:root{--paper:#fff;--ink:#1c2430;--soft:#667085;--rule:#d8dee8;--panel:#f5f7fa;
--bad:#c62828;--good:#2e7d32;--fence:#475467;--t0:#2563c9;--t1:#a15c00;--t2:#7a3db8;--t3:#0f766e}
@media (prefers-color-scheme:dark){:root{--paper:#14181f;--ink:#e6eaf0;--soft:#98a2b3;--rule:#333c4a;--panel:#1c222c;
--bad:#ff6b6b;--good:#5ec26a;--fence:#b6c0d0;--t0:#6aa5ff;--t1:#f0a84a;--t2:#c39af0;--t3:#4fc9bb}}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--rule:#bbb;--panel:#fff;--bad:#b00000;
--good:#1b5e20;--fence:#333;--t0:#1d4ed8;--t1:#8a4b00;--t2:#6b21a8;--t3:#0b5e57}}
svg.timeline{display:block;max-width:100%;height:auto;font:11px system-ui,sans-serif}
svg text{fill:var(--ink)}
.lane{stroke:var(--rule);stroke-width:1}
.name{text-anchor:end;font-weight:600}.note{text-anchor:end;fill:var(--soft);font-size:9.5px}
.heading{font-weight:600;fill:var(--soft)}.small{font-size:10px}
.count{font-size:9px;text-anchor:middle;fill:var(--soft)}
.site{font-size:10px;text-anchor:end;fill:var(--soft)}
.mark{stroke:var(--paper);stroke-width:1}.folded{opacity:.55}
.thread0{fill:var(--t0)}.thread1{fill:var(--t1)}.thread2{fill:var(--t2)}.thread3{fill:var(--t3)}
.mark.lost{fill:var(--paper);stroke:var(--bad);stroke-width:2}
.cross{stroke:var(--bad);stroke-width:2}
.operation{stroke-width:2}.operation.open{stroke-dasharray:4 3}
.operation.thread0{stroke:var(--t0)}.operation.thread1{stroke:var(--t1)}.operation.thread2{stroke:var(--t2)}
.operation.thread3{stroke:var(--t3)}
.span{stroke:var(--good);stroke-width:3;opacity:.55}.span.maybe{stroke:var(--soft);stroke-dasharray:3 3}
.span.lost{stroke:var(--bad);stroke-dasharray:3 3;opacity:1}
.fence{stroke:var(--fence);stroke-width:2}.sync{stroke:var(--fence);stroke-width:4;opacity:.7}
.cut{stroke:var(--bad);stroke-width:4}.cutname{fill:var(--bad)!important;font-weight:700;text-anchor:middle}
.lack{fill:var(--bad)!important;font-size:10px;text-anchor:end}
.cell{stroke:var(--rule);stroke-width:.8;fill:var(--panel)}.cell.kept{fill:var(--good)}.cell.lost{fill:var(--bad)}
.cell.unread{fill:var(--panel);stroke-dasharray:2 2;stroke:var(--soft)}
.read{fill:none;stroke-width:2.5}.read.kept{stroke:var(--good)}.read.lost{stroke:var(--bad)}
)";
}

std::string timeline_legend() {
    std::string body;
    double x = 12, y = 12;
    const auto add = [&](const std::string& drawn, std::string_view what) {
        body += drawn + text(x + 14, y + 4, "small", what);
        x += 44 + 5.4 * static_cast<double>(what.size());
    };
    const auto sample = [&](std::string_view style) { return line(x - 8, y, x + 8, y, style); };
    const auto upright = [&](std::string_view style) { return line(x, y - 10, x, y + 10, style); };
    const auto circle = [&](std::string_view style) {
        return fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='6' class='read {}'/>", x, y, style);
    };
    const auto cell = [&](std::string_view style) {
        return fmt::format("<rect x='{:.1f}' y='{:.1f}' width='12' height='16' class='cell {}'/>", x - 6, y - 8, style);
    };
    add(mark(event_kind::store, x, y, "mark thread0", "store"), "store");
    add(mark(event_kind::stream, x, y, "mark thread0", "streamed store"), "streamed store");
    add(mark(event_kind::file_word, x, y, "mark thread0", "file write"), "file write");
    add(mark(event_kind::write_back, x, y, "mark thread0", "write-back"), "write-back");
    add(upright("fence"), "fence");
    add(upright("sync"), "sync, or a change of the file");
    add(mark(event_kind::store, x, y, "mark lost", "lost") + line(x - 7, y - 7, x + 7, y + 7, "cross"), "lost");
    add(mark(event_kind::store, x, y, "mark lost", "may be lost"), "may be lost");
    add(upright("cut"), "cut");
    x = 12;
    y = 40;
    add(sample("span"), "until it was durable");
    add(sample("span maybe"), "not durable yet");
    add(cell("kept"), "uncertain word that survived");
    add(cell("lost"), "older than stored");
    add(cell("unread"), "not read");
    add(circle("kept"), "read: what was stored last");
    add(circle("lost"), "read: something older");
    return fmt::format("<svg class='timeline legend' viewBox='0 0 1130 54' width='1130' "
                       "xmlns='http://www.w3.org/2000/svg'>{}</svg>\n", body);
}

}  // namespace holdfast::crash
