#include <sim/timeline/timeline_layout.hpp>

#include <algorithm>

namespace holdfast::sim {
namespace {

constexpr double pixels_least = 1200, pixels_most = 30'000;
constexpr double span_pixels = 40;  // what a typical span should have, to be seen and to have its name in it
constexpr double mark_pixels = 2;
constexpr double row_pixels_most = 18, row_pixels_least = 5;
constexpr double tall_lane_pixels = 24 * row_pixels_most;  // what has more rows gets thinner ones

bool is_in_window(const timeline& shown, const timeline_span& span) {
    return span.begin < shown.end && (span.begin >= shown.begin || span.end > shown.begin);
}

/// So wide that the median span can be read, as far as that is still a page.
double window_pixels(const timeline& shown) {
    const std::uint64_t window = shown.end.picoseconds - shown.begin.picoseconds;
    std::vector<std::uint64_t> durations;
    for (const timeline_span& each : shown.spans) {
        if (!is_in_window(shown, each) || each.end == each.begin) continue;
        durations.push_back((each.end - each.begin).picoseconds);
    }
    if (durations.empty()) return pixels_least;
    const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    const double wanted = static_cast<double>(window) / static_cast<double>(*middle) * span_pixels;
    return std::clamp(wanted, pixels_least, pixels_most);
}

/// Each span into the first row that is free again.
void assign_rows(placed_lane& lane) {
    // What begins together stays in the order in which it was given.
    std::sort(lane.spans.begin(), lane.spans.end(), [](const placed_span& a, const placed_span& b) {
        return a.left != b.left ? a.left < b.left : a.span < b.span;
    });
    std::vector<double> row_ends;
    for (placed_span& each : lane.spans) {
        const auto free = std::find_if(row_ends.begin(), row_ends.end(), [&](double end) { return end <= each.left; });
        each.row = static_cast<std::uint64_t>(free - row_ends.begin());
        if (free == row_ends.end()) row_ends.push_back(0);
        // Pixels are sums of fractions: neighbours that touch must not take two rows.
        row_ends[each.row] = each.left + each.width - 1e-6;
    }
    lane.rows = std::max<std::uint64_t>(1, row_ends.size());
    lane.row_pixels = std::clamp(tall_lane_pixels / static_cast<double>(lane.rows), row_pixels_least, row_pixels_most);
}

}  // namespace

timeline_layout lay_out(const timeline& shown) {
    timeline_layout made;
    made.lanes.resize(shown.lanes.size());
    made.pixels = window_pixels(shown);
    const std::uint64_t window = std::max<std::uint64_t>(1, shown.end.picoseconds - shown.begin.picoseconds);
    made.pixels_per_ps = made.pixels / static_cast<double>(window);
    for (const timeline_span& each : shown.spans) {
        if (!is_in_window(shown, each)) continue;
        const time begin = std::max(each.begin, shown.begin), end = std::min(each.end, shown.end);
        const double width = std::max(mark_pixels, made.position(end - begin));
        placed_span placed{&each, 0, made.position(begin - shown.begin), width, 0, 0};
        const time active_begin = each.active ? std::clamp(each.active->begin, begin, end) : begin;
        const time active_end = each.active ? std::clamp(each.active->end, begin, end) : end;
        placed.active_left = made.position(active_begin - shown.begin);
        placed.active_width = each.active ? made.position(active_end - active_begin) : width;
        made.lanes[each.lane].spans.push_back(placed);
    }
    for (placed_lane& lane : made.lanes) assign_rows(lane);
    return made;
}

std::uint64_t tick_distance(double pixels_per_unit, double apart) {
    for (std::uint64_t power = 1;; power *= 10) {
        for (const std::uint64_t factor : {1u, 2u, 5u}) {
            if (static_cast<double>(power * factor) * pixels_per_unit >= apart) return power * factor;
        }
    }
}

}  // namespace holdfast::sim
