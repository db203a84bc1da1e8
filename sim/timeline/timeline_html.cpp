#include <sim/base/configuration.hpp>
#include <sim/timeline/timeline_layout.hpp>
#include <tools/html.hpp>

#include <cstdio>

namespace holdfast::sim {
namespace {

constexpr double lane_gap_pixels = 8, axis_pixels = 22, letter_pixels = 6.7, text_pixels = 14;

// Colours by Okabe and Ito, which people who confuse colours can tell apart; light on dark pages, too.
constexpr std::string_view style = R"(
:root { color-scheme: light dark; --ink: #1b1b1b; --faint: #e2e2e2; --band: #f6f6f6; --page: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --faint: #3a3a3a; --band: #222222; --page: #161616; } }
body { font: 14px system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 1.5em; }
h1 { font-size: 1.3em; }
.legend span { display: inline-block; width: 1em; height: 1em; margin: 0 .3em 0 1em; vertical-align: -.15em; }
.timeline { display: flex; border: 1px solid var(--faint); }
.names { flex: none; border-right: 1px solid var(--faint); }
.names div { box-sizing: border-box; padding: 0 .7em; display: flex; align-items: center; white-space: nowrap; }
.names div:nth-child(even), .band { background: var(--band); fill: var(--band); }
.scroll { overflow-x: auto; }
svg { display: block; }
svg text { font: 11px ui-monospace, monospace; pointer-events: none; }
.tick text { fill: var(--ink); }
.tick line { stroke: var(--faint); }
.span text { fill: #000000; }
.span rect { stroke: var(--page); stroke-width: 1; }
.span:hover rect { stroke: var(--ink); stroke-width: 2; }
.work { fill: #56b4e9; background: #56b4e9; } .wait { fill: #c4c4c4; background: #c4c4c4; }
.hit { fill: #5cc9a7; background: #5cc9a7; } .miss { fill: #e69f00; background: #e69f00; }
.read { fill: #7fb2e5; background: #7fb2e5; } .write { fill: #e5875b; background: #e5875b; }
.log { fill: #dd9ac2; background: #dd9ac2; } .mark { fill: #f0e442; background: #f0e442; }
)";

std::string pixels_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", value);
    std::string shorter(text);
    shorter.erase(shorter.find_last_not_of('0') + 1);
    if (shorter.ends_with('.')) shorter.pop_back();
    return shorter;
}

std::string attribute(std::string_view name, double value) {
    return " " + std::string(name) + "=\"" + pixels_text(value) + "\"";
}

std::string ns_text(time span) { return nanoseconds_text(span) + " ns"; }

std::string cycles_text(time span, time cycle) {
    if (cycle == time{}) return {};
    char text[40];
    const double cycles = static_cast<double>(span.picoseconds) / static_cast<double>(cycle.picoseconds);
    std::snprintf(text, sizeof text, ", %.4g cycles", cycles);
    return text;
}

double lane_pixels(const placed_lane& lane) {
    return static_cast<double>(lane.rows) * lane.row_pixels + lane_gap_pixels;
}

class page {
public:
    explicit page(const timeline& shown) : shown_(shown), layout_(lay_out(shown)) {
        for (const placed_lane& each : layout_.lanes) lanes_pixels_ += lane_pixels(each);
        if (shown.cycle != time{}) axes_ = 2;
    }

    std::string text() {
        out_ = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" +
               tools::escaped(shown_.title) + "</title>\n<style>" + std::string(style) + "</style>\n</head>\n<body>\n";
        add_heading();
        add_legend();
        out_ += "<div class=\"timeline\">\n";
        add_lane_names();
        add_picture();
        out_ += "</div>\n</body>\n</html>\n";
        return std::move(out_);
    }

private:
    double head_pixels() const { return axis_pixels * axes_; }

    void add_heading() {
        out_ += "<h1>" + tools::escaped(shown_.title) + "</h1>\n<p>From " + ns_text(shown_.begin) + " to " +
                ns_text(shown_.end) + " after the start of the run; the axis counts from the first.";
        if (axes_ == 2) out_ += " A cycle takes " + ns_text(shown_.cycle) + ".";
        out_ += "</p>\n";
    }

    void add_legend() {
        std::array<bool, timeline_colour_names.size()> used{};
        for (const placed_lane& lane : layout_.lanes) {
            for (const placed_span& each : lane.spans) {
                used[static_cast<std::size_t>(each.span->colour)] = true;
                if (each.span->active) used[static_cast<std::size_t>(timeline_colour::wait)] = true;
            }
        }
        out_ += "<p class=\"legend\">";
        for (std::size_t i = 0; i < used.size(); ++i) {
            const std::string name(timeline_colour_names[i]);
            if (used[i]) out_ += "<span class=\"" + name + "\"></span>" + name;
        }
        out_ += "</p>\n";
    }

    void add_lane_names() {
        const auto name = [&](double height, const std::string& what) {
            out_ += "<div style=\"height:" + pixels_text(height) + "px\">" + tools::escaped(what) + "</div>\n";
        };
        out_ += "<div class=\"names\">\n";
        name(head_pixels(), "time in the window");
        for (std::size_t i = 0; i < shown_.lanes.size(); ++i) name(lane_pixels(layout_.lanes[i]), shown_.lanes[i]);
        out_ += "</div>\n";
    }

    void add_picture() {
        const double height = head_pixels() + lanes_pixels_;
        out_ += "<div class=\"scroll\">\n<svg" + attribute("width", layout_.pixels) + attribute("height", height) +
                " viewBox=\"0 0 " + pixels_text(layout_.pixels) + " " + pixels_text(height) + "\">\n";
        add_bands();
        add_ticks(ns(1), " ns", 0, head_pixels() + lanes_pixels_);
        if (axes_ == 2) add_ticks(shown_.cycle, " cycles", axis_pixels, 2 * axis_pixels);
        double top = head_pixels();
        for (const placed_lane& lane : layout_.lanes) {
            out_ += "<g class=\"lane\">\n";
            for (const placed_span& each : lane.spans) add_span(each, lane, top);
            out_ += "</g>\n";
            top += lane_pixels(lane);
        }
        out_ += "</svg>\n</div>\n";
    }

    void add_bands() {
        double top = head_pixels();
        for (std::size_t i = 0; i < layout_.lanes.size(); ++i) {
            const double height = lane_pixels(layout_.lanes[i]);
            if (i % 2 == 0) {
                out_ += "<rect class=\"band\" x=\"0\"" + attribute("y", top) + attribute("width", layout_.pixels) +
                        attribute("height", height) + "/>\n";
            }
            top += height;
        }
    }

    /// One axis: numbers below `top`, and lines from there to `bottom`.
    void add_ticks(time unit, const std::string& unit_name, double top, double bottom) {
        const double unit_pixels = layout_.position(unit);
        const std::uint64_t distance = tick_distance(unit_pixels, 110);
        for (std::uint64_t at = 0; static_cast<double>(at) * unit_pixels < layout_.pixels; at += distance) {
            const double x = static_cast<double>(at) * unit_pixels;
            out_ += "<g class=\"tick\"><line" + attribute("x1", x) + attribute("y1", top) + attribute("x2", x) +
                    attribute("y2", bottom) + "/><text" + attribute("x", x + 4) +
                    attribute("y", top + axis_pixels - 7) + ">" + std::to_string(at) + unit_name + "</text></g>\n";
        }
    }

    static std::string rectangle(timeline_colour colour, double left, double width, double top, double height) {
        const std::string name(timeline_colour_names[static_cast<std::size_t>(colour)]);
        return "<rect class=\"" + name + "\"" + attribute("x", left) + attribute("y", top) +
               attribute("width", width) + attribute("height", height);
    }

    void add_span(const placed_span& each, const placed_lane& lane, double lane_top) {
        const timeline_span& what = *each.span;
        const double height = lane.row_pixels, gap = height > text_pixels ? 1 : 0.5;
        const double top = lane_top + lane_gap_pixels / 2 + static_cast<double>(each.row) * height;
        const time duration = what.end - what.begin;
        out_ += "<g class=\"span\">" + rectangle(what.active ? timeline_colour::wait : what.colour, each.left,
                                                 each.width, top + gap, height - 2 * gap);
        out_ += "><title>" + tools::escaped(what.name) + "\n" + tools::escaped(shown_.lanes[what.lane]) + "\n" +
                ns_text(what.begin) + " to " + ns_text(what.end) + ": " + ns_text(duration) +
                cycles_text(duration, shown_.cycle);
        if (!what.detail.empty()) out_ += "\n" + tools::escaped(what.detail);
        out_ += "</title></rect>";
        if (what.active) {
            out_ += rectangle(what.colour, each.active_left, each.active_width, top + gap, height - 2 * gap) +
                    " pointer-events=\"none\"/>";
        }
        if (height > text_pixels && static_cast<double>(what.name.size()) * letter_pixels + 4 <= each.width) {
            out_ += "<text" + attribute("x", each.left + 3) + attribute("y", top + height - 5) + ">" +
                    tools::escaped(what.name) + "</text>";
        }
        out_ += "</g>\n";
    }

    const timeline& shown_;
    timeline_layout layout_;
    double lanes_pixels_ = 0;
    int axes_ = 1;
    std::string out_;
};

}  // namespace

std::string timeline_html(const timeline& shown) { return page(shown).text(); }

}  // namespace holdfast::sim
