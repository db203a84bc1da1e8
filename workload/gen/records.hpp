// Records of a random Bayesian network, for bayes.
#pragma once

#include <workload/random.hpp>

namespace holdfast::workload {

/// Variables are true or false. Each depends on its parents: for each combination of their values there is another
/// chance that it is true, all chances alike. A record is a word that has a bit for each variable.
class record_generator {
public:
    static constexpr std::uint64_t variables_max = 64;

    /// Requires: variables from 1 to variables_max. Of each variable `parents_max` times a parent is drawn, each time
    /// with a chance of `parent_percent`.
    constexpr record_generator(std::uint64_t seed, std::uint64_t variables, std::uint64_t parents_max,
                               std::uint64_t parent_percent) noexcept
        : seed_(seed), variables_(variables) {
        random numbers(seed);
        for (std::uint64_t i = 0; i < variables; ++i) {
            // Anywhere among those before it, none of which depends on a later one.
            const std::uint64_t other = numbers.below(i + 1);
            order_[i] = order_[other];
            order_[other] = i;
        }
        for (std::uint64_t i = 1; i < variables; ++i)
            for (std::uint64_t k = 0; k < parents_max; ++k)
                if (numbers.below(100) < parent_percent)
                    parents_[order_[i]] |= std::uint64_t{1} << order_[numbers.below(i)];
    }

    /// A bit for each.
    constexpr std::uint64_t parents(std::uint64_t variable) const noexcept { return parents_[variable]; }

    constexpr void records(std::uint64_t* to, std::uint64_t count) const noexcept {
        random numbers(seed_ + 1);
        for (std::uint64_t i = 0; i < count; ++i) {
            std::uint64_t record = 0;
            for (std::uint64_t k = 0; k < variables_; ++k) {
                const std::uint64_t variable = order_[k];
                if (numbers.next() < chance(variable, record & parents_[variable]))
                    record |= std::uint64_t{1} << variable;
            }
            to[i] = record;
        }
    }

private:
    /// Of 2^64.
    constexpr std::uint64_t chance(std::uint64_t variable, std::uint64_t values) const noexcept {
        std::uint64_t state = seed_ + variable * 0x9E3779B97F4A7C15ull;
        state = splitmix(state) ^ values;
        return splitmix(state);
    }

    std::uint64_t seed_;
    std::uint64_t variables_;
    std::uint64_t order_[variables_max]{};  ///< parents come first
    std::uint64_t parents_[variables_max]{};
};

}  // namespace holdfast::workload
