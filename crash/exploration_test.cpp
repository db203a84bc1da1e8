// What a user's test sees: that a right structure is found right, and each kind of mistake is named.
#include <crash/exploration.hpp>

#include <holdfast/container/hash_map.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/handle/wrap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::crash {
namespace {

template <class Store>
struct accounts {
    std::array<typename Store::template field<long>, 2> held;

    void transfer(long amount) {
        held[0] -= amount;
        held[1] += amount;
    }
    long total() const { return held[0] + held[1]; }
};

template <class Store>
void declare_transfers(exploration<Store, accounts<Store>>& explore) {
    explore.prepare([](auto& all) { all.held[0] = 100; });
    explore.operation("transfer 1", [](auto& all) { all.transfer(1); });
    explore.operation("transfer 30", [](auto& all) { all.transfer(30); });
    explore.invariant("the total is 100", [](const auto& all) { return all.total() == 100; });
}

TEST(Exploration, ARightStructureIsRightUnderEveryModelThatItsEngineKnows) {
    exploration<redo, accounts<redo>> with_redo;
    declare_transfers(with_redo);
    const auto found = with_redo.run(2);
    EXPECT_TRUE(found.clean()) << found.text();
    ASSERT_EQ(found.rows.size(), std::size(models) - 1) << "a handler's save is looked at with another engine";
    for (const auto& each : found.rows) {
        EXPECT_EQ(each.workloads, 2u + 4u);
        EXPECT_GT(each.images, 5u) << each.model;
        EXPECT_TRUE(each.exhaustive);
    }
    exploration<undo, accounts<undo>> with_undo;
    declare_transfers(with_undo);
    const auto undone = with_undo.run(2);
    EXPECT_TRUE(undone.clean()) << undone.text();
    EXPECT_EQ(undone.rows.size(), std::size(models) - 2) << "undo keeps no promise of power on files";
}

TEST(Exploration, AContainerIsExploredAsItIs) {
    using map = hash_map<std::uint64_t, std::uint64_t, redo>;
    exploration<redo, map> explore;
    explore.operation("assign", [](map& all) { all.insert_or_assign(1, all.size()); });
    explore.operation("erase", [](map& all) { all.erase(1); });
    const auto found = explore.run(2);
    EXPECT_TRUE(found.clean()) << found.text();
}

struct shelf {
    redo::field<long> books[4];
    redo::field<std::uint64_t> in_use;
    std::uint64_t count;  // no field: nobody logs it
};
struct pointed {
    redo::field<long*> at;
    std::uint64_t is_there;
};
struct labelled {
    redo::field<long> changes;
    char label[64];  // no field: a power cut may lose what is stored to it
};
}  // namespace
}  // namespace holdfast::crash

// What the compiler would refuse, the explorer has to find.
template <>
inline constexpr bool holdfast::lives_in_pool<holdfast::crash::shelf> = true;
template <>
inline constexpr bool holdfast::lives_in_pool<holdfast::crash::pointed> = true;
template <>
inline constexpr bool holdfast::lives_in_pool<holdfast::crash::labelled> = true;

