// Kernels 2, 3 and 4 of HPCS SSCA#2 on the graph of ssca2.hpp. Each may be divided among threads; what it leaves does
// not depend on how.
#pragma once

#include <workload/ssca2.hpp>

namespace holdfast::workload {

/// What a traversal needs on its way and nobody afterwards: room for a word for each vertex in each array.
struct ssca2_scratch {
    std::uint64_t* order;     ///< the vertices reached, in the order of their distances
    std::uint64_t* distance;  ///< from the source, plus 1; 0: not reached
    std::uint64_t* paths;     ///< how many shortest ones lead here
    std::uint64_t* share;     ///< of the shortest paths to all others, how many lead through here
    static constexpr std::uint64_t words_per_vertex = 4;

    ssca2_scratch(std::uint64_t* words, std::uint64_t vertices) noexcept
        : order(words), distance(words + vertices), paths(words + 2 * vertices), share(words + 3 * vertices) {}
};

/// `locks.of_vertex(number)` and `locks.of_large()` are what Access::atomically takes; of two different vertices they
/// may be the same. Every kernel runs outside a transaction and makes one for each result; false when one failed.
/// If the process dies inside, a part of the results is there: clear(), and do kernels 2 to 4 again.
template <access Access, class Locks>
class ssca2_kernels {
public:
    /// At most this number of large edges is extracted, the first ones; with weights from 1 to 2^scale, there are 8 on
    /// average.
    static constexpr std::uint64_t subgraphs_max = 64;

    ssca2_kernels(Access memory, ssca2_root* root, Locks& locks) noexcept
        : memory_(memory), root_(root), graph_(memory, root), locks_(&locks) {}

    /// Kernel 2, first half: the largest weight of the edges from vertices [first, last); 0 if there are none.
    std::uint64_t largest_weight(std::uint64_t first, std::uint64_t last) const {
        std::uint64_t largest = 0;
        for (std::uint64_t from = first; from < last; ++from) {
            graph_.each_edge(from, [&](std::uint64_t, std::uint64_t weight, std::uint64_t) {
                if (weight > largest) largest = weight;
            });
        }
        return largest;
    }

    /// Kernel 2, second half: keeps the edges from vertices [first, last) that have this weight.
    bool classify(std::uint64_t first, std::uint64_t last, std::uint64_t weight) const {
        bool good = true;
        for (std::uint64_t from = first; good && from < last; ++from) {
            graph_.each_edge(from, [&](std::uint64_t to, std::uint64_t its_weight, std::uint64_t) {
                if (its_weight == weight && good) good = keep_large(from, to);
            });
        }
        return good;
    }

    /// Kernel 3: marks the vertices on all paths of at most three edges that begin with this large edge.
    bool extract(const ssca2_large_edge* large, ssca2_scratch& scratch) const {
        const std::uint64_t number = memory_.load(&large->number);
        if (number >= subgraphs_max) return true;
        const std::uint64_t reached = reach(memory_.load(&large->to), 2, any_weight, scratch);
        bool good = mark(memory_.load(&large->from), number);
        for (std::uint64_t i = 0; good && i < reached; ++i) good = mark(scratch.order[i], number);
        return good;
    }

    /// Kernel 4: adds to each vertex's score its share of the shortest paths from `source` to all others.
    bool add_scores(std::uint64_t source, ssca2_scratch& scratch) const {
        bool good = true;
        for (std::uint64_t i = shares(source, scratch) - 1; good && i > 0; --i) {
            const std::uint64_t at = scratch.order[i];
            if (scratch.share[at] != 0) good = add_score(at, scratch.share[at]);
        }
        return good;
    }

    /// What add_scores would add: leaves it in `scratch.share` for the vertices in `scratch.order` but the first, which
    /// is the source. Returns how many these are, the source included. Edges whose weight 8 divides do not count, as
    /// the specification says.
    /// Algorithm: U. Brandes, "A Faster Algorithm for Betweenness Centrality", 2001. Shares are sums of whole numbers,
    /// so that no order of the edges changes them, and scores do not depend on that of the threads.
    std::uint64_t shares(std::uint64_t source, ssca2_scratch& scratch) const {
        const std::uint64_t reached = reach(source, ~std::uint64_t{0}, not_divisible_by_8, scratch);
        for (std::uint64_t i = reached - 1; i > 0; --i) {
            scratch.share[scratch.order[i]] = share_of(scratch.order[i], scratch);
        }
        return reached;
    }

