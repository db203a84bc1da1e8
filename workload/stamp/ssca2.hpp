// STAMP's ssca2: kernel 1 of HPCS SSCA#2, which makes a graph of a list of edges, as adjacency arrays: the edges that
// leave a vertex lie in a row. workload/ssca2.hpp has the same graph as linked edges, which can be removed again, for
// those who run kernel 1 for as long as they like; its transactions allocate, and these are the shortest there are.
//
//   1  Each thread counts its part of the edges at the vertices that they leave: a transaction for each edge.
//   2  When all are there, one of them adds up where each vertex's row begins.
//   3  Each thread puts its edges into the next free places of their rows: a transaction for each.
//
// Shared are the counts and the rows. Private are the list of edges, which R-MAT gives, and where rows begin. Two
// threads meet when they have an edge of the same vertex at the same time, and there are many vertices.
//
// Where the shared data outlive the process, each thread notes in its transactions how many edges it has counted and
// placed, and a resumed run goes on with the next one.
//
// A transaction loads 1 and stores 2 words on average, and 82 percent of the time are in transactions (one thread,
// `value`). In the published table they are short, have small sets, take little of the time and seldom meet.
#pragma once

#include <workload/rmat.hpp>
#include <workload/stamp/frame.hpp>
#include <workload/stamp/notes.hpp>
#include <workload/stamp/private_array.hpp>

namespace holdfast::workload {

template <access Access>
class ssca2_program;

struct ssca2_parameters {
    template <class Access>
    using program = ssca2_program<Access>;

    std::uint64_t scale = 13;  ///< (s) 2^s vertices
    std::uint64_t seed = 1;
};

inline constexpr stamp_set<ssca2_parameters> ssca2_sets[]{
    {"ssca2", "small", {.scale = 13}},
    {"ssca2", "+", {.scale = 14}},
    {"ssca2", "++", {.scale = 20}},
};

/// A vertex, of which both counts are 0 at first.
struct ssca2_row {
    std::uint64_t edges;   ///< that leave it
    std::uint64_t placed;  ///< of these
};

struct ssca2_target {
    std::uint64_t to;
    std::uint64_t weight;
};

/// Of a thread, on a line of its own.
struct ssca2_note {
    std::uint64_t counted;
    std::uint64_t placed;
    std::uint64_t unused[6];
};

struct ssca2_arrays_root {
    ssca2_row* rows;
    ssca2_target* targets;  ///< all rows, one behind the other
    ssca2_note* notes;
    std::uint64_t threads;  ///< that have one
};

template <access Access>
class ssca2_program {
public:
    using root_type = ssca2_arrays_root;

    ssca2_program(Access memory, ssca2_arrays_root* root, const ssca2_parameters& given)
        : memory_(memory),
          root_(root),
          notes_(memory, &root->notes),
          vertices_(std::uint64_t{1} << given.scale),
          edges_(vertices_ * rmat_generator::edges_per_vertex),
          first_of_(vertices_ + 1) {
        const rmat_generator generator(given.seed, given.scale);
        for (std::uint64_t i = 0; i < edges_.count(); ++i) edges_[i] = generator.edge(i);
    }

    bool begin(std::uint64_t threads) {
        const bool made = memory_.atomically([&] {
            notes_.create(threads);
            memory_.store(&root_->threads, threads);
            memory_.store(&root_->rows, static_cast<ssca2_row*>(memory_.allocate(vertices_ * sizeof(ssca2_row))));
            memory_.store(&root_->targets,
                          static_cast<ssca2_target*>(memory_.allocate(edges_.count() * sizeof(ssca2_target))));
        });
        return made && each_few(memory_, {0, vertices_}, 1024, [&](std::uint64_t i) {
            memory_.store(&row(i)->edges, 0);
            memory_.store(&row(i)->placed, 0);
        });
    }

    template <class Thread>
    void work(Thread& me) {
        const stamp_part mine = me.part_of(edges_.count());
        ssca2_note* const note = notes_.note_of(me.number());
        // Loaded once: a load outside of transactions has one of its own in some forms.
        ssca2_row* const rows = row(0);
        ssca2_target* const targets = memory_.load(&root_->targets);
        for (std::uint64_t i = counted(note); i < mine.last - mine.first && !me.failed(); ++i)
            count(me, rows, edges_[mine.first + i], note, i);
        me.wait();
        if (me.number() == 0) add_up();
        me.wait();
        for (std::uint64_t i = placed(note); i < mine.last - mine.first && !me.failed(); ++i)
            place(me, rows, targets, edges_[mine.first + i], note, i);
    }

    bool resume(std::uint64_t) { return true; }

    /// As many edges are in the rows as the notes say, and no row has more than were counted.
    check_report look() const {
        check_report report;
        std::uint64_t all_counted = 0, all_placed = 0;
        for (std::uint64_t i = 0; i < vertices_; ++i) {
            const std::uint64_t edges = memory_.load(&row(i)->edges), placed = memory_.load(&row(i)->placed);
            if (placed > edges) return report.problem = "more edges were placed than counted", report;
            all_counted += edges;
            all_placed += placed;
        }
        report.count = all_counted;
        if constexpr (notes_type::are_kept) {
            const std::uint64_t threads = memory_.load(&root_->threads);
            for (std::uint64_t i = 0; i < threads; ++i) {
                all_counted -= counted(notes_.note_of(i));
                all_placed -= placed(notes_.note_of(i));
            }
            if (all_counted != 0 || all_placed != 0) report.problem = "the rows have other edges than was noted";
        }
        return report;
    }

