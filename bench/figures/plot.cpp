#include <bench/figures/plot.hpp>

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

/// The label of a tick, which gnuplot reads as a format.
std::string quoted_tick(const std::string& text) {
    std::string all;
    for (const char letter : text) all += letter == '%' ? std::string("%%") : std::string(1, letter);
    return bench::quoted(all);
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
    void add(double value) {
        least = std::min(least, value);
        most = std::max(most, value);
    }
};

extent extent_of(const bar_panel& panel) {
    extent all;
    for (const auto& one : panel.series)
        for (const auto& value : one.values)
            if (value) all.add(*value);
    if (panel.reference) all.add(*panel.reference);
    return all;
}

/// What a figure of several panels looks like, in pixels.
struct layout {
    std::size_t columns = 1;
    std::size_t rows = 1;
    std::size_t key_rows = 0;  ///< of the key below all panels
    bool key_in_panels = true;

    static constexpr double width = 1200, panel_height = 470, title_height = 45, row_height = 22, key_margin = 16;
    double key_height() const { return key_rows == 0 ? 0 : static_cast<double>(key_rows) * row_height + key_margin; }
    double height() const { return title_height + static_cast<double>(rows) * panel_height + key_height(); }
    double panel_width() const { return width / static_cast<double>(columns); }
    double left(std::size_t place) const { return static_cast<double>(place % columns) / static_cast<double>(columns); }
    double bottom(std::size_t place) const {
        return (key_height() + static_cast<double>(rows - 1 - place / columns) * panel_height) / height();
    }
};

/// Rows of the key that fit above what is drawn in a panel.
constexpr std::size_t key_rows_logarithmic = 5, key_rows_linear = 2;

/// What is the same for all panels, or would stay as the panel before has left it.
template <class Panel>
std::string head_of(const Panel& panel, const layout& of, std::size_t place, const std::string& x_label) {
    constexpr std::size_t axis_rows = 5;
    std::string text = fmt::format("set origin {},{}\nset size {},{}\n", of.left(place), of.bottom(place),
                                   1 / static_cast<double>(of.columns), layout::panel_height / of.height());
    text += fmt::format("set title {}\nset xlabel {}\nset ylabel {}\n", quoted(panel.title), quoted(x_label),
                        quoted(panel.y_label));
    text += fmt::format("unset logscale\nset tics nomirror out\nset ytics autofreq\nset bmargin {}\n", axis_rows);
    return text + (of.key_in_panels ? "set key default\nset key inside top left Left reverse samplen 1.5 spacing 1.1\n"
                                    : "unset key\n");
}

/// Room above the highest bar for its value and the key, below the lowest for its foot.
std::string axes(const bar_panel& panel, const layout& of, std::size_t place) {
    const extent values = extent_of(panel);
    std::string text = head_of(panel, of, place, "");
    text += "set style fill solid 1\nset grid noxtics ytics lc rgb '#dddddd'\n";
    if (panel.logarithmic) {
        text += "set logscale y\n";
        const double room = of.key_in_panels ? 1 : 0.3;
        text += fmt::format("set yrange [{}:{}]\n", std::pow(10, std::floor(std::log10(values.least))),
                            values.most * std::pow(values.most / values.least, room));
    } else {
        text += fmt::format("set yrange [0:{}]\n", values.most * (of.key_in_panels ? 1.35 : 1.2));
    }
    text += fmt::format("set xrange [-0.6:{}]\nset xtics scale 0 (", static_cast<double>(panel.groups.size()) - 0.4);
    for (std::size_t i = 0; i < panel.groups.size(); ++i)
        text += fmt::format("{}{} {}", i == 0 ? "" : ", ", quoted_tick(panel.groups[i]), i);
    return text + ")\n";
}

/// Whether the widest value is wider than a bar, so that it would touch the next one.
bool values_stand_upright(const bar_panel& panel, const layout& of, double bar_width) {
    constexpr double margins = 130, letter = 6, gap = 4;
    std::size_t longest = 0;
    for (const auto& one : panel.series)
        for (const auto& value : one.values)
            if (value) longest = std::max(longest, above_bar(*value).size());
    const double of_a_group = (of.panel_width() - margins) / (static_cast<double>(panel.groups.size()) + 0.2);
    return static_cast<double>(longest) * letter + gap > bar_width * of_a_group;
}

std::string script_of(const bar_panel& panel, const layout& of, std::size_t place) {
    std::string text = axes(panel, of, place), bars, values;
    const double width = 0.85 / static_cast<double>(panel.series.size());
    const bool upright = values_stand_upright(panel, of, width);
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
        bars += fmt::format("{}$series{} using 1:2:({}) with boxes lc rgb '{}' title {}", s == 0 ? "plot " : ", ", s,
                            width * 0.92, one.colour, quoted(one.title));
        values += fmt::format(", $series{} using 1:2:3 with labels {} font ',10' notitle", s,
                              upright ? "rotate left offset 0,0.4" : "boxed offset 0,0.7");
    }
    // A value is read before the line behind it.
    if (panel.reference && !bars.empty())
        bars += fmt::format(", {} with lines lw 2 lc rgb '#444444' notitle", *panel.reference);
    return text + "set style textbox opaque noborder fillcolor 'white' margins 0.3,0.3\n" + bars + values + "\n";
}