namespace holdfast::crash {
namespace {

std::uint64_t* plain(std::uint64_t& member) {
    asm volatile("" : : "r"(&member) : "memory");
    return &member;
}

TEST(Exploration, AStoreThatGoesRoundTheLibraryIsNamedByItsLine) {
    exploration<redo, shelf> explore;
    int line = 0;
    explore.operation("put", [&](shelf& all) {
        all.books[all.in_use % 4] = 7;
        ++all.in_use;
        line = __LINE__ + 1;
        *plain(all.count) = all.in_use;
    });
    explore.invariant("the count is right", [](const shelf& all) { return all.count == all.in_use; });
    const auto found = explore.run(2);
    EXPECT_FALSE(found.clean());
    for (const auto& each : found.rows) {
        const bool is_told = each.violation.find("\"the count is right\" does not hold") != std::string::npos ||
                             each.violation.find("right only by chance") != std::string::npos;
        EXPECT_TRUE(is_told) << each.violation;
        const std::string place = "not stored by the library: exploration_test.cpp:" + std::to_string(line);
        EXPECT_NE(each.violation.find(place), std::string::npos) << each.violation << " " << line;
    }
    EXPECT_NE(found.text().find("WRONG"), std::string::npos);
}

TEST(Exploration, AnOperationOfTwoTransactionsIsNotAllOrNothing) {
    exploration<redo, accounts<redo>> explore;
    explore.operation("transfer in two steps", [](auto& pool, accounts<redo>& all) {
        pool.atomically([&] { all.held[0] -= 1; }).value();
        pool.atomically([&] { all.held[1] += 1; }).value();
    });
    const auto found = explore.run(1);
    for (const auto& each : found.rows) {
        EXPECT_NE(each.violation.find("found {18446744073709551615 0}, expected {0 0} or {18446744073709551615 1}"),
                  std::string::npos) << each.model << " " << each.violation;
        EXPECT_NE(each.violation.find("cut inside operation 1, after commit 1 of 2"), std::string::npos)
            << each.model << " " << each.violation;
    }
}

struct chain {
    redo::field<redo::field<long>*> first;
};

TEST(Exploration, WhatIsWrongWithoutACrashIsSaidToBe) {
    exploration<redo, accounts<redo>> explore;
    explore.operation("transfer", [](auto& all) { all.transfer(5); });
    explore.operation("take", [](auto& all) { all.held[0] -= 1; });
    explore.invariant("nothing is lost", [](const auto& all) { return all.held[0] + all.held[1] == 0; });
    const auto found = explore.run(2);
    EXPECT_FALSE(found.clean());
    for (const auto& each : found.rows)
        EXPECT_NE(each.violation.find("\"take\"; wrong without a crash, after operation 1"), std::string::npos)
            << each.violation;
}

struct two_numbers {
    std::int64_t first, second;
};

TEST(Exploration, AnOperationOfTwoWrapsIsNotAllOrNothing) {
    exploration<softwrap_lat, two_numbers> explore;
    explore.operation("raise one by one", [](softwrap_lat::pool& pool, two_numbers& all) {
        for (std::int64_t* each : {&all.first, &all.second}) {
            auto id = OpenWrap(pool);
            wrapStore(id, each, wrapLoad(id, each) + 1);
            CloseWrap(id).value();
        }
    });
    const auto found = explore.run(1);
    for (const auto& each : found.rows)
        EXPECT_NE(each.violation.find("cut inside operation 1, after commit 1 of 2"), std::string::npos)
            << each.model << " " << each.violation;
}

TEST(Exploration, WrapsAreExploredAndChecksLoadWithoutNamingOne) {
    exploration<softwrap, two_numbers> explore;
    explore.operation("raise", [](softwrap::pool& pool, two_numbers& all) {
        auto id = OpenWrap(pool);
        wrapStore(id, &all.first, wrapLoad(&all.first) + 1);
        wrapStore(id, &all.second, wrapLoad(&all.first));
        CloseWrap(id).value();
    });
    explore.invariant("both are alike",
                      [](const two_numbers& all) { return wrapLoad(&all.first) == wrapLoad(&all.second); });
    const auto found = explore.run(2);
    EXPECT_TRUE(found.clean()) << found.text();
}

TEST(Exploration, ALeakIsFoundWhereTheStructureSaysWhatItOwns) {
    exploration<redo, chain> explore;
    explore.operation("replace", [](chain& all) { all.first = redo::make<redo::field<long>>(); });
    explore.state([](const chain& all) { return std::vector<bool>{all.first.get() != nullptr}; });
    const auto silent = explore.run(2);
    EXPECT_TRUE(silent.clean()) << silent.text();
    explore.blocks([](const chain& all, const auto& visit) {
        if (all.first.get() != nullptr) visit(all.first.get());
    });
    const auto found = explore.run(2);
    for (const auto& each : found.rows)
        EXPECT_NE(each.violation.find("has no owner"), std::string::npos) << each.violation;
}

TEST(Exploration, ACheckThatATornStructureLeadsAstrayIsAFinding) {
    exploration<redo, pointed> explore;
    explore.operation("point", [](pointed& all) {
        *plain(all.is_there) = 1;
        all.at = reinterpret_cast<long*>(redo::make<redo::field<long>>());
    });
    explore.invariant("what is there is zero", [](const pointed& all) {
        return all.is_there == 0 || *static_cast<volatile long*>(all.at.get()) == 0;
    });
    const auto found = explore.run(1, {.model = "kill"});
    ASSERT_EQ(found.rows.size(), 1u);
    EXPECT_NE(found.rows[0].violation.find("to where nothing is"), std::string::npos) << found.text();
}

/// Whether the explorer learns of it when a check looks at bytes that a cut may have lost.
template <class Look>
bool is_seen(Look look) {
    exploration<redo, labelled> explore;
    explore.operation("label", [](labelled& all) {
        ++all.changes;
        static_cast<volatile char*>(all.label)[0] = 'b';
    });
    explore.state([](const labelled&) { return contents{}; });
    explore.invariant("always", [&](const labelled& all) { return look(all.label); });
    return !explore.run(1, {.model = "x86"}).clean();
}

TEST(Exploration, ChecksThatReadByTheStandardLibraryAreSeenToRead) {
    EXPECT_FALSE(is_seen([](const char*) { return true; }));
    EXPECT_TRUE(is_seen([](const char* text) { return text[0] != 'x'; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::strcmp(text, "x") != 0; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::strncmp(text, "x", 1) != 0; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::strlen(text) < 9; }));
    EXPECT_TRUE(is_seen([](const char* text) { return ::strnlen(text, 3) < 9; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::strchr(text, 'x') == nullptr; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::memchr(text, 'x', 64) == nullptr; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::string_view(text, 1) != "x"; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::string(text, 64)[0] != 'x'; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::string(text) != "x"; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::string("x").compare(text) != 7; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::string("x").append(text, 64)[1] != 'x'; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::vector<char>(text, text + 64)[0] != 'x'; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::count(text, text + 64, 'x') == 0; }));
    EXPECT_TRUE(is_seen([](const char* text) { return std::find(text, text + 64, 'x') == text + 64; }));
    EXPECT_TRUE(is_seen([](const char* text) {
        std::array<char, 24> copy;
        std::copy(text, text + 24, copy.begin());
        return copy[0] != 'x';
    }));
    EXPECT_TRUE(is_seen([](const char* text) {
        const auto copy = *reinterpret_cast<const std::array<char, 48>*>(text);
        return copy[0] != 'x';
    }));
    EXPECT_TRUE(is_seen([](const char* text) {
        labelled copy;
        std::memcpy(copy.label, text, 64);
        return copy.label[0] != 'x';
    }));
}

TEST(Exploration, WhatCannotBeExploredIsRefused) {
    exploration<redo, accounts<redo>> explore;
    EXPECT_THROW(explore.run(1), failure);
    declare_transfers(explore);
    EXPECT_THROW(explore.run(1, {.model = "x87"}), failure);
}

}  // namespace
}  // namespace holdfast::crash