    /// Takes away what kernels 2 to 4 found.
    bool clear() const {
        bool good = true;
        while (good && large() != nullptr) {
            good = memory_.atomically(locks_->of_large(), [&] {
                ssca2_large_edge* const newest = memory_.load(&root_->large);
                memory_.store(&root_->large, memory_.load(&newest->next));
                memory_.store(&root_->large_count, memory_.load(&root_->large_count) - 1);
                memory_.free(newest);
            });
        }
        for (std::uint64_t i = 0; good && i < graph_.vertices(); ++i) {
            good = memory_.atomically(locks_->of_vertex(i), [&] {
                memory_.store(&memory_.load(&root_->vertices)[i].score, 0);
                memory_.store(memory_.load(&root_->subgraphs) + i, 0);
            });
        }
        return good;
    }

    const ssca2_large_edge* large() const { return memory_.load(&root_->large); }
    const ssca2_large_edge* next(const ssca2_large_edge* at) const { return memory_.load(&at->next); }
    std::uint64_t subgraphs_of(std::uint64_t vertex) const {
        return memory_.load(memory_.load(&root_->subgraphs) + vertex);
    }
    std::uint64_t score_of(std::uint64_t vertex) const {
        return memory_.load(&memory_.load(&root_->vertices)[vertex].score);
    }

private:
    static bool any_weight(std::uint64_t) noexcept { return true; }
    static bool not_divisible_by_8(std::uint64_t weight) noexcept { return weight % 8 != 0; }

    /// Breadth first from `source`, over at most `most_edges` in a row. Returns how many vertices were reached.
    template <class Counts>
    std::uint64_t reach(std::uint64_t source, std::uint64_t most_edges, Counts counts, ssca2_scratch& scratch) const {
        const std::uint64_t vertices = graph_.vertices();
        for (std::uint64_t i = 0; i < vertices; ++i) scratch.distance[i] = scratch.paths[i] = 0;
        scratch.order[0] = source;
        scratch.distance[source] = scratch.paths[source] = 1;
        std::uint64_t reached = 1;
        for (std::uint64_t done = 0; done < reached; ++done) {
            const std::uint64_t from = scratch.order[done];
            const std::uint64_t distance = scratch.distance[from];
            if (distance > most_edges) break;
            graph_.each_edge(from, [&](std::uint64_t to, std::uint64_t weight, std::uint64_t) {
                if (!counts(weight)) return;
                if (scratch.distance[to] == 0) {
                    scratch.distance[to] = distance + 1;
                    scratch.order[reached++] = to;
                }
                if (scratch.distance[to] == distance + 1) scratch.paths[to] += scratch.paths[from];
            });
        }
        return reached;
    }

    /// Requires: the shares of all vertices further away are known.
    std::uint64_t share_of(std::uint64_t from, const ssca2_scratch& scratch) const {
        std::uint64_t sum = 0;
        graph_.each_edge(from, [&](std::uint64_t to, std::uint64_t weight, std::uint64_t) {
            if (!not_divisible_by_8(weight) || scratch.distance[to] != scratch.distance[from] + 1) return;
            const double portion = static_cast<double>(scratch.paths[from]) / static_cast<double>(scratch.paths[to]);
            sum += static_cast<std::uint64_t>(portion * static_cast<double>(ssca2_score_unit + scratch.share[to]));
        });
        return sum;
    }

    bool keep_large(std::uint64_t from, std::uint64_t to) const {
        return memory_.atomically(locks_->of_large(), [&] {
            auto* const made = static_cast<ssca2_large_edge*>(memory_.allocate(sizeof(ssca2_large_edge)));
            const std::uint64_t number = memory_.load(&root_->large_count);
            memory_.will_write(made);
            memory_.will_write(&root_->large);
            memory_.will_write(&root_->large_count);
            memory_.store(&made->from, from);
            memory_.store(&made->to, to);
            memory_.store(&made->number, number);
            memory_.store(&made->next, memory_.load(&root_->large));
            memory_.store(&root_->large, made);
            memory_.store(&root_->large_count, number + 1);
        });
    }

    bool mark(std::uint64_t vertex, std::uint64_t number) const {
        std::uint64_t* const home = memory_.load(&root_->subgraphs) + vertex;
        return memory_.atomically(locks_->of_vertex(vertex),
                                  [&] { memory_.store(home, memory_.load(home) | std::uint64_t{1} << number); });
    }

    bool add_score(std::uint64_t vertex, std::uint64_t share) const {
        std::uint64_t* const home = &memory_.load(&root_->vertices)[vertex].score;
        return memory_.atomically(locks_->of_vertex(vertex), [&] { memory_.store(home, memory_.load(home) + share); });
    }

    Access memory_;
    ssca2_root* root_;
    ssca2_graph<Access> graph_;
    Locks* locks_;
};

}  // namespace holdfast::workload
