// STAMP's yada: a triangulation is refined until no triangle has an angle that is too small. Algorithm: J. Ruppert, "A
// Delaunay Refinement Algorithm for Quality 2-Dimensional Mesh Generation", Journal of Algorithms 18, 1995.
//
//   1  A thread takes the worst triangle from the queue, a transaction. First come those with a side on the border that
//      a corner is too near to: that is inside the circle around this side's middle.
//   2  A second transaction adds the center of the triangle's circle as a corner. If that is too near to a side on the
//      border, it adds the middle of this side instead. It finds the cavity of the new corner, takes those triangles
//      away, puts new ones in their place, and enters the bad ones of them into the queue.
//   3  A triangle that waits in the queue when it is taken away stays there, marked, for whoever takes it.
//
// Shared are the triangles and the queue. Private are the cavities. Each transaction changes the queue, and cavities
// that touch each other meet, too.
//
// Where the shared data outlive the process, each thread notes the triangle that it has taken, and what it has added,
// in the transactions that do so. A resumed run puts the taken triangles back into the queue and goes on.
//
// It ends: Ruppert's proof is for angles of up to 20.7 degrees and borders without acute angles. New corners have whole
// coordinates, so they are not exactly where they should be, but a thousand times nearer to that than to the next
// corner; and what is decided about them is exact (workload/ds/triangulation.hpp). The border's middles lie on it
// exactly, since the border is a square: so the area remains.
//
// A transaction loads 68.7 and stores 22.1 words on average, and 99 percent of the time are in transactions (one
// thread, `value`). In the published table they are long, have large sets, take all of the time and meet sometimes.
#pragma once

#include <workload/ds/heap.hpp>
#include <workload/ds/triangulation.hpp>
#include <workload/gen/planar_points.hpp>
#include <workload/plain_access.hpp>
#include <workload/stamp/frame.hpp>
#include <workload/stamp/mesh_census.hpp>
#include <workload/stamp/notes.hpp>
#include <workload/stamp/private_array.hpp>

namespace holdfast::workload {

template <access Access, class Private = own_memory>
class yada_program;

/// The letters in brackets are STAMP's. Its inputs are files; ours have about as many points.
struct yada_parameters {
    template <class Access>
    using program = yada_program<Access>;

    double angle_degrees = 20;   ///< (a) the smallest that may remain
    std::uint64_t points = 633;  ///< (i)
    std::uint64_t seed = 1;
};

inline constexpr stamp_set<yada_parameters> yada_sets[]{
    {"yada", "small", {}},
    {"yada", "+", {.angle_degrees = 10, .points = 10000}},
    {"yada", "++", {.angle_degrees = 15, .points = 1000000}},
};

/// Of a thread, on a line of its own.
struct yada_note {
    mesh_triangle* taken;   ///< from the queue, and not refined yet
    std::uint64_t points;   ///< added
    std::uint64_t refused;  ///< triangles for which there is no point
    std::uint64_t unused[5];
};

/// On lines of their own.
struct yada_root {
    alignas(64) triangulation_root mesh;
    alignas(64) vector_root<mesh_triangle*> waiting;
    /// All triangles, while the mesh is made or taken away, and cannot be entered.
    alignas(64) vector_root<mesh_triangle*> all;
    yada_note* notes;
    std::uint64_t threads;  ///< that have one
};

/// The lower rank comes first.
template <access Access>
class yada_order {
public:
    explicit yada_order(Access memory) noexcept : memory_(memory) {}
    bool operator()(const mesh_triangle* a, const mesh_triangle* b) const {
        return memory_.load(&a->rank) < memory_.load(&b->rank);
    }

private:
    Access memory_;
};

/// `Private`: where the cavities are (own_memory).
template <access Access, class Private>
class yada_program {
public:
    using root_type = yada_root;
    static constexpr const char* unit = "triangle";

    yada_program(Access memory, yada_root* root, const yada_parameters& given)
        : memory_(memory),
          root_(root),
          mesh_(memory, &root->mesh),
          waiting_(memory, &root->waiting, yada_order<Access>(memory)),
          all_(memory, &root->all),
          notes_(memory, &root->notes),
          squared_sine_(__builtin_sin(given.angle_degrees * degree) * __builtin_sin(given.angle_degrees * degree)) {
        make_input(given);
    }

