// How many records have which values, without reading them all: A. Moore, M. S. Lee, "Cached Sufficient Statistics for
// Efficient Machine Learning with Large Datasets", Journal of Artificial Intelligence Research 8, 1998.
//
// A node stands for the records that have given values of some variables, and leads to one for each further variable:
// that of the records where it has its rarer value. What has the more common one is what remains. A node of few records
// leads nowhere; it has them in a list.
#pragma once

#include <workload/stamp/private_array.hpp>

namespace holdfast::workload {

/// Private. A record is a word with a bit for each variable. Nothing changes after the construction.
class adtree {
public:
    /// Requires: variables <= 64; count < 2^31.
    adtree(const std::uint64_t* records, std::uint64_t count, std::uint64_t variables) : variables_(variables) {
        entries_.add(0);  // so that no node's entries begin with number 0
        nodes_.add({0, static_cast<std::uint32_t>(count), 0, 0});
        for (std::uint64_t i = 0; i < count; ++i) records_.add(records[i]);
        expand(0);
    }

    /// For each combination of values of the variables in `which`, a bit for each, how many records have it. Its place
    /// has their values as bits, that of the first variable as the highest.
    void count(std::uint64_t which, std::uint32_t* to) const { count(nodes_[0], which, to); }

private:
    static constexpr std::uint32_t listed_max = 32;

    struct node {
        std::uint32_t first_record;
        std::uint32_t records;
        std::uint32_t first_entry;     ///< 0: it leads nowhere
        std::uint32_t first_variable;  ///< that it leads to nodes for
    };

    void expand(std::uint32_t number) {
        const node at = nodes_[number];
        if (at.records <= listed_max || at.first_variable == variables_) return;
        const auto first_entry = static_cast<std::uint32_t>(entries_.count());
        nodes_[number].first_entry = first_entry;
        for (std::uint64_t i = at.first_variable; i < variables_; ++i) entries_.add(0);
        for (std::uint32_t i = at.first_variable; i < variables_; ++i) {
            std::uint32_t ones = 0;
            for (std::uint32_t k = 0; k < at.records; ++k) ones += value_of(at.first_record + k, i);
            const std::uint32_t common = 2 * ones > at.records ? 1 : 0;
            const std::uint32_t rare = common == 1 ? at.records - ones : ones;
            std::uint32_t& entry = entries_[first_entry + i - at.first_variable];
            entry = common;
            if (rare == 0) continue;
            const auto made = static_cast<std::uint32_t>(nodes_.count());
            entry = made << 1 | common;
            nodes_.add({static_cast<std::uint32_t>(records_.count()), rare, 0, i + 1});
            for (std::uint32_t k = 0; k < at.records; ++k)
                if (value_of(at.first_record + k, i) != common) records_.add(records_[at.first_record + k]);
            expand(made);
        }
    }
    std::uint32_t value_of(std::uint32_t record, std::uint32_t variable) const {
        return static_cast<std::uint32_t>(records_[record] >> variable & 1);
    }

    void count(const node& at, std::uint64_t which, std::uint32_t* to) const {
        if (which == 0) {
            *to = at.records;
            return;
        }
        const std::uint64_t half = std::uint64_t{1} << (__builtin_popcountll(which) - 1);
        if (at.first_entry == 0) {
            count_listed(at, which, to, 2 * half);
            return;
        }
        const auto variable = static_cast<std::uint32_t>(__builtin_ctzll(which));
        const std::uint64_t others = which & (which - 1);
        const std::uint32_t entry = entries_[at.first_entry + variable - at.first_variable];
        const bool common = (entry & 1) != 0;
        std::uint32_t* const common_to = to + (common ? half : 0);
        std::uint32_t* const rare_to = to + (common ? 0 : half);
        count(at, others, common_to);
        if (entry >> 1 == 0) {
            for (std::uint64_t i = 0; i < half; ++i) rare_to[i] = 0;
            return;
        }
        count(nodes_[entry >> 1], others, rare_to);
        for (std::uint64_t i = 0; i < half; ++i) common_to[i] -= rare_to[i];
    }

    void count_listed(const node& at, std::uint64_t which, std::uint32_t* to, std::uint64_t combinations) const {
        for (std::uint64_t i = 0; i < combinations; ++i) to[i] = 0;
        for (std::uint32_t i = 0; i < at.records; ++i) {
            std::uint64_t place = 0;
            for (std::uint64_t left = which; left != 0; left &= left - 1)
                place = place << 1 | (records_[at.first_record + i] >> __builtin_ctzll(left) & 1);
            ++to[place];
        }
    }

    std::uint64_t variables_;
    private_list<node> nodes_;
    private_list<std::uint32_t> entries_;   ///< the node of the rarer value, 0 if there is none, and the common value
    private_list<std::uint64_t> records_;  ///< those of each node in a row
};

}  // namespace holdfast::workload
