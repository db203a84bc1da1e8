// Edges of a scale-free graph: a few vertices have most of them.
// Algorithm: R-MAT, D. Chakrabarti, Y. Zhan, C. Faloutsos, "R-MAT: A Recursive Model for Graph Mining", SDM 2004, with
// the parameters of HPCS SSCA#2 version 2.2: 2^scale vertices, weights from 1 to 2^scale.
#pragma once

#include <workload/random.hpp>

namespace holdfast::workload {

/// A directed edge as the generator gives it.
struct weighted_edge {
    std::uint64_t from;
    std::uint64_t to;
    std::uint64_t weight;
};

/// Edge `index` of the graph that `seed` names. Any edge can be had without those before it, so no list of tuples has
/// to be kept beside the graph, and several threads can generate parts of one. Requires: scale from 1 to 32.
class rmat_generator {
public:
    static constexpr std::uint64_t edges_per_vertex = 8;

    constexpr rmat_generator(std::uint64_t seed, std::uint64_t scale) noexcept
        : scale_(scale), edge_seed_(splitmix(seed)), relabelled_(seed, scale) {}

    constexpr weighted_edge edge(std::uint64_t index) const noexcept {
        random numbers(edge_seed_ + index);
        weighted_edge made{};
        std::uint64_t drawn = 0;
        for (std::uint64_t level = 0; level < scale_; ++level) {
            drawn = level % 4 == 0 ? numbers.next() : drawn >> 16;
            const std::uint64_t quarter = quarter_of(drawn & 0xffff);
            made.from = made.from * 2 + quarter / 2;
            made.to = made.to * 2 + quarter % 2;
        }
        made.from = relabelled_(made.from);
        made.to = relabelled_(made.to);
        made.weight = 1 + numbers.below(std::uint64_t{1} << scale_);
        return made;
    }

private:
    /// Which quarter of the adjacency matrix an edge falls into: probabilities 0.55, 0.1, 0.1, 0.25, in 65536ths.
    static constexpr std::uint64_t quarter_of(std::uint64_t drawn) noexcept {
        return drawn < 36045 ? 0 : drawn < 42598 ? 1 : drawn < 49152 ? 2 : 3;
    }

    std::uint64_t scale_;
    std::uint64_t edge_seed_;    // before relabelled_, which takes what this leaves of the seed
    permutation relabelled_;     // without it the vertices of high degree would lie side by side
};

}  // namespace holdfast::workload
