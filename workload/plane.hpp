// Points of a square with whole coordinates, and what a triangulation asks about them.
//
// Orientation and circle are exact: coordinates of the square are below 2^30, so that the difference of two is below
// 2^30, and the sum of two products of these below 2^61 in magnitude: 64 bits. The circle is a sum of three products of
// two such numbers: below 2^124, for which 128 bits are enough. No division, no rounding.
#pragma once

#include <cstdint>

namespace holdfast::workload {

/// The side of the square, from 0 on.
inline constexpr std::int64_t plane_side = (std::int64_t{1} << 30) - 1;

struct plane_point {
    std::int64_t x;
    std::int64_t y;
    constexpr bool operator==(const plane_point&) const = default;
};

/// A point of the square as one word.
using packed_point = std::uint64_t;
constexpr packed_point pack(const plane_point& from) noexcept {
    return static_cast<std::uint64_t>(from.x) << 32 | static_cast<std::uint64_t>(from.y);
}
constexpr plane_point unpack(packed_point from) noexcept {
    return {static_cast<std::int64_t>(from >> 32), static_cast<std::int64_t>(from & 0xFFFFFFFFu)};
}

__extension__ using wide_integer = __int128;

constexpr bool is_in_square(const plane_point& a) noexcept {
    return a.x >= 0 && a.y >= 0 && a.x <= plane_side && a.y <= plane_side;
}

/// Twice the area of a triangle: positive if its corners come counterclockwise, 0 if they lie on a line.
constexpr std::int64_t doubled_area(const plane_point& a, const plane_point& b, const plane_point& c) noexcept {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/// Whether `p` is strictly on the right of the line from a to b. `p` may be as far away as far_away.
inline constexpr std::int64_t far_away = std::int64_t{1} << 60;
constexpr bool is_right_of(const plane_point& p, const plane_point& a, const plane_point& b) noexcept {
    return static_cast<wide_integer>(b.x - a.x) * (p.y - a.y) < static_cast<wide_integer>(b.y - a.y) * (p.x - a.x);
}

/// Whether `p` is strictly inside the circle through the corners of a triangle, which come counterclockwise.
constexpr bool is_in_circle(const plane_point& a, const plane_point& b, const plane_point& c,
                            const plane_point& p) noexcept {
    const plane_point d{a.x - p.x, a.y - p.y}, e{b.x - p.x, b.y - p.y}, f{c.x - p.x, c.y - p.y};
    const wide_integer determinant =
        static_cast<wide_integer>(d.x * d.x + d.y * d.y) * (e.x * f.y - e.y * f.x) +
        static_cast<wide_integer>(e.x * e.x + e.y * e.y) * (f.x * d.y - f.y * d.x) +
        static_cast<wide_integer>(f.x * f.x + f.y * f.y) * (d.x * e.y - d.y * e.x);
    return determinant > 0;
}

/// Whether `p` is strictly inside the circle that has the segment from a to b as a diameter: it sees the segment under
/// an obtuse angle.
constexpr bool is_in_diametral_circle(const plane_point& a, const plane_point& b, const plane_point& p) noexcept {
    return (a.x - p.x) * (b.x - p.x) + (a.y - p.y) * (b.y - p.y) < 0;
}

constexpr std::int64_t squared_length(const plane_point& a, const plane_point& b) noexcept {
    return (b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y);
}

/// The squared sine of the smallest angle of a triangle, rounded. The same on every machine: nothing is added.
constexpr double squared_smallest_sine(const plane_point& a, const plane_point& b, const plane_point& c) noexcept {
    const auto ab = static_cast<double>(squared_length(a, b));
    const auto bc = static_cast<double>(squared_length(b, c));
    const auto ca = static_cast<double>(squared_length(c, a));
    const auto area = static_cast<double>(doubled_area(a, b, c));
    // The smallest angle lies between the two longer sides.
    const double sides = ab <= bc && ab <= ca ? bc * ca : bc <= ca ? ca * ab : ab * bc;
    return area * area / sides;
}

/// Between two points of the square. On each side of the square it is exact.
constexpr plane_point middle_of(const plane_point& a, const plane_point& b) noexcept {
    return {(a.x + b.x) / 2, (a.y + b.y) / 2};
}

/// The center of the circle through the corners of a triangle, which come counterclockwise, off by less than 1 in each
/// coordinate. What is further away than far_away is moved nearer in the same direction.
constexpr plane_point circle_center(const plane_point& a, const plane_point& b, const plane_point& c) noexcept {
    const plane_point ab{b.x - a.x, b.y - a.y}, ac{c.x - a.x, c.y - a.y};
    const std::int64_t to_b = squared_length(a, b), to_c = squared_length(a, c);
    const wide_integer divisor = 2 * static_cast<wide_integer>(doubled_area(a, b, c));
    wide_integer x = (static_cast<wide_integer>(to_b) * ac.y - static_cast<wide_integer>(to_c) * ab.y) / divisor;
    wide_integer y = (static_cast<wide_integer>(to_c) * ab.x - static_cast<wide_integer>(to_b) * ac.x) / divisor;
    constexpr std::int64_t furthest = far_away - plane_side;
    while (x > furthest || x < -furthest || y > furthest || y < -furthest) {
        x /= 2;
        y /= 2;
    }
    return {a.x + static_cast<std::int64_t>(x), a.y + static_cast<std::int64_t>(y)};
}

}  // namespace holdfast::workload
