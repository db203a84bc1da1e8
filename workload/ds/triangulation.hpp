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
#include <workload/private_memory.hpp>

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

/// A cavity, and the way to it: one thread's, in `Private` (own_memory). A plain structure that blocks reach by its
/// functions alone.
template <class Private = own_memory>
class mesh_cavity {
    using constant = const mesh_cavity*;

public:
    static constexpr std::uint64_t triangles_max = 510;  ///< usual are some ten

    /// A side, seen from inside, from corner to corner.
    struct side {
        packed_point from;
        packed_point to;
        mesh_triangle* inside;
        mesh_triangle* outside;  ///< nullptr: the square ends there
    };

    /// Makes it one triangle. Its sides are entered afterwards.
    void begin(mesh_triangle* start) {
        const auto made = [](mesh_cavity* all, mesh_triangle* first) {
            all->triangles_[0] = first;
            all->triangles_count_ = 1;
            all->sides_count_ = 0;
            all->pending_count_ = 0;
        };
        Private::directly(made, this, start);
    }

    /// Enters a side to be explored, before those that were entered earlier.
    void enter(packed_point from, packed_point to, mesh_triangle* inside, mesh_triangle* outside) {
        const auto add = [](mesh_cavity* all, packed_point a, packed_point b, mesh_triangle* in, mesh_triangle* out) {
            all->pending_[all->pending_count_++] = {a, b, in, out};
        };
        Private::directly(add, this, from, to, inside, outside);
    }
    bool is_explored() const {
        return Private::directly([](constant all) { return all->pending_count_ == 0; }, this);
    }
    /// The side that is explored next: one word of it, as all that blocks get from a call.
    template <class T>
    T next(T side::*word) const {
        return Private::directly([](constant all, T side::*of) { return all->pending_[all->pending_count_ - 1].*of; },
                                 this, word);
    }
    /// It is on the border.
    void put_on_border() {
        const auto put = [](mesh_cavity* all) {
            all->border_[all->sides_count_++] = all->pending_[--all->pending_count_];
        };
        Private::directly(put, this);
    }
    /// The triangle behind it belongs to the cavity. False: that is too large.
    bool take_in() {
        const auto taken = [](mesh_cavity* all) {
            if (all->triangles_count_ == triangles_max) return false;
            all->triangles_[all->triangles_count_++] = all->pending_[--all->pending_count_].outside;
            return true;
        };
        return Private::directly(taken, this);
    }

    std::uint64_t triangles() const {
        return Private::directly([](constant all) { return all->triangles_count_; }, this);
    }
    mesh_triangle* triangle(std::uint64_t i) const {
        return Private::directly([](constant all, std::uint64_t number) { return all->triangles_[number]; }, this, i);
    }

    /// How many are on the border, where they are in their order, counterclockwise.
    std::uint64_t sides() const {
        return Private::directly([](constant all) { return all->sides_count_; }, this);
    }
    template <class T>
    T border(std::uint64_t i, T side::*word) const {
        return Private::directly(
            [](constant all, std::uint64_t number, T side::*of) { return all->border_[number].*of; }, this, i, word);
    }
    /// A side that the square ends at and that `p` is too near to, or on: inside the circle around the side's middle.
    /// sides() if there is none.
    std::uint64_t crowded_by(packed_point p) const {
        const auto crowded = [](constant all, packed_point point) {
            std::uint64_t i = 0;
            for (; i < all->sides_count_; ++i) {
                const side& each = all->border_[i];
                if (each.outside == nullptr &&
                    is_in_diametral_circle(unpack(each.from), unpack(each.to), unpack(point)))
                    break;
            }
            return i;
        };
        return Private::directly(crowded, this, p);
    }

    /// The triangle of a side and the point; nullptr where the point is on it.
    mesh_triangle* made(std::uint64_t i) const {
        return Private::directly([](constant all, std::uint64_t number) { return all->made_[number]; }, this, i);
    }
    void set_made(std::uint64_t i, mesh_triangle* made) {
        const auto set = [](mesh_cavity* all, std::uint64_t number, mesh_triangle* one) { all->made_[number] = one; };
        Private::directly(set, this, i, made);
    }

private:
    mesh_triangle* triangles_[triangles_max];
    side border_[triangles_max + 2];
    mesh_triangle* made_[triangles_max + 2];
    side pending_[triangles_max + 2];
    std::uint64_t triangles_count_;
    std::uint64_t sides_count_;
    std::uint64_t pending_count_;
};