    bool begin(std::uint64_t threads) {
        make_private(threads);
        const private_array<mesh_triangle*> made(input_.count());
        const auto beside = [&](std::uint64_t i, unsigned side) {
            const std::uint64_t other = input_[i].beside[side];
            return other == nothing ? nullptr : made[other];
        };
        const auto make = [&](std::uint64_t i) {
            const packed_point* const corners = input_[i].corners;
            mesh_triangle* const one = mesh_.make(corners[0], corners[1], corners[2]);
            all_.push_back(one);
            made[i] = one;
        };
        const auto connect = [&](std::uint64_t i) {
            mesh_.set_beside(made[i], beside(i, 0), beside(i, 1), beside(i, 2));
        };
        const auto enqueue = [&](std::uint64_t i) { enqueue_if_bad(made[i]); };
        const stamp_part all{0, made.count()};
        const bool good = each_few(memory_, all, at_once, make) && each_few(memory_, all, at_once, connect) &&
                          each_few(memory_, all, at_once, enqueue) && memory_.atomically([&] {
                              notes_.create(threads);
                              memory_.store(&root_->threads, threads);
                              mesh_.enter_by(made[0]);
                              all_.dispose();
                          });
        if (!good) static_cast<void>(end());
        return good;
    }

    bool resume(std::uint64_t threads) {
        make_private(threads);
        bool good = true;
        for (std::uint64_t i = 0; good && i < threads; ++i) {
            yada_note* const note = notes_.note_of(i);
            good = memory_.atomically([&] { put_back(note); });
            done_[i].points = memory_.load(&note->points);
            done_[i].refused = memory_.load(&note->refused);
        }
        return good;
    }

    /// The mesh is one, whatever its angles are, and has the corners that were noted; the queue is in order.
    check_report look() const {
        const mesh_census<Access> all(memory_, mesh_.entrance());
        check_report report = all.check(0);
        std::uint64_t points = input_points_;
        if constexpr (notes_type::are_kept) {
            const std::uint64_t threads = memory_.load(&root_->threads);
            for (std::uint64_t i = 0; i < threads; ++i) points += memory_.load(&notes_.note_of(i)->points);
            if (report.ok() && all.corners() != points) report.problem = "the mesh has other corners than were noted";
        }
        if (report.ok()) report.problem = waiting_.check().problem;
        return report;
    }

    template <class Thread>
    void work(Thread& me) {
        mesh_cavity<Private>* const cavity = &cavities_[me.number()];
        work_of_thread& mine = done_[me.number()];
        yada_note* const note = notes_.note_of(me.number());
        while (!me.failed()) {
            mesh_triangle* taken = nullptr;
            if (!me.atomically(memory_, [=, this, &taken] { taken = take(note); }) || taken == nullptr) return;
            mesh_triangle* const bad = taken;
            outcome how = outcome::needless;
            const bool good = me.atomically(memory_, [=, this, &how] {
                const outcome found = refine(bad, *cavity);
                if constexpr (notes_type::are_kept) note_refined(note, found);
                how = found;
            });
            if (!good) mine.left = bad;
            if (how == outcome::refused) ++mine.refused;
            if (how != outcome::added) continue;
            ++mine.points;
            Private::inside(memory_, [&] {
                for (std::uint64_t i = 0; i < cavity->sides(); ++i)
                    if (cavity->made(i) != nullptr) ++mine.made;
            });
        }
    }

    /// Triangles that the last run made.
    std::uint64_t units() const {
        std::uint64_t made = 0;
        for (const work_of_thread& each : done_) made += each.made;
        return made;
    }

    /// What a mesh_census checks, no bad triangle waits, and there is each corner that was added.
    check_report check() const {
        check_report report;
        std::uint64_t points = input_points_;
        for (const work_of_thread& each : done_) {
            points += each.points;
            if (each.refused != 0) return report.problem = "a triangle could not be refined", report;
        }
        if (!waiting_.empty()) return report.problem = "a triangle was left in the queue", report;
        const mesh_census<Access> all(memory_, mesh_.entrance());
        report = all.check(squared_sine_);
        if (report.ok() && all.corners() != points) report.problem = "a corner was lost, or came twice";
        return report;
    }

    std::uint64_t hash() const {
        stamp_hash corners;
        const mesh_census<Access> all(memory_, mesh_.entrance());
        for (std::uint64_t i = 0; i < all.count(); ++i)
            for (unsigned k = 0; k < 3; ++k) corners.add(pack(all.corner(i, k)));
        return corners.value();
    }

