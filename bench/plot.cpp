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

/// Room above the highest bar for its value and the legend, below the lowest for its foot.
std::string axes(const bar_panel& panel) {
    const extent values = extent_of(panel);
    std::string text = fmt::format("set title {}\nset ylabel {}\n", quoted(panel.title), quoted(panel.y_label));
    text += "unset logscale\nset style fill solid 0.9\nset grid ytics lc rgb '#dddddd'\n";
    text += "set tics nomirror out\nset bmargin 5\n";
    text += "set key top left Left reverse samplen 1.5 spacing 1.1\n";
    if (panel.logarithmic) {
        text += "set logscale y\n";
        text += fmt::format("set yrange [{}:{}]\n", std::pow(10, std::floor(std::log10(values.least))),
                            values.most * std::pow(values.most / values.least, 0.8));
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
        plots += fmt::format(", $series{} using 1:2:3 with labels offset 0,0.6 font ',10' notitle", s);
    }
    if (panel.reference) plots += fmt::format(", {} with lines lw 2 lc rgb '#444444' notitle", *panel.reference);
    return text + plots + "\n";
}

}  // namespace

void draw_svg(const std::string& path, const std::string& title, const std::vector<bar_panel>& panels) {
    std::string script = "set terminal svg size 1200,520 font 'Helvetica,13' background 'white'\n";
    script += "set output " + quoted_path(path) + "\n";
    script += fmt::format("set multiplot layout 1,{} title {} font ',16'\n", panels.size(), quoted(title));
    for (const auto& panel : panels) script += script_of(panel);
    script += "unset multiplot\n";
    std::FILE* const gnuplot = ::popen("gnuplot", "w");
    if (gnuplot == nullptr) fail(errc::io, "gnuplot could not be started");
    const bool whole = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
    if (::pclose(gnuplot) != 0 || !whole)
        throw failure({errc::io, "gnuplot could not draw it (the package is gnuplot-nox)", path, {}, {}, {}});
}

}  // namespace holdfast::bench
