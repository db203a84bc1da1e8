// Charts, drawn by gnuplot.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::bench {

/// Each stands out from white at least 3 to 1. People who see fewer colours can tell the first eight apart.
namespace colour {
inline constexpr const char *grey = "#8A8A8A", *blue = "#0072B2", *vermilion = "#D55E00", *green = "#009E73",
                            *sky = "#3A97CF", *ochre = "#BF8400", *pink = "#C76BA0", *black = "#000000",
                            *brown = "#8C510A", *purple = "#7B3294", *teal = "#01665E", *wine = "#882255";
}  // namespace colour

/// One colour of bars: a value for each group, or none.
struct bar_series {
    std::string title;
    std::string colour;  ///< "#rrggbb"
    std::vector<std::optional<double>> values;
};

/// One chart: groups of bars side by side, each bar with its value above it, upright where the bar is narrower.
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

/// Draws the panels side by side, or in rows of `columns`, under one title, as SVG; one without series leaves its place
/// empty. A series that is
/// in several panels is named once, in a key below them all. What is in the file depends on the arguments alone.
/// Errors (failure): io, when gnuplot cannot be run or fails.
void draw_svg(const std::string& path, const std::string& title, const std::vector<panel>& panels,
              std::size_t columns = 0);

}  // namespace holdfast::bench
