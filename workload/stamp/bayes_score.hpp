// How well a net explains records, variable by variable.
//
// That of a variable with its parents: the logarithm of how likely its values are, given those of its parents, less a
// penalty for each parent. With n records that have a combination of values of the parents, of which m have another
// value of the variable, it is a sum of m ln m and n ln n, which come from a table: only additions are left.
#pragma once

#include <workload/stamp/adtree.hpp>

namespace holdfast::workload {

/// Private. Nothing changes after the construction.
class bayes_score {
public:
    static constexpr std::uint64_t parents_max = 10;

    /// `penalty`: half the logarithm of the number of records, so many times.
    bayes_score(const std::uint64_t* records, std::uint64_t count, std::uint64_t variables, double penalty)
        : counts_(records, count, variables), products_(count + 1) {
        for (std::uint64_t i = 1; i <= count; ++i)
            products_[i] = static_cast<double>(i) * __builtin_log(static_cast<double>(i));
        per_parent_ = penalty * __builtin_log(static_cast<double>(count)) / 2;
    }

    double per_parent() const { return per_parent_; }

    /// `parents`: a bit for each. Requires: `variable` is none of them; they are at most parents_max.
    HOLDFAST_WORKLOAD_PURE double of(std::uint64_t variable, std::uint64_t parents) const {
        std::uint32_t counts[std::uint64_t{2} << parents_max];
        const std::uint64_t own = std::uint64_t{1} << variable;
        counts_.count(parents | own, counts);
        // Places of the variable's own values differ by as many as there are combinations of the parents behind it.
        const std::uint64_t step = std::uint64_t{1} << __builtin_popcountll(parents & ~(own | (own - 1)));
        const std::uint64_t combinations = std::uint64_t{2} << __builtin_popcountll(parents);
        double sum = 0;
        for (std::uint64_t i = 0; i < combinations; ++i) {
            if ((i & step) != 0) continue;
            const std::uint32_t without = counts[i], with = counts[i | step];
            sum += products_[without] + products_[with] - products_[without + with];
        }
        return sum - per_parent_ * __builtin_popcountll(parents);
    }

private:
    adtree counts_;
    private_array<double> products_;  ///< n ln n
    double per_parent_ = 0;
};

}  // namespace holdfast::workload