/// Where a logarithmic axis has its ticks: by itself only at powers of ten, of which a short one may have none.
std::string ticks_of(const char* axis, double least, double most) {
    constexpr double short_axis = 20;
    if (most / least >= short_axis) return fmt::format("set {} scale 1 autofreq\n", axis);
    std::string places;
    for (double decade = std::pow(10, std::floor(std::log10(least))); decade <= most; decade *= 10)
        for (const double step : {1.0, 2.0, 3.0, 5.0})
            if (const double at = step * decade; at >= least && at <= most)
                places += fmt::format("{}{}", places.empty() ? "" : ", ", at);
    return fmt::format("set {} scale 1 ({})\n", axis, places);
}

std::string script_of(const line_panel& panel, const layout& of, std::size_t place) {
    constexpr double beside = 1.15, above = 1.5;
    extent across, along;
    for (const auto& one : panel.series)
        for (const auto& [x, y] : one.points) {
            along.add(x);
            across.add(y);
        }
    std::string text = head_of(panel, of, place, panel.x_label), plots;
    if (panel.series.empty()) return text;
    text += "set logscale xy\nset grid xtics ytics lc rgb '#dddddd'\n";
    text += fmt::format("set xrange [{}:{}]\nset yrange [{}:{}]\n", along.least / beside, along.most * beside,
                        across.least / above, across.most * above);
    text += ticks_of("xtics", along.least / beside, along.most * beside);
    text += ticks_of("ytics", across.least / above, across.most * above);
    text += "set format x '%.0s%c'\n";
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

/// A series as the key shows it.
struct key_entry {
    std::string title;
    std::string colour;
    const char* look;  ///< as gnuplot says it
    bool operator==(const key_entry&) const = default;
};

std::vector<key_entry> entries_of(const panel& one) {
    std::vector<key_entry> entries;
    const auto add = [&](const auto& chart, const char* look) {
        for (const auto& each : chart.series) entries.push_back({each.title, each.colour, look});
    };
    if (const auto* const bars = std::get_if<bar_panel>(&one)) add(*bars, "boxes");
    if (const auto* const lines = std::get_if<line_panel>(&one)) add(*lines, "linespoints lw 2 pt 7 ps 0.6");
    return entries;
}

/// The key below all panels; empty where each has a short one of its own.
std::vector<key_entry> common_key(const std::vector<panel>& panels) {
    std::vector<key_entry> all;
    bool is_needed = false;
    for (const auto& one : panels) {
        const auto entries = entries_of(one);
        const auto* const bars = std::get_if<bar_panel>(&one);
        is_needed |= entries.size() > (bars != nullptr && !bars->logarithmic ? key_rows_linear : key_rows_logarithmic);
        for (const auto& each : entries) {
            const bool is_new = std::find(all.begin(), all.end(), each) == all.end();
            is_needed |= !is_new;
            if (is_new) all.push_back(each);
        }
    }
    return is_needed ? all : std::vector<key_entry>{};
}

/// As many as gnuplot makes of them, which does so by the longest title.
std::size_t key_columns_of(const std::vector<key_entry>& key) {
    constexpr std::size_t most = 5, character_width = 8, sample_width = 60;
    std::size_t longest = 0;
    for (const auto& each : key) longest = std::max(longest, each.title.size());
    const auto fitting = static_cast<std::size_t>(layout::width) / (longest * character_width + sample_width);
    return std::clamp<std::size_t>(fitting, 1, most);
}

/// A chart of nothing but its key.
std::string script_of(const std::vector<key_entry>& key, const layout& of) {
    std::string text = fmt::format("set origin 0,0\nset size 1,{}\n", of.key_height() / of.height());
    text += "unset logscale\nunset title\nunset xlabel\nunset ylabel\nunset border\nunset tics\nunset grid\n";
    text += "set xrange [0:1]\nset yrange [0:1]\nset bmargin 0\nset tmargin 0\nset style fill solid 1\n";
    text += fmt::format("set key default\nset key center center horizontal maxcols {} Left reverse samplen 1.5 spacing "
                        "1.1\nplot NaN notitle",
                        key_columns_of(key));
    for (const auto& each : key)
        text += fmt::format(", keyentry with {} lc rgb '{}' title {}", each.look, each.colour, quoted(each.title));
    return text + "\n";
}

}  // namespace

void draw_svg(const std::string& path, const std::string& title, const std::vector<panel>& panels,
              std::size_t columns) {
    const auto key = common_key(panels);
    const std::size_t key_columns = key_columns_of(key);
    if (columns == 0) columns = panels.size();
    const std::size_t rows = (panels.size() + columns - 1) / columns;
    const layout all{columns, rows, (key.size() + key_columns - 1) / key_columns, key.empty()};
    std::string script = "set terminal svg noenhanced font 'Helvetica,13' background 'white'";
    script += fmt::format(" size {},{}\n", layout::width, all.height());
    script += "set output " + quoted_path(path) + "\n";
    script += fmt::format("set multiplot title {} font ',16'\n", quoted(title));
    for (std::size_t i = 0; i < panels.size(); ++i)
        script += std::visit([&](const auto& chart) { return script_of(chart, all, i); }, panels[i]);
    if (!key.empty()) script += script_of(key, all);
    script += "unset multiplot\n";
    std::FILE* const gnuplot = ::popen("gnuplot", "w");
    if (gnuplot == nullptr) fail(errc::io, "gnuplot could not be started");
    const bool whole = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
    if (::pclose(gnuplot) != 0 || !whole)
        throw failure({errc::io, "gnuplot could not draw it (the package is gnuplot-nox)", path, {}, {}, {}});
}

}  // namespace holdfast::bench
