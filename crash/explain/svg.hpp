// Pieces of SVG and HTML, each one element.
#pragma once

#include <crash/cut/trace.hpp>

#include <string>
#include <string_view>

namespace holdfast::crash {

/// The mark of an event around (x, y): its shape says which kind. `title` is what a pointer over it shows.
std::string mark(event_kind kind, double x, double y, std::string_view style, std::string_view title);
std::string line(double x1, double y1, double x2, double y2, std::string_view style);
/// `more`: further attributes, with a space before.
std::string text(double x, double y, std::string_view style, std::string_view what, std::string_view more = {});

}  // namespace holdfast::crash
