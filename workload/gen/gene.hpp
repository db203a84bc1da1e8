// A gene and segments that were read from it, for genome.
#pragma once

#include <workload/random.hpp>

namespace holdfast::workload {

/// A random sequence of nucleotides, and where segments of it begin. Segments come in no order, many more than once.
/// So that they can be put together again, one begins at each end of a segment's quarter.
class gene_generator {
public:
    /// Requires: 4 <= segment_length <= length; segments >= 4 * length / segment_length + 2.
    constexpr gene_generator(std::uint64_t seed, std::uint64_t length, std::uint64_t segment_length) noexcept
        : seed_(seed), length_(length), segment_length_(segment_length) {}

    /// Stores `length` letters of a, c, g, t.
    constexpr void gene(char* to) const noexcept {
        random numbers(seed_);
        for (std::uint64_t i = 0; i < length_; ++i) to[i] = "acgt"[numbers.below(4)];
    }

    /// Stores where each of `count` segments begins.
    constexpr void segments(std::uint64_t* begins, std::uint64_t count) const noexcept {
        random numbers(seed_ + 1);
        const std::uint64_t last = length_ - segment_length_;
        std::uint64_t made = 0;
        for (std::uint64_t at = 0; at < last && made < count; at += segment_length_ / 4) begins[made++] = at;
        if (made < count) begins[made++] = last;
        while (made < count) begins[made++] = numbers.below(last + 1);
        for (std::uint64_t i = count; i > 1; --i) {
            const std::uint64_t other = numbers.below(i);
            const std::uint64_t moved = begins[i - 1];
            begins[i - 1] = begins[other];
            begins[other] = moved;
        }
    }

private:
    std::uint64_t seed_;
    std::uint64_t length_;
    std::uint64_t segment_length_;
};

}  // namespace holdfast::workload
