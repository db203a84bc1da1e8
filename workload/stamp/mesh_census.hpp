// All triangles of a triangulation, found by going from each to those beside it, and what must hold of them.
#pragma once

#include <workload/ds/triangulation.hpp>
#include <workload/stamp/private_array.hpp>

namespace holdfast::workload {

/// While no other thread uses the triangulation, and as long as it is not changed.
template <access Access>
class mesh_census {
public:
    /// `entrance`: nullptr if there are none.
    mesh_census(Access memory, mesh_triangle* entrance) : memory_(memory), places_(128) {
        if (entrance != nullptr) add(entrance);
        for (std::uint64_t i = 0; i < count(); ++i)
            for (const auto& each : found_[i]->beside) {
                mesh_triangle* const other = memory_.load(&each);
                if (other != nullptr && number_of(other) == none) add(other);
            }
    }

    static constexpr std::uint64_t none = ~std::uint64_t{0};

    std::uint64_t count() const { return found_.count(); }
    mesh_triangle* operator[](std::uint64_t i) const { return found_[i]; }
    std::uint64_t number_of(const mesh_triangle* triangle) const {
        const std::uint64_t number = places_[place_of(triangle)];
        return number == 0 ? none : number - 1;
    }

    plane_point corner(std::uint64_t i, unsigned k) const { return unpack(memory_.load(&found_[i]->corners[k])); }

    /// Corners of triangles, by Euler's formula.
    std::uint64_t corners() const { return (count() + border_sides() + 2) / 2; }

    /// Triangles turn the right way, fit together side by side, and are as large as the square; no angle has a squared
    /// sine below `squared_sine`. Areas are exact. Angles are rounded, in another way than by who refines.
    check_report check(double squared_sine) const {
        check_report report;
        wide_integer area = 0;
        for (; report.count < count(); ++report.count) {
            const std::uint64_t i = report.count;
            const wide_integer part = area_of(i);
            if (part <= 0) return report.problem = "a triangle turns the wrong way", report;
            area += part;
            for (unsigned side = 0; side < 3; ++side) {
                if (!fits(i, side)) return report.problem = "two triangles do not share a side", report;
                if (squared_sine_at(i, side) < squared_sine * (1 - rounding))
                    return report.problem = "an angle is too small", report;
            }
        }
        if (area != 2 * static_cast<wide_integer>(plane_side) * plane_side) report.problem = "the area is another";
        return report;
    }

private:
    static constexpr double rounding = 1e-9;

    std::uint64_t place_of(const mesh_triangle* triangle) const {
        const std::uint64_t mask = places_.count() - 1;
        std::uint64_t at = (reinterpret_cast<std::uintptr_t>(triangle) * 0x9E3779B97F4A7C15ull >> 20) & mask;
        while (places_[at] != 0 && found_[places_[at] - 1] != triangle) at = (at + 1) & mask;
        return at;
    }

    void add(mesh_triangle* triangle) {
        found_.add(triangle);
        if (2 * count() <= places_.count()) {
            places_[place_of(triangle)] = count();
            return;
        }
        places_ = private_array<std::uint64_t>(2 * places_.count());
        for (std::uint64_t i = 0; i < count(); ++i) places_[place_of(found_[i])] = i + 1;
    }

    std::uint64_t border_sides() const {
        std::uint64_t sides = 0;
        for (const mesh_triangle* each : found_)
            for (const auto& beside : each->beside) sides += memory_.load(&beside) == nullptr ? 1u : 0u;
        return sides;
    }

    /// Twice.
    wide_integer area_of(std::uint64_t i) const {
        const plane_point a = corner(i, 0), b = corner(i, 1), c = corner(i, 2);
        return static_cast<wide_integer>(a.x) * (b.y - c.y) + static_cast<wide_integer>(b.x) * (c.y - a.y) +
               static_cast<wide_integer>(c.x) * (a.y - b.y);
    }

    /// Behind the side is a triangle that has the same side, or the side is a part of the square's.
    bool fits(std::uint64_t i, unsigned side) const {
        const plane_point from = corner(i, side_after(side)), to = corner(i, side_before(side));
        const mesh_triangle* const other = memory_.load(&found_[i]->beside[side]);
        if (other == nullptr)
            return (from.x == to.x && (to.x == 0 || to.x == plane_side)) ||
                   (from.y == to.y && (to.y == 0 || to.y == plane_side));
        const std::uint64_t number = number_of(other);
        for (unsigned k = 0; k < 3; ++k)
            if (memory_.load(&other->beside[k]) == found_[i] && corner(number, side_after(k)) == to &&
                corner(number, side_before(k)) == from)
                return true;
        return false;
    }

    double squared_sine_at(std::uint64_t i, unsigned k) const {
        const plane_point at = corner(i, k), a = corner(i, side_after(k)), b = corner(i, side_before(k));
        const auto ax = static_cast<double>(a.x - at.x), ay = static_cast<double>(a.y - at.y);
        const auto bx = static_cast<double>(b.x - at.x), by = static_cast<double>(b.y - at.y);
        const double across = ax * by - ay * bx;
        return across * across / ((ax * ax + ay * ay) * (bx * bx + by * by));
    }

    Access memory_;
    private_list<mesh_triangle*> found_;
    private_array<std::uint64_t> places_;  ///< numbers plus 1, by the triangles' addresses; 2^n, half unused
};

}  // namespace holdfast::workload
