// What a window of a run looked like, as a page to open from the disk: a lane for each stage, cache or bank, time from
// left to right.
#pragma once

#include <sim/base/units.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sim {

/// What a span is coloured by; the page has a legend of those that occur.
enum class timeline_colour : std::uint8_t { work, wait, hit, miss, read, write, log, mark };
inline constexpr std::array<std::string_view, 8> timeline_colour_names{"work", "wait", "hit",   "miss",
                                                                       "read", "write", "log", "mark"};

struct timeline_part {
    time begin{}, end{};
};

/// Something that took from `begin` to `end`. The same moment twice is drawn as a narrow mark.
struct timeline_span {
    std::size_t lane = 0;  ///< which of timeline::lanes
    std::string name{};
    time begin{}, end{};
    timeline_colour colour = timeline_colour::work;
    /// Only this part, within the span, has the colour: before and behind it there was waiting.
    std::optional<timeline_part> active{};
    std::string detail{};  ///< shown below the name where a pointer rests
};

struct timeline {
    std::string title{};
    time begin{}, end{};  ///< the window: what lies outside is left out, what crosses its ends is cut there
    time cycle{};         ///< of the core, for a second axis; zero: no such axis
    std::vector<std::string> lanes{};  ///< from top to bottom; one without spans is drawn all the same
    std::vector<timeline_span> spans{};
};

/// The page: self-contained HTML, nothing is fetched, no script. Spans of one lane that overlap lie below each other in
/// the order of their beginnings, in lanes with many such rows thinly and without their names. Whatever a pointer rests
/// on shows its name, times and duration.
/// Requires: each span's lane exists, and ends are not before beginnings.
std::string timeline_html(const timeline& shown);

}  // namespace holdfast::sim
