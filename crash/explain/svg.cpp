#include <crash/explain/svg.hpp>

#include <tools/html.hpp>

#include <fmt/core.h>

namespace holdfast::crash {

using tools::escaped;

std::string mark(event_kind kind, double x, double y, std::string_view style, std::string_view title) {
    std::string shape;
    switch (kind) {
        case event_kind::stream: shape = fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='5.5'", x, y); break;
        case event_kind::file_word:
            shape = fmt::format("<path d='M{:.1f} {:.1f}l6.5 6.5l-6.5 6.5l-6.5 -6.5z'", x, y - 6.5);
            break;
        case event_kind::write_back:
            shape = fmt::format("<path d='M{:.1f} {:.1f}l6 10.5h-12z'", x, y - 6);
            break;
        default: shape = fmt::format("<rect x='{:.1f}' y='{:.1f}' width='10' height='10'", x - 5, y - 5);
    }
    const std::string name = shape.substr(1, shape.find(' ') - 1);
    return fmt::format("{} class='{}'><title>{}</title></{}>\n", shape, style, escaped(title), name);
}

std::string line(double x1, double y1, double x2, double y2, std::string_view style) {
    return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' class='{}'/>\n", x1, y1, x2, y2, style);
}

std::string text(double x, double y, std::string_view style, std::string_view what, std::string_view more) {
    return fmt::format("<text x='{:.1f}' y='{:.1f}' class='{}'{}>{}</text>\n", x, y, style, more, escaped(what));
}

}  // namespace holdfast::crash
