// A Delaunay triangulation of a square: no corner is strictly inside the circle through the corners of a triangle.
//
// A point is added by its cavity (A. Bowyer, D. F. Watson, both in The Computer Journal 24, 1981):
//
//   1  From any triangle, walk to the one that has the point: over a side that the point is behind, again and again.
//      In a Delaunay triangulation this ends, whichever of two sides is taken.
//   2  The triangles whose circles have the point strictly inside are the cavity. They are connected, and the point is
//      in one of them.
//   3  The cavity is emptied, and each side of its border becomes a triangle with the point.
//
// This cannot fail, since all predicates are exact (workload/plane.hpp). Let a side of the border have triangle C of
// the cavity in front and T behind. If the point were behind that side or on it, it would be in the part of C's circle
// that is there, which is inside T's circle, and T would belong to the cavity. So each new triangle turns the right
// way. A side of the square has nothing behind it: a point on it splits it. No corner is inside the cavity; so no way
// leads around one, and a search that never turns back finds each triangle once, and the border in its order.
#pragma once

#include <workload/access.hpp>
#include <workload/plane.hpp>

namespace holdfast::workload {

/// Side i is opposite corner i. A line of memory.
struct mesh_triangle {
    packed_point corners[3];   ///< counterclockwise
    mesh_triangle* beside[3];  ///< behind each side; nullptr: the square ends there
    double rank;               ///< its user's, as the note is; 0 at first
    std::uint64_t note;
};

/// The shared part. All zero: no triangulation.
struct triangulation_root {
    mesh_triangle* entrance;  ///< any triangle
};

constexpr unsigned side_after(unsigned side) noexcept { return side == 2 ? 0 : side + 1; }
constexpr unsigned side_before(unsigned side) noexcept { return side == 0 ? 2 : side - 1; }

/// A cavity. Private: one thread's.
struct mesh_cavity {
    static constexpr std::uint64_t triangles_max = 510;  ///< usual are some ten

    /// A side, seen from inside, from corner to corner.
    struct side {
        packed_point from;
        packed_point to;
        mesh_triangle* outside;  ///< nullptr: the square ends there
    };
    struct unexplored {
        side at;
        mesh_triangle* inside;
    };

    mesh_triangle* triangles[triangles_max];
    side border[triangles_max + 2];          ///< in its order, counterclockwise
    mesh_triangle* made[triangles_max + 2];  ///< for each side of the border; nullptr where the point is on it
    unexplored pending[triangles_max + 2];
    std::uint64_t triangles_count;
    std::uint64_t sides_count;
    std::uint64_t pending_count;
};

/// All: inside a transaction, or while no other thread uses it. Thread safety: that of the transactions.
template <access Access>
class triangulation {
public:
    triangulation(Access memory, triangulation_root* root) noexcept : memory_(memory), root_(root) {}

    /// The square as two triangles. Requires: the root is all zero.
    void create() const {
        const packed_point origin = pack({0, 0}), right = pack({plane_side, 0});
        const packed_point top = pack({plane_side, plane_side}), left = pack({0, plane_side});
        mesh_triangle* const below = make(origin, right, top);
        mesh_triangle* const above = make(origin, top, left);
        set_beside(below, nullptr, above, nullptr);
        set_beside(above, nullptr, nullptr, below);
        enter_by(below);
    }

    mesh_triangle* entrance() const { return memory_.load(&root_->entrance); }
    /// Also for triangles that make() and set_beside() have put together.
    void enter_by(mesh_triangle* any) const { memory_.store(&root_->entrance, any); }

    plane_point corner(const mesh_triangle* of, unsigned i) const { return unpack(memory_.load(&of->corners[i])); }

    /// The triangle that has `p`, from `at` on. False: `p` is outside of the square, and the way to it ends behind side
    /// `side` of `at`. Requires: no coordinate of `p` is further away than far_away.
    bool walk(mesh_triangle*& at, unsigned& side, const plane_point& p) const {
        for (bool moved = true; moved;) {
            moved = false;
            const plane_point corners[3]{corner(at, 0), corner(at, 1), corner(at, 2)};
            for (unsigned i = 0; i < 3 && !moved; ++i) {
                if (!is_right_of(p, corners[side_after(i)], corners[side_before(i)])) continue;
                mesh_triangle* const next = memory_.load(&at->beside[i]);
                side = i;
                if (next == nullptr) return false;
                at = next;
                moved = true;
            }
        }
        return true;
    }

    /// The cavity of `p`, which is in `start`. False, and the cavity is of no use: it is too large, or `p` is a corner.
    bool dig(mesh_triangle* start, const plane_point& p, mesh_cavity& to) const {
        to.triangles_count = 0;
        to.sides_count = 0;
        to.pending_count = 0;
        const packed_point a = memory_.load(&start->corners[0]), b = memory_.load(&start->corners[1]),
                           c = memory_.load(&start->corners[2]);
        if (!is_in_circle(unpack(a), unpack(b), unpack(c), p)) return false;
        to.triangles[to.triangles_count++] = start;
        explore(to, start, 1, c, a);
        explore(to, start, 0, b, c);
        explore(to, start, 2, a, b);
        while (to.pending_count != 0)
            if (!dig_behind(p, to)) return false;
        return true;
    }

