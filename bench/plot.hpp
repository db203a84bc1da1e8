// Charts, drawn by gnuplot.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::bench {

/// One colour of bars: a value for each group, or none.
struct bar_series {
    std::string title;
    std::string colour;  ///< "#rrggbb"
    std::vector<std::optional<double>> values;
};

/// One chart: groups of bars side by side, each bar with its value above it.
struct bar_panel {
    std::string title;
    std::string y_label;
    std::vector<std::string> groups;  ///< below the axis; "\n" breaks a line
    std::vector<bar_series> series;
    bool logarithmic = false;
    std::optional<double> reference;  ///< a horizontal line
};

/// One colour of line through points (x, y), both above 0.
struct line_series {
    std::string title;
    std::string colour;
    std::vector<std::pair<double, double>> points;
};

/// One chart: lines over a logarithmic axis, against another.
struct line_panel {
    std::string title;
    std::string x_label;
    std::string y_label;
    std::vector<line_series> series;
};

using panel = std::variant<bar_panel, line_panel>;

/// Draws the panels side by side, under one title, as SVG; one without series leaves its place empty. What is in the
/// file depends on the arguments alone.
/// Errors (failure): io, when gnuplot cannot be run or fails.
void draw_svg(const std::string& path, const std::string& title, const std::vector<panel>& panels);

}  // namespace holdfast::bench
