#include <bench/plot.hpp>

#include <holdfast/base/result.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace holdfast::bench {
namespace {

/// As gnuplot reads it between double quotes.
std::string quoted(const std::string& text) {
    std::string all = "\"";
    for (const char letter : text) {
        if (letter == '\n') {
            all += "\\n";
            continue;
        }
        if (letter == '"' || letter == '\\') all += '\\';
        all += letter;
    }
    return all + "\"";
}

/// Between single quotes nothing is special but the quote itself.
std::string quoted_path(const std::string& path) {
    std::string all = "'";
    for (const char letter : path) all += letter == '\'' ? std::string("''") : std::string(1, letter);
    return all + "'";
}

std::string above_bar(double value) {
    if (value < 10) return fmt::format("{:.2f}", value);
    if (value < 100) return fmt::format("{:.1f}", value);
    return fmt::format("{:.0f}", value);
}

struct extent {
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
};

extent extent_of(const bar_panel& panel) {
    extent all;
    const auto add = [&](double value) {
        all.least = std::min(all.least, value);
        all.most = std::max(all.most, value);
    };
    for (const auto& one : panel.series)
        for (const auto& value : one.values)
            if (value) add(*value);
    if (panel.reference) add(*panel.reference);
    return all;
}

/// Legends of so many fit above what is drawn; others go below.
constexpr std::size_t legend_inside_logarithmic = 5, legend_inside_linear = 2;
bool legend_inside(const bar_panel& panel) {
    return panel.series.size() <= (panel.logarithmic ? legend_inside_logarithmic : legend_inside_linear);
}
bool legend_inside(const line_panel& panel) { return panel.series.size() <= legend_inside_logarithmic; }

/// Values above more bars than these stand upright.
constexpr std::size_t values_lying = 6;

constexpr std::size_t legend_columns = 2;
template <class Panel>
std::size_t legend_rows_below(const Panel& panel) {
    return legend_inside(panel) ? 0 : (panel.series.size() + legend_columns - 1) / legend_columns;
}

/// What is the same for all panels, or would stay as the panel before has left it.
template <class Panel>
std::string head_of(const Panel& panel, const std::string& x_label) {
    constexpr std::size_t axis_rows = 5;
    return fmt::format("set title {}\nset xlabel {}\nset ylabel {}\n", quoted(panel.title), quoted(x_label),
                       quoted(panel.y_label)) +
           fmt::format("unset logscale\nset tics nomirror out\nset bmargin {}\n",
                       axis_rows + legend_rows_below(panel)) +
           fmt::format("set key default\nset key {} Left reverse samplen 1.5 spacing 1.1\n",
                       legend_inside(panel)
                           ? "inside top left"
                           : fmt::format("outside bottom center horizontal maxcols {}", legend_columns));
}

/// Room above the highest bar for its value and the legend, below the lowest for its foot.
std::string axes(const bar_panel& panel) {
    const extent values = extent_of(panel);
    std::string text = head_of(panel, "");
    text += "set style fill solid 0.9\nset grid noxtics ytics lc rgb '#dddddd'\n";
    if (panel.logarithmic) {
        text += "set logscale y\n";
        const double room = legend_inside(panel) ? 0.8 : 0.25;
        text += fmt::format("set yrange [{}:{}]\n", std::pow(10, std::floor(std::log10(values.least))),
                            values.most * std::pow(values.most / values.least, room));
    } else {
        text += fmt::format("set yrange [0:{}]\n", values.most * 1.35);
    }
    text += fmt::format("set xrange [-0.6:{}]\nset xtics scale 0 (", static_cast<double>(panel.groups.size()) - 0.4);
    for (std::size_t i = 0; i < panel.groups.size(); ++i)
        text += fmt::format("{}{} {}", i == 0 ? "" : ", ", quoted(panel.groups[i]), i);
    return text + ")\n";
}

std::string script_of(const bar_panel& panel) {
    std::string text = axes(panel), plots;
    const double width = 0.85 / static_cast<double>(panel.series.size());
    for (std::size_t s = 0; s < panel.series.size(); ++s) {
        const auto& one = panel.series[s];
        text += fmt::format("$series{} << END\n", s);
        for (std::size_t i = 0; i < one.values.size(); ++i) {
            if (!one.values[i]) continue;
            const double middle = static_cast<double>(panel.series.size() - 1) / 2;
            const double x = static_cast<double>(i) + (static_cast<double>(s) - middle) * width;
            text += fmt::format("{} {} {}\n", x, *one.values[i], above_bar(*one.values[i]));
        }
        text += "END\n";
        plots += fmt::format("{}$series{} using 1:2:({}) with boxes lc rgb '{}' title {}", s == 0 ? "plot " : ", ", s,
                             width * 0.92, one.colour, quoted(one.title));
        plots += fmt::format(", $series{} using 1:2:3 with labels {} font ',10' notitle", s,
                             panel.series.size() <= values_lying ? "offset 0,0.6" : "rotate left offset 0,0.4");
    }
    if (panel.reference && !plots.empty())
        plots += fmt::format(", {} with lines lw 2 lc rgb '#444444' notitle", *panel.reference);
    return text + plots + "\n";
}

std::string script_of(const line_panel& panel) {
    std::string text = head_of(panel, panel.x_label), plots;
    text += "set logscale xy\nset grid xtics ytics lc rgb '#dddddd'\n";
    text += "set xrange [*:*]\nset yrange [*:*]\nset xtics scale 1 autofreq\nset format x '%.0s%c'\n";
    for (std::size_t s = 0; s < panel.series.size(); ++s) {
        const auto& one = panel.series[s];
        text += fmt::format("$line{} << END\n", s);
        for (const auto& [x, y] : one.points) text += fmt::format("{} {}\n", x, y);
        text += "END\n";
        plots += fmt::format("{}$line{} with linespoints lw 2 pt 7 ps 0.6 lc rgb '{}' title {}",
                             s == 0 ? "plot " : ", ", s, one.colour, quoted(one.title));
    }
    return text + plots + "\n";
}

}  // namespace

void draw_svg(const std::string& path, const std::string& title, const std::vector<panel>& panels) {
    std::size_t legend_rows = 0;
    const auto rows_of = [](const auto& chart) { return legend_rows_below(chart); };
    for (const auto& one : panels) legend_rows = std::max(legend_rows, std::visit(rows_of, one));
    std::string script = "set terminal svg noenhanced font 'Helvetica,13' background 'white'";
    script += fmt::format(" size 1200,{}\n", 520 + 20 * legend_rows);
    script += "set output " + quoted_path(path) + "\n";
    script += fmt::format("set multiplot layout 1,{} title {} font ',16'\n", panels.size(), quoted(title));
    for (const auto& one : panels) script += std::visit([](const auto& chart) { return script_of(chart); }, one);
    script += "unset multiplot\n";
    std::FILE* const gnuplot = ::popen("gnuplot", "w");
    if (gnuplot == nullptr) fail(errc::io, "gnuplot could not be started");
    const bool whole = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
    if (::pclose(gnuplot) != 0 || !whole)
        throw failure({errc::io, "gnuplot could not draw it (the package is gnuplot-nox)", path, {}, {}, {}});
}

}  // namespace holdfast::bench
