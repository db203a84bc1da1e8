// Suite cchtm: one point of its sweep, and its cases.
#pragma once

#include <bench/contest/setting.hpp>
#include <bench/suites.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

/// How one contestant does it.
struct cchtm_way {
    std::string concurrency;
    std::string level = "power";
    std::uint64_t lag = 0;           ///< commits that may be missing after a power cut
    std::string aliases = "none";    ///< how new words stand before they are home: pages, table, sets
    std::string retire = "none";     ///< who brings them home: cooperative, thread, automatic
    std::uint64_t alias_bytes = 0;   ///< of sets, where the size is varied
    std::uint64_t alias_ways = 0;    ///< the same
};

/// One point of the sweep.
struct cchtm_setting : setting {
    cchtm_way way{};
    std::uint64_t group = 0;          ///< words of a transaction; 0 where the case decides
    std::uint64_t write_percent = 0;  ///< of these, how many are stored to on average; 0 where the case decides
    std::vector<std::uint64_t> alias_sizes{};  ///< of sets, in bytes, where they are varied
    std::vector<std::uint64_t> lags{};  ///< not empty: cc_htm alone takes part, with each of them

    parameters as_parameters() const {
        parameters all{{"concurrency", way.concurrency}, {"level", way.level}, {"medium", medium},
                       {"delay_ns", std::uint64_t{delay_ns}}, {"lag", way.lag}, {"aliases", way.aliases},
                       {"retire", way.retire}, {"elements", elements}};
        if (group != 0) all.emplace_back("group", group);
        if (rate != 0) all.emplace_back("rate", rate);
        if (write_percent != 0) all.emplace_back("write_percent", write_percent);
        if (alias_bytes != 0) all.emplace_back("alias_bytes", alias_bytes);
        if (alias_ways != 0) all.emplace_back("alias_ways", alias_ways);
        return all;
    }
};

/// How often commits that are pending are counted in a batch.
inline constexpr std::size_t cchtm_moments = 20;

/// The cases. file: the tree on an ordinary file. The floor is recorded with one match of the suite.
match make_cchtm_tree_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space);
match make_cchtm_file_match(cchtm_setting where, bool with_floor, const options& asked, scratch& space);
match make_cchtm_response_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space);
match make_cchtm_pending_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space);
match make_cchtm_hash_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space);
match make_cchtm_aliases_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space);
match make_cchtm_ssca2_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space);
match make_cchtm_vacation_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space);

}  // namespace holdfast::bench