    /// Makes triangles of `p` and the sides of the cavity in place of those that were there, which nothing leads to
    /// afterwards: the caller frees them. Requires: the cavity is what dig() has made for `p`.
    void fill(const plane_point& p, mesh_cavity& cavity) const {
        const packed_point center = pack(p);
        mesh_triangle* any = nullptr;
        for (std::uint64_t i = 0; i < cavity.sides_count; ++i) {
            const mesh_cavity::side& side = cavity.border[i];
            const bool splits = side.outside == nullptr && doubled_area(unpack(side.from), unpack(side.to), p) == 0;
            cavity.made[i] = splits ? nullptr : make(center, side.from, side.to);
            if (!splits) any = cavity.made[i];
        }
        for (std::uint64_t i = 0; i < cavity.sides_count; ++i) {
            if (cavity.made[i] == nullptr) continue;
            const std::uint64_t next = i + 1 == cavity.sides_count ? 0 : i + 1;
            const std::uint64_t before = i == 0 ? cavity.sides_count - 1 : i - 1;
            const mesh_cavity::side& side = cavity.border[i];
            set_beside(cavity.made[i], side.outside, cavity.made[next], cavity.made[before]);
            if (side.outside != nullptr) set_behind(side.outside, side.to, cavity.made[i]);
        }
        const mesh_triangle* const entrance = memory_.load(&root_->entrance);
        for (std::uint64_t i = 0; i < cavity.triangles_count; ++i)
            if (cavity.triangles[i] == entrance) enter_by(any);
    }

    /// Adds a point of the square, looking from `near` on, and frees what was in its place. A triangle that has it
    /// as a corner; `near` if it was there already, or if its cavity is too large.
    mesh_triangle* add(mesh_triangle* near, const plane_point& p, mesh_cavity& scratch) const {
        mesh_triangle* at = near;
        unsigned side = 0;
        if (!walk(at, side, p) || !dig(at, p, scratch)) return near;
        fill(p, scratch);
        for (std::uint64_t i = 0; i < scratch.triangles_count; ++i) memory_.free(scratch.triangles[i]);
        return scratch.made[0] != nullptr ? scratch.made[0] : scratch.made[1];
    }

    /// A triangle with nothing beside it yet.
    mesh_triangle* make(packed_point a, packed_point b, packed_point c) const {
        auto* const made = static_cast<mesh_triangle*>(memory_.allocate(sizeof(mesh_triangle)));
        memory_.will_write(made);
        memory_.store(&made->corners[0], a);
        memory_.store(&made->corners[1], b);
        memory_.store(&made->corners[2], c);
        memory_.store(&made->rank, 0.0);
        memory_.store(&made->note, 0);
        return made;
    }
    void set_beside(mesh_triangle* of, mesh_triangle* a, mesh_triangle* b, mesh_triangle* c) const {
        memory_.store(&of->beside[0], a);
        memory_.store(&of->beside[1], b);
        memory_.store(&of->beside[2], c);
    }

private:
    void explore(mesh_cavity& to, mesh_triangle* inside, unsigned side, packed_point from, packed_point until) const {
        mesh_cavity::unexplored& next = to.pending[to.pending_count++];
        next.at.from = from;
        next.at.to = until;
        next.at.outside = memory_.load(&inside->beside[side]);
        next.inside = inside;
    }

    /// Takes the next side to explore: it is on the border, or what is behind it belongs to the cavity. False when that
    /// is too large.
    bool dig_behind(const plane_point& p, mesh_cavity& to) const {
        mesh_cavity::unexplored& last = to.pending[--to.pending_count];
        const packed_point from = last.at.from, until = last.at.to;
        mesh_triangle* const outside = last.at.outside;
        const mesh_triangle* const inside = last.inside;
        if (outside != nullptr) {
            unsigned side = 0;
            while (side < 2 && memory_.load(&outside->beside[side]) != inside) ++side;
            const packed_point apex = memory_.load(&outside->corners[side]);
            if (is_in_circle(unpack(apex), unpack(until), unpack(from), p)) {
                if (to.triangles_count == mesh_cavity::triangles_max) return false;
                to.triangles[to.triangles_count++] = outside;
                explore(to, outside, side_before(side), apex, until);
                explore(to, outside, side_after(side), from, apex);
                return true;
            }
        }
        mesh_cavity::side& found = to.border[to.sides_count++];
        found.from = from;
        found.to = until;
        found.outside = outside;
        return true;
    }

    /// Puts another triangle behind the side of `of` that begins with `from`.
    void set_behind(mesh_triangle* of, packed_point from, mesh_triangle* made) const {
        unsigned side = 0;
        while (side < 2 && memory_.load(&of->corners[side_after(side)]) != from) ++side;
        memory_.store(&of->beside[side], made);
    }

    Access memory_;
    triangulation_root* root_;
};

}  // namespace holdfast::workload
