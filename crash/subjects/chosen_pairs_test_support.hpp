// Which structures a short test runs under which engines.
#pragma once

#include <crash/subjects/subject.hpp>

#include <holdfast/base/test_run.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace holdfast::crash {

/// A structure is the same source under each engine, and an engine recovers each structure alike. So a short run takes
/// a third of their pairs: every structure under two engines or more, and every engine with three structures.
class chosen_pairs {
public:
    explicit chosen_pairs(const std::vector<std::unique_ptr<subject>>& all) {
        for (const auto& what : all) ++engines_of_[what->name()];
    }
    /// Once for each subject.
    bool takes(const subject& what) {
        constexpr std::size_t many = 6;
        if (holdfast::test::at_full_length() || engines_of_[what.name()] < many) return true;
        const std::size_t structure = structures_.try_emplace(what.name(), structures_.size()).first->second;
        const std::size_t engine = engines_.try_emplace(what.engine(), engines_.size()).first->second;
        return (structure + engine) % 3 == 0;
    }

private:
    std::map<std::string_view, std::size_t> engines_of_, structures_, engines_;  ///< by names, which subjects keep
};

}  // namespace holdfast::crash
