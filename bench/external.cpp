#include <bench/external.hpp>

#include <holdfast/base/result.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace holdfast::bench {
namespace {

constexpr std::array suites_with_external{std::string_view("sps"), std::string_view("hash"), std::string_view("btree"),
                                          std::string_view("rbtree")};
constexpr std::string_view time_metric = "ns_per_tx";

/// Whether `mine` has each parameter that `theirs` names: the size of our log is nothing to another program.
bool has_parameters_of(const record& mine, const record& theirs) {
    return std::all_of(theirs.params.begin(), theirs.params.end(), [&](const auto& wanted) {
        return std::find(mine.params.begin(), mine.params.end(), wanted) != mine.params.end();
    });
}

bool is_same_case(const record& mine, const record& theirs) {
    return mine.case_name == theirs.case_name && mine.threads == theirs.threads && has_parameters_of(mine, theirs);
}

[[noreturn]] void refuse(const std::string& path, std::string what, std::string expected, std::string found) {
    throw failure({errc::invalid_argument, std::move(what), path, {}, std::move(expected), std::move(found)});
}

/// The records of the suite in one file, checked.
std::vector<record> read_one(const std::string& path, const std::string& suite) {
    std::vector<record> all = read_records(path);
    const std::size_t records = all.size();
    std::erase_if(all, [&](const record& one) { return one.suite != suite || one.metric != time_metric; });
    if (all.empty())
        refuse(path, "no external record of this suite", fmt::format("suite {}, metric {}", suite, time_metric),
               fmt::format("{} other records", records));
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (const char* needed : {"level", "medium"})
            if (std::none_of(all[i].params.begin(), all[i].params.end(),
                             [&](const auto& each) { return each.first == needed; }))
                refuse(path, "an external record without a parameter", needed, "a record of " + all[i].engine);
        if (!(all[i].value > 0))
            refuse(path, "an external time", "above 0 ns", fmt::format("{} of {}", all[i].value, all[i].engine));
        for (std::size_t j = 0; j < i; ++j)
            if (all[i].engine == all[j].engine && is_same_case(all[i], all[j]) && is_same_case(all[j], all[i]))
                refuse(path, "an external case occurs twice", "one record for each engine, case and its parameters",
                       fmt::format("two of {}, {}", all[i].engine, all[i].case_name));
    }
    return all;
}

}  // namespace

bool takes_external(std::string_view suite) noexcept {
    return std::find(suites_with_external.begin(), suites_with_external.end(), suite) != suites_with_external.end();
}

std::vector<record> read_external(const std::vector<std::string>& paths, const std::string& suite) {
    std::vector<record> all;
    for (const auto& path : paths)
        for (auto& one : read_one(path, suite)) {
            one.engine += external_mark;
            all.push_back(std::move(one));
        }
    return all;
}

std::vector<record> external_beside(const std::vector<record>& external, const std::vector<record>& ours) {
    std::vector<record> beside;
    for (const auto& one : external) {
        const auto match = std::find_if(ours.begin(), ours.end(), [&](const record& mine) {
            return mine.case_name != "floor" && is_same_case(mine, one);
        });
        if (match == ours.end()) continue;
        beside.push_back(one);
        // As ours are written, so that a table finds them equal.
        beside.back().params = match->params;
    }
    return beside;
}

}  // namespace holdfast::bench
