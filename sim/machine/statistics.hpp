// What a run did, as named numbers in a fixed order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::sim {

struct statistic {
    std::string name;
    std::string unit;
    double value = 0;
};

/// Counters, some of which ran before the phase that is looked at: take a list before and one after it.
class counter_list {
public:
    template <class Counters>
    void add(const std::string& prefix, const Counters& counters) {
        Counters::visit_fields(counters, [&](const char* name, std::uint64_t value) {
            names_.push_back(prefix + name);
            values_.push_back(value);
        });
    }

    /// What happened between the two lists. Requires: they were made in the same way.
    std::vector<statistic> since(const counter_list& before) const {
        std::vector<statistic> made;
        for (std::size_t i = 0; i < names_.size(); ++i) {
            const bool is_time = names_[i].ends_with("_ps");
            made.push_back({names_[i], is_time ? "ps" : "count", static_cast<double>(values_[i] - before.values_[i])});
        }
        return made;
    }

private:
    std::vector<std::string> names_{};
    std::vector<std::uint64_t> values_{};
};

}  // namespace holdfast::sim