    /// First all triangles are found, while the mesh is whole, and then they go. So it can be done again from anywhere.
    bool end() {
        const mesh_census<Access> found(memory_, mesh_.entrance());
        bool good = free_gone(), any = true;
        const auto enter = [&](std::uint64_t i) { all_.push_back(found[i]); };
        if (good && found.count() != 0)
            good = memory_.atomically([&] { all_.clear(); }) &&
                   each_few(memory_, {0, found.count()}, at_once, enter) &&
                   memory_.atomically([&] { mesh_.enter_by(nullptr); });
        while (good && any) good = memory_.atomically([&] { any = free_some(); });
        return good && memory_.atomically([&] {
            all_.dispose();
            waiting_.dispose();
            notes_.dispose();
            memory_.store(&root_->threads, 0);
        });
    }

private:
    static constexpr double degree = 3.14159265358979323846 / 180;
    static constexpr std::uint64_t nothing = ~std::uint64_t{0};
    static constexpr packed_point no_point = ~packed_point{0};
    static constexpr std::uint64_t at_once = 64;  ///< triangles in a transaction of begin and end

    /// A triangle's note.
    enum state : std::uint64_t {
        in_mesh = 0,
        in_queue = 1,
        gone = 2,  ///< from the mesh, and still in the queue
    };
    enum class outcome { needless, added, refused };

    using notes_type = stamp_notes<Access, yada_note>;

    struct input_triangle {
        packed_point corners[3];
        std::uint64_t beside[3];  ///< numbers
    };
    struct alignas(64) work_of_thread {
        std::uint64_t points;   ///< added
        std::uint64_t made;     ///< triangles
        std::uint64_t refused;  ///< triangles for which there is no point
        mesh_triangle* left;    ///< taken from the queue, and then a transaction failed; nullptr: none
    };

    void make_private(std::uint64_t threads) {
        done_ = private_array<work_of_thread>(threads);
        cavities_ = private_array<mesh_cavity<Private>, Private>(threads);
    }

    void make_input(const yada_parameters& given) {
        const plain_access plain;
        triangulation_root root{};
        const triangulation<plain_access> mesh(plain, &root);
        const private_array<mesh_cavity<>> cavity(1);
        mesh.create();
        mesh_triangle* near = mesh.entrance();
        planar_points(given.seed, given.points).each([&](const plane_point& each) {
            near = mesh.add(near, each, cavity[0]);
        });
        const mesh_census<plain_access> all(plain, mesh.entrance());
        input_ = private_array<input_triangle>(all.count());
        input_points_ = all.corners();
        for (std::uint64_t i = 0; i < all.count(); ++i)
            for (unsigned k = 0; k < 3; ++k) {
                const mesh_triangle* const beside = all[i]->beside[k];
                input_[i].corners[k] = all[i]->corners[k];
                input_[i].beside[k] = beside == nullptr ? nothing : all.number_of(beside);
            }
        for (std::uint64_t i = 0; i < all.count(); ++i) plain.free(all[i]);
    }

    /// After a run in which a transaction failed: triangles that are gone from the mesh, and that nobody came to.
    bool free_gone() {
        bool good = true;
        for (work_of_thread& each : done_) {
            mesh_triangle* const left = each.left;
            each.left = nullptr;
            if (left != nullptr) good = good && memory_.atomically([&] { free_if_gone(left); });
        }
        for (bool any = true; good && any;) good = memory_.atomically([&] { any = free_waiting(); });
        return good;
    }

    /// A side on the border that the corner opposite is too near to; 3 if there is none. No other corner can be too
    /// near if this one is not, in a Delaunay triangulation.
    unsigned crowded_side(const mesh_triangle* of) const {
        for (unsigned i = 0; i < 3; ++i)
            if (memory_.load(&of->beside[i]) == nullptr &&
                is_in_diametral_circle(mesh_.corner(of, side_after(i)), mesh_.corner(of, side_before(i)),
                                       mesh_.corner(of, i)))
                return i;
        return 3;
    }

    void enqueue_if_bad(mesh_triangle* triangle) const {
        double rank = -1;
        if (crowded_side(triangle) == 3) {
            rank = squared_smallest_sine(mesh_.corner(triangle, 0), mesh_.corner(triangle, 1),
                                         mesh_.corner(triangle, 2));
            if (rank >= squared_sine_) return;
        }
        memory_.store(&triangle->rank, rank);
        enqueue(triangle);
    }
    void enqueue(mesh_triangle* triangle) const {
        memory_.store(&triangle->note, in_queue);
        waiting_.push(triangle);
    }

