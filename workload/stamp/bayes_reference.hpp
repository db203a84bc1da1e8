// What bayes is compared with: the same scores from the records as they are, and a net that is learned from them in one
// go.
#pragma once

#include <workload/stamp/private_array.hpp>

namespace holdfast::workload {

/// Nets are arrays of the parents of each variable, a bit for each. Nothing of it is used by the program.
class bayes_reference {
public:
    /// Requires: the records outlive it.
    bayes_reference(const std::uint64_t* records, std::uint64_t count, std::uint64_t variables,
                    double per_parent) noexcept
        : records_(records), count_(count), variables_(variables), per_parent_(per_parent) {}

    double score(std::uint64_t variable, std::uint64_t parents) const {
        const auto combinations = std::uint64_t{1} << __builtin_popcountll(parents);
        const private_array<std::uint64_t> have(combinations), are_true(combinations);
        for (std::uint64_t i = 0; i < count_; ++i) {
            std::uint64_t place = 0;
            for (std::uint64_t left = parents; left != 0; left &= left - 1)
                place = 2 * place + (records_[i] >> __builtin_ctzll(left) & 1);
            ++have[place];
            are_true[place] += records_[i] >> variable & 1;
        }
        double sum = -per_parent_ * __builtin_popcountll(parents);
        for (std::uint64_t i = 0; i < combinations; ++i)
            sum += likelihood(are_true[i], have[i]) + likelihood(have[i] - are_true[i], have[i]);
        return sum;
    }

    double score(const std::uint64_t* net) const {
        double sum = 0;
        for (std::uint64_t i = 0; i < variables_; ++i) sum += score(i, net[i]);
        return sum;
    }

    /// Variables without parents are taken away again and again, until all are.
    bool is_acyclic(const std::uint64_t* net) const {
        const std::uint64_t all = variables_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << variables_) - 1;
        std::uint64_t left = all;
        for (bool any = true; any;) {
            any = false;
            for (std::uint64_t i = 0; i < variables_; ++i) {
                const std::uint64_t own = std::uint64_t{1} << i;
                if ((left & own) == 0 || (net[i] & left) != 0) continue;
                left &= ~own;
                any = true;
            }
        }
        return left == 0;
    }

    /// Adds the edge that gains most, until none gains anything; no variable has more than `parents_max` parents.
    void learn(std::uint64_t* net, std::uint64_t parents_max) const {
        for (std::uint64_t i = 0; i < variables_; ++i) net[i] = 0;
        const private_array<double> gains(variables_ * variables_);
        for (std::uint64_t i = 0; i < variables_; ++i) find_gains(net, i, gains);
        for (;;) {
            std::uint64_t best_from = 0, best_to = variables_;
            double best = 0;
            for (std::uint64_t to = 0; to < variables_; ++to)
                for (std::uint64_t from = 0; from < variables_; ++from) {
                    if (gains[to * variables_ + from] <= best || !may_be_added(net, from, to, parents_max)) continue;
                    best = gains[to * variables_ + from];
                    best_from = from;
                    best_to = to;
                }
            if (best_to == variables_) return;
            net[best_to] |= std::uint64_t{1} << best_from;
            find_gains(net, best_to, gains);
        }
    }

private:
    static double likelihood(std::uint64_t of, std::uint64_t among) {
        if (of == 0) return 0;
        return static_cast<double>(of) * __builtin_log(static_cast<double>(of) / static_cast<double>(among));
    }

    /// Of each edge to a variable; 0 for those that are there.
    void find_gains(const std::uint64_t* net, std::uint64_t to, const private_array<double>& gains) const {
        const double now = score(to, net[to]);
        for (std::uint64_t from = 0; from < variables_; ++from) {
            const std::uint64_t more = net[to] | std::uint64_t{1} << from;
            gains[to * variables_ + from] = from == to || more == net[to] ? 0 : score(to, more) - now;
        }
    }

    bool may_be_added(std::uint64_t* net, std::uint64_t from, std::uint64_t to, std::uint64_t parents_max) const {
        const std::uint64_t before = net[to];
        net[to] |= std::uint64_t{1} << from;
        const bool may = static_cast<std::uint64_t>(__builtin_popcountll(net[to])) <= parents_max && is_acyclic(net);
        net[to] = before;
        return may;
    }

    const std::uint64_t* records_;
    std::uint64_t count_;
    std::uint64_t variables_;
    double per_parent_;
};

}  // namespace holdfast::workload
