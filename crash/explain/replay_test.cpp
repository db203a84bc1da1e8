// That a replay line says all of a scenario, and that others are refused where they go wrong.
#include <crash/explain/replay.hpp>
#include <crash/explore/named.hpp>

#include <holdfast/log/sites.hpp>

#include <gtest/gtest.h>

namespace holdfast::crash {
namespace {

namespace site = persist::site;

scenario some_scenario() {
    return {"redo", "hash_map", "x86", {0, 3, 3}, fault{fault::change::left_out, event_kind::fence,
        site::log_commit_fence},
            {{57, {0, 0, 0, 1, 2}, false}, {9, {}, false}, {3, {}, true}, {0, {4294967295u}, false}}};
}

TEST(Replay, ALineSaysAllOfAScenario) {
    const scenario wanted = some_scenario();
    const std::string line = replay_line(wanted);
    EXPECT_EQ(line, "redo:hash_map:x86:ops=0,3*2:fault=fence@log_commit_fence:cut=57:choices=0*3,1,2:cut=9:choices="
                    ":cut=3:killed:cut=0:choices=4294967295");
    EXPECT_EQ(parse_replay(line).value(), wanted);
}

TEST(Replay, AScenarioNeedsNoFaultAndNoOperations) {
    scenario wanted = some_scenario();
    wanted.planted.reset();
    wanted.operations.clear();
    EXPECT_EQ(parse_replay(replay_line(wanted)).value(), wanted);
}

TEST(Replay, EverySiteHasANameOfItsOwn) {
    std::set<std::string_view> names;
    for (const persist::site_id each : all_sites()) names.insert(each.name());
    EXPECT_EQ(names.size(), all_sites().size());
}

TEST(Replay, EveryFaultHasAShortNameOfItsOwn) {
    for (const event_kind kind : {event_kind::write_back, event_kind::fence, event_kind::stream,
                                  event_kind::file_range_sync, event_kind::file_sync})
        for (const persist::site_id where : all_sites()) {
            const bool weakens = kind == event_kind::stream || kind == event_kind::file_range_sync;
            fault each{weakens ? fault::change::weakened : fault::change::left_out, kind, where};
            EXPECT_EQ(fault_named(short_name(each)), each);
            each.how = fault::change::late;
            EXPECT_EQ(fault_named(short_name(each)).has_value(), !weakens);
        }
    for (const planted_fault* code : all_planted_faults()) {
        const fault each{fault::change::in_code, {}, {}, code};
        EXPECT_EQ(fault_named(short_name(each)), each);
    }
    EXPECT_FALSE(fault_named("fence@nowhere"));
    EXPECT_FALSE(fault_named("fence"));
}

struct refused {
    std::string line;
    std::uint64_t offset;
    std::string expected;
    std::string found;
};

TEST(Replay, AMalformedLineIsRefusedWithThePlaceAndWhatIsExpectedThere) {
    const refused all[] = {
        {"", 0, "an engine", "its end"},
        {"redo", 4, "\":\"", "its end"},
        {"redo::x86:cut=1:choices=", 5, "a workload", "\":x86:cut=1:choices=\""},
        {"redo:queue:x86", 14, "\":\"", "its end"},
        {"redo:queue:x86:", 15, "\"ops=\", \"schedule=\", \"fault=\" or \"cut=\"", "its end"},
        {"redo:queue:x86:ops=0", 20, "\":cut=\"", "its end"},
        {"redo:queue:x86:ops=0,:cut=1:choices=", 21, "a number of up to 32 bits", "\":cut=1:choices=\""},
        {"redo:queue:x86:cut=1", 20, "\":choices=\"", "its end"},
        {"redo:queue:x86:cut=x:choices=", 19, "the number of an event", "\"x:choices=\""},
        {"redo:queue:x86:cut=1:choices=4294967296", 29, "a number of up to 32 bits", "\"4294967296\""},
        {"redo:queue:x86:cut=1:choices=1*0", 30, "*N with N from 1 to a million", "\"*0\""},
        {"redo:queue:x86:cut=1:choices=1*9999999", 30, "*N with N from 1 to a million", "\"*9999999\""},
        {"redo:queue:x86:cut=1:choices=1;2", 30, "\":\" or the end", "\";2\""},
        {"redo:queue:x86:fault=fence@x:cut=1:choices=", 21, "a fault, such as fence@log_commit_fence",
         "\"fence@x:cut=1:choices=\""},
    };
    for (const refused& each : all) {
        const auto read = parse_replay(each.line);
        ASSERT_FALSE(read) << each.line;
        EXPECT_EQ(read.error().code, errc::invalid_argument);
        EXPECT_EQ(read.error().offset, each.offset) << each.line;
        EXPECT_EQ(read.error().expected, each.expected) << each.line;
        EXPECT_EQ(read.error().found, each.found) << each.line;
    }
}

}  // namespace
}  // namespace holdfast::crash