    /// Digs the cavity of the point to be added for a triangle, which it returns; no_point: there is none.
    packed_point dig(mesh_triangle* bad, mesh_cavity<Private>& cavity) const {
        mesh_triangle* at = bad;
        unsigned side = crowded_side(bad);
        if (side == 3) {
            const plane_point center =
                circle_center(mesh_.corner(bad, 0), mesh_.corner(bad, 1), mesh_.corner(bad, 2));
            if (mesh_.walk(at, side, center)) {
                const packed_point found = pack(center);
                if (!mesh_.dig(at, found, cavity)) return no_point;
                const std::uint64_t crowded = cavity.crowded_by(found);
                if (crowded == cavity.sides()) return found;
                const plane_point middle = middle_of(unpack(cavity.border(crowded, &mesh_cavity<Private>::side::from)),
                                                     unpack(cavity.border(crowded, &mesh_cavity<Private>::side::to)));
                mesh_.walk(at, side, middle);
                return mesh_.dig(at, pack(middle), cavity) ? pack(middle) : no_point;
            }
        }
        const packed_point middle =
            pack(middle_of(mesh_.corner(at, side_after(side)), mesh_.corner(at, side_before(side))));
        return mesh_.dig(at, middle, cavity) ? middle : no_point;
    }

    /// Inside a transaction, as all that follow. Takes the worst triangle. nullptr: there is none.
    mesh_triangle* take(yada_note* note) const {
        mesh_triangle* bad = nullptr;
        if (!waiting_.pop(bad)) return nullptr;
        if constexpr (notes_type::are_kept) memory_.store(&note->taken, bad);
        return bad;
    }
    void note_refined(yada_note* note, outcome how) const {
        memory_.store(&note->taken, nullptr);
        if (how == outcome::added) memory_.store(&note->points, memory_.load(&note->points) + 1);
        if (how == outcome::refused) memory_.store(&note->refused, memory_.load(&note->refused) + 1);
    }
    /// The triangle that a thread had taken when it died.
    void put_back(yada_note* note) const {
        mesh_triangle* const taken = memory_.load(&note->taken);
        if (taken == nullptr) return;
        memory_.store(&note->taken, nullptr);
        if (memory_.load(&taken->note) == gone) {
            memory_.free(taken);
        } else {
            waiting_.push(taken);
        }
    }
    void free_if_gone(mesh_triangle* triangle) const {
        if (memory_.load(&triangle->note) == gone) memory_.free(triangle);
    }
    /// One that waits, if it is gone. False if none waits.
    bool free_waiting() const {
        mesh_triangle* waits = nullptr;
        if (!waiting_.pop(waits)) return false;
        free_if_gone(waits);
        return true;
    }
    /// False if there were none.
    bool free_some() const {
        mesh_triangle* one = nullptr;
        std::uint64_t freed = 0;
        for (; freed < at_once && all_.pop_back(one); ++freed) memory_.free(one);
        return freed != 0;
    }

    /// A triangle that is not bad any more is gone.
    outcome refine(mesh_triangle* bad, mesh_cavity<Private>& cavity) const {
        const std::uint64_t was = memory_.load(&bad->note);
        if (was == gone) memory_.free(bad);
        if (was != in_queue) return outcome::needless;
        memory_.store(&bad->note, in_mesh);
        const packed_point point = dig(bad, cavity);
        if (point == no_point) return outcome::refused;
        mesh_.fill(point, cavity);
        bool remains = true;
        for (std::uint64_t i = 0, all = cavity.triangles(); i < all; ++i) {
            mesh_triangle* const each = cavity.triangle(i);
            remains = remains && each != bad;
            take_away(each);
        }
        for (std::uint64_t i = 0, all = cavity.sides(); i < all; ++i)
            if (mesh_triangle* const made = cavity.made(i); made != nullptr) enqueue_if_bad(made);
        if (remains) enqueue(bad);
        return outcome::added;
    }

    void take_away(mesh_triangle* triangle) const {
        if (memory_.load(&triangle->note) == in_queue) {
            memory_.store(&triangle->note, gone);
        } else {
            memory_.free(triangle);
        }
    }

    Access memory_;
    yada_root* root_;
    triangulation<Access> mesh_;
    heap<Access, mesh_triangle*, yada_order<Access>> waiting_;
    vector<Access, mesh_triangle*> all_;
    notes_type notes_;
    double squared_sine_;  ///< of the smallest angle that may remain
    private_array<input_triangle> input_;
    std::uint64_t input_points_ = 0;
    private_array<work_of_thread> done_;
    /// One for each thread, which keeps its memory from transaction to transaction.
    private_array<mesh_cavity<Private>, Private> cavities_;
};

}  // namespace holdfast::workload
