// What scripts outside rely on in the records of suite cchtm, and the fences that make a rival what it is. Times are
// not judged.
#include <bench/suites.hpp>

#include <holdfast/htm/rtm_instructions.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

namespace holdfast::bench {
namespace {

/// The parameter, or nothing.
template <class T>
T value_of(const record& one, const std::string& name) {
    for (const auto& [each, value] : one.params)
        if (each == name) return std::get<T>(value);
    return {};
}

report quick_report() {
    options asked;
    asked.quick = true;
    asked.trial = true;
    asked.engines = {"none", "htm_only", "ptl2", "ptl2_best", "redo_tl2"};
    return measure("cchtm", asked);
}

/// One run for all cases of this file.
const report& records() {
    static const report made = quick_report();
    return made;
}

TEST(Cchtm, HasARecordForEachCombination) {
    std::set<std::tuple<std::string, std::string, unsigned, parameters, std::string>> seen;
    std::map<std::string, std::set<std::string>> contestants;
    std::map<std::string, std::set<std::string>> concurrency;
    std::set<std::uint64_t> groups;
    unsigned floors = 0;
    for (const auto& one : records().records()) {
        EXPECT_TRUE(seen.emplace(one.case_name, one.engine, one.threads, one.params, one.metric).second)
            << one.case_name << " " << one.engine << " " << one.metric << " twice";
        EXPECT_EQ(value_of<std::string>(one, "medium"), "nvram") << "on a file nobody of these takes part";
        EXPECT_EQ(value_of<std::string>(one, "level"), "power");
        if (one.metric != "ns_per_tx") continue;
        EXPECT_GT(one.value, 0);
        EXPECT_GE(one.runs, 9u);
        if (one.engine == "none") {
            ++floors;
            continue;
        }
        contestants[one.case_name + std::to_string(one.threads)].insert(one.engine);
        concurrency[one.engine].insert(value_of<std::string>(one, "concurrency"));
        if (one.case_name == "hash") groups.insert(value_of<std::uint64_t>(one, "group"));
    }
    EXPECT_EQ(floors, 1u);
    EXPECT_EQ(groups, (std::set<std::uint64_t>{2, 10, 30}));
    for (const std::string name : {"tree", "hash", "ssca2", "vacation"})
        for (const std::string threads : {"1", "2"})
            for (const char* engine : {"htm_only", "ptl2", "ptl2_best", "redo_tl2"})
                EXPECT_TRUE(contestants[name + threads].contains(engine)) << name << threads << engine;
    std::set<std::string> algorithms{"value", "versioned"};
    if (htm::obstacle_here() == nullptr) algorithms.insert("rtm");
    EXPECT_EQ(concurrency["htm_only"], algorithms);
    for (const char* engine : {"ptl2", "ptl2_best", "redo_tl2"})
        EXPECT_EQ(concurrency[engine], std::set<std::string>{"tl2"}) << engine;
}

TEST(Cchtm, RivalsFenceAsTheirProtocolsSay) {
    for (const auto& one : records().records()) {
        if (one.metric != "fences_per_tx" || one.engine == "none") continue;
        const std::string where = one.engine + " " + one.case_name + " " + std::to_string(one.threads);
        // Some transactions of these store nothing, and fence nothing.
        const bool all_store =
            one.case_name != "vacation" && value_of<std::uint64_t>(one, "write_percent") % 100 == 0;
        const auto expect = [&](double fences, const char* why) {
            EXPECT_LE(one.value, fences + 0.1) << why << where;
            EXPECT_GE(one.value, all_store ? fences - 0.1 : 0) << why << where;
        };
        if (one.engine == "htm_only") {
            EXPECT_EQ(one.value, 0) << where;
        } else if (one.engine == "redo_tl2") {
            expect(1, "for the record, and a few for what comes home: ");
        } else if (one.engine == "ptl2_best") {
            expect(2, "before and behind the homes, and a few for chunks: ");
        } else if (one.engine == "ptl2" && one.case_name == "hash") {
            const auto words = static_cast<double>(value_of<std::uint64_t>(one, "group"));
            expect(words + 2, "for each entry, the homes and the end mark: ");
        }
    }
}

}  // namespace
}  // namespace holdfast::bench