    /// Each row has the edges that a list of them in order of their vertices has there.
    check_report check() const {
        check_report report;
        private_array<ssca2_target> expected(edges_.count());
        private_array<std::uint64_t> next(vertices_ + 1);
        for (const weighted_edge& each : edges_) ++next[each.from + 1];
        for (std::uint64_t i = 0; i < vertices_; ++i) next[i + 1] += next[i];
        for (const weighted_edge& each : edges_) expected[next[each.from]++] = {each.to, each.weight};
        for (std::uint64_t i = 0; i < vertices_; ++i) {
            const std::uint64_t begin = i == 0 ? 0 : next[i - 1];  // each has moved to the end of its row
            const std::uint64_t count = next[i] - begin;
            if (memory_.load(&row(i)->edges) != count || memory_.load(&row(i)->placed) != count)
                return report.problem = "a row has another length", report;
            private_array<ssca2_target> found(count);
            for (std::uint64_t k = 0; k < count; ++k) found[k] = target(begin + k);
            sort(expected.data() + begin, count);
            sort(found.data(), count);
            for (std::uint64_t k = 0; k < count; ++k, ++report.count)
                if (found[k].to != expected[begin + k].to || found[k].weight != expected[begin + k].weight)
                    return report.problem = "an edge is not where it belongs", report;
        }
        return report;
    }

    std::uint64_t hash() const {
        stamp_hash all;
        for (std::uint64_t i = 0; i < edges_.count(); ++i) {
            all.add(target(i).to);
            all.add(target(i).weight);
        }
        return all.value();
    }

    bool end() {
        return memory_.atomically([&] {
            ssca2_row* const rows = memory_.load(&root_->rows);
            ssca2_target* const targets = memory_.load(&root_->targets);
            memory_.store(&root_->rows, nullptr);
            memory_.store(&root_->targets, nullptr);
            memory_.store(&root_->threads, 0);
            notes_.dispose();
            memory_.free(rows);
            memory_.free(targets);
        });
    }

private:
    using notes_type = stamp_notes<Access, ssca2_note>;

    ssca2_row* row(std::uint64_t vertex) const { return memory_.load(&root_->rows) + vertex; }
    ssca2_target target(std::uint64_t i) const {
        const ssca2_target* const at = memory_.load(&root_->targets) + i;
        return {memory_.load(&at->to), memory_.load(&at->weight)};
    }

    /// While all other threads wait.
    void add_up() {
        first_of_[0] = 0;
        for (std::uint64_t i = 0; i < vertices_; ++i) first_of_[i + 1] = first_of_[i] + memory_.load(&row(i)->edges);
    }

    std::uint64_t counted(const ssca2_note* note) const { return note != nullptr ? memory_.load(&note->counted) : 0; }
    std::uint64_t placed(const ssca2_note* note) const { return note != nullptr ? memory_.load(&note->placed) : 0; }

    /// `before`: how many edges this thread has counted.
    template <class Thread>
    void count(Thread& me, ssca2_row* rows, const weighted_edge& edge, ssca2_note* note, std::uint64_t before) const {
        std::uint64_t* const edges = &rows[edge.from].edges;
        me.atomically(memory_, [=, this] {
            memory_.store(edges, memory_.load(edges) + 1);
            if constexpr (notes_type::are_kept) memory_.store(&note->counted, before + 1);
        });
    }

    template <class Thread>
    void place(Thread& me, ssca2_row* rows, ssca2_target* targets, const weighted_edge& edge, ssca2_note* note,
               std::uint64_t before) const {
        std::uint64_t* const placed = &rows[edge.from].placed;
        ssca2_target* const first = targets + first_of_[edge.from];
        const std::uint64_t to = edge.to, weight = edge.weight;
        me.atomically(memory_, [=, this] {
            const std::uint64_t number = memory_.load(placed);
            memory_.store(placed, number + 1);
            memory_.will_write(first + number);
            memory_.store(&first[number].to, to);
            memory_.store(&first[number].weight, weight);
            if constexpr (notes_type::are_kept) memory_.store(&note->placed, before + 1);
        });
    }

    static bool is_before(const ssca2_target& a, const ssca2_target& b) noexcept {
        return a.to != b.to ? a.to < b.to : a.weight < b.weight;
    }

    /// By heaps, since a vertex may have most of the edges.
    static void sort(ssca2_target* all, std::uint64_t count) {
        for (std::uint64_t i = count / 2; i > 0; --i) sink(all, i - 1, count);
        for (std::uint64_t left = count; left > 1; --left) {
            const ssca2_target last = all[left - 1];
            all[left - 1] = all[0];
            all[0] = last;
            sink(all, 0, left - 1);
        }
    }
    static void sink(ssca2_target* all, std::uint64_t hole, std::uint64_t count) {
        const ssca2_target moved = all[hole];
        for (std::uint64_t below = 2 * hole + 1; below < count; below = 2 * hole + 1) {
            if (below + 1 < count && is_before(all[below], all[below + 1])) ++below;
            if (!is_before(moved, all[below])) break;
            all[hole] = all[below];
            hole = below;
        }
        all[hole] = moved;
    }

    Access memory_;
    ssca2_arrays_root* root_;
    notes_type notes_;
    std::uint64_t vertices_;
    private_array<weighted_edge> edges_;
    private_array<std::uint64_t> first_of_;  ///< in targets
};

}  // namespace holdfast::workload
