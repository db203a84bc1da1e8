// The timeline of a violation as an SVG picture: what the program did line by line up to the cut, what the medium
// held then, and what recovery saw and did.
#pragma once

#include <crash/explain/story.hpp>

#include <string>

namespace holdfast::crash {

/// An <svg> element for a page that defines the classes it uses (`timeline_style`). Requires: the story's violation
/// was reproduced.
std::string timeline_svg(const story& told, const model& how);

/// The style sheet of those classes, for light and for dark.
std::string_view timeline_style();

/// What the marks mean, as one more picture.
std::string timeline_legend();

}  // namespace holdfast::crash
