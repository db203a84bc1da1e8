// Where things lie on the page of a timeline: rows and pixels, no markup.
#pragma once

#include <sim/timeline/timeline.hpp>

#include <cstdint>

namespace holdfast::sim {

/// A span as it is drawn.
struct placed_span {
    const timeline_span* span = nullptr;
    std::uint64_t row = 0;  ///< of its lane
    double left = 0, width = 0;
    double active_left = 0, active_width = 0;  ///< all of it, if the span has no active part
};

struct placed_lane {
    std::vector<placed_span> spans{};
    std::uint64_t rows = 1;
    double row_pixels = 0;
};

struct timeline_layout {
    std::vector<placed_lane> lanes{};  ///< as many as the timeline's
    double pixels = 0;                 ///< how wide the window is
    double pixels_per_ps = 0;

    double position(time since_begin) const { return static_cast<double>(since_begin.picoseconds) * pixels_per_ps; }
};

timeline_layout lay_out(const timeline& shown);

/// The number of units from one tick to the next, such that ticks are at least `apart` pixels from each other: 1, 2 or
/// 5 times a power of ten. Requires: units have a width.
std::uint64_t tick_distance(double pixels_per_unit, double apart);

}  // namespace holdfast::sim