/// All: inside a transaction, or while no other thread uses it. Thread safety: that of the transactions.
///
/// Points come packed or by reference: g++ 12 may put a point that is passed by value together with barriers, in the
/// frame that a block begins in, and load it from there without.
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
        const plane_point point = p;
        for (mesh_triangle* here = at;;) {
            const plane_point corners[3]{corner(here, 0), corner(here, 1), corner(here, 2)};
            unsigned behind = 0;
            while (behind < 3 && !is_right_of(point, corners[side_after(behind)], corners[side_before(behind)]))
                ++behind;
            mesh_triangle* const next = behind == 3 ? nullptr : memory_.load(&here->beside[behind]);
            if (next == nullptr) {
                at = here;
                side = behind;
                return behind == 3;
            }
            here = next;
        }
    }

    /// The cavity of `p`, which is in `start`. False, and the cavity is of no use: it is too large, or `p` is a corner.
    template <class Private>
    bool dig(mesh_triangle* start, packed_point p, mesh_cavity<Private>& to) const {
        const packed_point a = memory_.load(&start->corners[0]), b = memory_.load(&start->corners[1]),
                           c = memory_.load(&start->corners[2]);
        if (!is_in_circle(unpack(a), unpack(b), unpack(c), unpack(p))) return false;
        to.begin(start);
        explore(to, start, 1, c, a);
        explore(to, start, 0, b, c);
        explore(to, start, 2, a, b);
        while (!to.is_explored())
            if (!dig_behind(p, to)) return false;
        return true;
    }

    /// Makes triangles of `p` and the sides of the cavity in place of those that were there, which nothing leads to
    /// afterwards: the caller frees them. Requires: the cavity is what dig() has made for `p`.
    template <class Private>
    void fill(packed_point p, mesh_cavity<Private>& cavity) const {
        using side = typename mesh_cavity<Private>::side;
        const std::uint64_t sides = cavity.sides();
        mesh_triangle* any = nullptr;
        for (std::uint64_t i = 0; i < sides; ++i) {
            const packed_point from = cavity.border(i, &side::from), to = cavity.border(i, &side::to);
            const bool splits = cavity.border(i, &side::outside) == nullptr &&
                                doubled_area(unpack(from), unpack(to), unpack(p)) == 0;
            mesh_triangle* const made = splits ? nullptr : make(p, from, to);
            cavity.set_made(i, made);
            if (!splits) any = made;
        }
        mesh_triangle* before = cavity.made(sides - 1);
        mesh_triangle* made = cavity.made(0);
        for (std::uint64_t i = 0; i < sides; ++i) {
            mesh_triangle* const next = cavity.made(i + 1 == sides ? 0 : i + 1);
            if (made != nullptr) {
                mesh_triangle* const outside = cavity.border(i, &side::outside);
                set_beside(made, outside, next, before);
                if (outside != nullptr) set_behind(outside, cavity.border(i, &side::to), made);
            }
            before = made;
            made = next;
        }
        const mesh_triangle* const entrance = memory_.load(&root_->entrance);
        for (std::uint64_t i = 0, all = cavity.triangles(); i < all; ++i)
            if (cavity.triangle(i) == entrance) enter_by(any);
    }

    /// Adds a point of the square, looking from `near` on, and frees what was in its place. A triangle that has it
    /// as a corner; `near` if it was there already, or if its cavity is too large.
    template <class Private>
    mesh_triangle* add(mesh_triangle* near, const plane_point& p, mesh_cavity<Private>& scratch) const {
        mesh_triangle* at = near;
        unsigned side = 0;
        if (!walk(at, side, p) || !dig(at, pack(p), scratch)) return near;
        fill(pack(p), scratch);
        for (std::uint64_t i = 0, all = scratch.triangles(); i < all; ++i) memory_.free(scratch.triangle(i));
        return scratch.made(0) != nullptr ? scratch.made(0) : scratch.made(1);
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
    template <class Private>
    void explore(mesh_cavity<Private>& to, mesh_triangle* inside, unsigned side, packed_point from,
                 packed_point until) const {
        to.enter(from, until, inside, memory_.load(&inside->beside[side]));
    }

    /// Takes the next side to explore: it is on the border, or what is behind it belongs to the cavity. False when that
    /// is too large.
    template <class Private>
    bool dig_behind(packed_point p, mesh_cavity<Private>& to) const {
        using side = typename mesh_cavity<Private>::side;
        mesh_triangle* const outside = to.next(&side::outside);
        if (outside == nullptr) return to.put_on_border(), true;
        const mesh_triangle* const inside = to.next(&side::inside);
        const packed_point from = to.next(&side::from), until = to.next(&side::to);
        unsigned behind = 0;
        while (behind < 2 && memory_.load(&outside->beside[behind]) != inside) ++behind;
        const packed_point apex = memory_.load(&outside->corners[behind]);
        if (!is_in_circle(unpack(apex), unpack(until), unpack(from), unpack(p))) return to.put_on_border(), true;
        if (!to.take_in()) return false;
        explore(to, outside, side_before(behind), apex, until);
        explore(to, outside, side_after(behind), from, apex);
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
