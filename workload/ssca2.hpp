// The graph of HPCS SSCA#2, Graph Analysis (version 2.2, Bader and others, 2007): directed, weighted, scale-free.
//
//   kernel 1  constructs the graph from edge tuples: add_edge, a transaction for each
//   kernel 2  classifies large sets: finds the edges of the largest weight and keeps them as a list
//   kernel 3  extracts, for each of those, the vertices on all paths of up to three edges that begin with it
//   kernel 4  computes the betweenness centrality of vertices, from some of the sources
//
// Kernel 1 is here, the others are in ssca2_kernels.hpp. What they find is persistent; what a traversal needs on its
// way is not.
//
// Other than in the specification the graph may lose edges again: whoever adds the next graph's first edge and takes
// this one's away, and so on, has kernel 1 run for as long as he likes at the same footprint.
#pragma once

#include <workload/access.hpp>
#include <workload/rmat.hpp>

namespace holdfast::workload {

struct ssca2_edge {
    std::uint64_t to;
    std::uint64_t weight;
    std::uint64_t value;  ///< what the caller keeps with it: a number, or an address
    ssca2_edge* next;
};

struct ssca2_vertex {
    ssca2_edge* first;  ///< the oldest
    ssca2_edge* last;
    std::uint64_t degree;
    std::uint64_t score;  ///< kernel 4's, in units of 1 / ssca2_score_unit
};

/// An edge that kernel 2 found.
struct ssca2_large_edge {
    std::uint64_t from;
    std::uint64_t to;
    std::uint64_t number;  ///< 0, 1, … in the order in which they were found
    ssca2_large_edge* next;
};

/// The persistent part. All zero is a graph of no vertices, which create() makes usable.
struct ssca2_root {
    ssca2_vertex* vertices;
    std::uint64_t* subgraphs;  ///< kernel 3's, for each vertex: bit i is set if large edge i leads there
    std::uint64_t scale;
    ssca2_large_edge* large;   ///< the newest
    std::uint64_t large_count;
};

inline constexpr std::uint64_t ssca2_score_unit = 1 << 20;

/// The graph, and kernel 1.
///
/// add_edge and remove_edge: inside a transaction. Thread safety: none but that transactions on different vertices
/// (the `from` of an edge) do not meet.
template <access Access>
class ssca2_graph {
public:
    ssca2_graph(Access memory, ssca2_root* root) noexcept : memory_(memory), root_(root) {}

    /// Makes 2^scale vertices without edges, in transactions of its own.
    /// Requires: outside a transaction; the root all zero; scale from 1 to 32. False when a transaction failed.
    /// If the process dies inside, the graph still has no vertices: make the pool anew.
    bool create(std::uint64_t scale) const {
        const std::uint64_t vertices = std::uint64_t{1} << scale;
        ssca2_vertex* made = nullptr;
        std::uint64_t* subgraphs = nullptr;
        bool good = memory_.atomically([&] {
            made = static_cast<ssca2_vertex*>(memory_.allocate(vertices * sizeof(ssca2_vertex)));
            subgraphs = static_cast<std::uint64_t*>(memory_.allocate(vertices * sizeof(std::uint64_t)));
            memory_.store(&root_->vertices, made);
            memory_.store(&root_->subgraphs, subgraphs);
        });
        constexpr std::uint64_t batch = 1024;
        for (std::uint64_t first = 0; good && first < vertices; first += batch) {
            const std::uint64_t last = vertices - first < batch ? vertices : first + batch;
            good = memory_.atomically([&] {
                for (std::uint64_t i = first; i < last; ++i) {
                    memory_.store(&made[i].first, nullptr);
                    memory_.store(&made[i].last, nullptr);
                    memory_.store(&made[i].degree, 0);
                    memory_.store(&made[i].score, 0);
                    memory_.store(subgraphs + i, 0);
                }
            });
        }
        return good && memory_.atomically([&] { memory_.store(&root_->scale, scale); });
    }

    /// Kernel 1: one edge. There may be several from one vertex to another, and from a vertex to itself.
    void add_edge(const weighted_edge& added, std::uint64_t value) const {
        ssca2_vertex* const from = vertex(added.from);
        auto* const made = static_cast<ssca2_edge*>(memory_.allocate(sizeof(ssca2_edge)));
        ssca2_edge* const last = memory_.load(&from->last);
        ssca2_edge** const link = last != nullptr ? &last->next : &from->first;
        memory_.will_write(made);
        memory_.will_write(from);
        memory_.will_write(link);
        memory_.store(&made->to, added.to);
        memory_.store(&made->weight, added.weight);
        memory_.store(&made->value, value);
        memory_.store(&made->next, nullptr);
        memory_.store(link, made);
        memory_.store(&from->last, made);
        memory_.store(&from->degree, memory_.load(&from->degree) + 1);
    }

    /// Takes away the oldest edge that is equal, and gives its value. False if there is none.
    bool remove_edge(const weighted_edge& removed, std::uint64_t& value) const {
        ssca2_vertex* const from = vertex(removed.from);
        ssca2_edge* before = nullptr;
        ssca2_edge* at = memory_.load(&from->first);
        while (at != nullptr && !is(at, removed)) {
            before = at;
            at = memory_.load(&at->next);
        }
        if (at == nullptr) return false;
        ssca2_edge** const link = before != nullptr ? &before->next : &from->first;
        memory_.will_write(from);
        memory_.will_write(link);
        value = memory_.load(&at->value);
        memory_.store(link, memory_.load(&at->next));
        if (memory_.load(&from->last) == at) memory_.store(&from->last, before);
        memory_.store(&from->degree, memory_.load(&from->degree) - 1);
        memory_.free(at);
        return true;
    }

    std::uint64_t vertices() const {
        return memory_.load(&root_->vertices) == nullptr ? 0 : std::uint64_t{1} << memory_.load(&root_->scale);
    }

    /// Calls f(to, weight, value) for each edge that leaves the vertex, oldest first.
    template <class F>
    void each_edge(std::uint64_t from, F&& f) const {
        for (const ssca2_edge* at = memory_.load(&vertex(from)->first); at != nullptr; at = memory_.load(&at->next)) {
            f(memory_.load(&at->to), memory_.load(&at->weight), memory_.load(&at->value));
        }
    }

    /// Every edge leads to a vertex and has a weight, and each vertex has as many as counted. Counts the edges.
    check_report check() const {
        check_report report;
        const std::uint64_t all = vertices();
        for (std::uint64_t from = 0; from < all; ++from) {
            std::uint64_t left = memory_.load(&vertex(from)->degree);
            const ssca2_edge* last = nullptr;
            for (const ssca2_edge* at = memory_.load(&vertex(from)->first); at != nullptr;
                 at = memory_.load(&at->next), ++report.count, --left) {
                if (left == 0) return report.problem = "more edges than counted, or a cycle", report;
                if (memory_.load(&at->to) >= all) return report.problem = "an edge leads nowhere", report;
                if (memory_.load(&at->weight) - 1 >= all) return report.problem = "a weight is out of bounds", report;
                last = at;
            }
            if (left != 0) return report.problem = "fewer edges than counted", report;
            if (memory_.load(&vertex(from)->last) != last) return report.problem = "the last edge is another", report;
        }
        return report;
    }

private:
    ssca2_vertex* vertex(std::uint64_t number) const { return memory_.load(&root_->vertices) + number; }
    bool is(const ssca2_edge* at, const weighted_edge& wanted) const {
        return memory_.load(&at->to) == wanted.to && memory_.load(&at->weight) == wanted.weight;
    }

    Access memory_;
    ssca2_root* root_;
};

}  // namespace holdfast::workload
