// The form of lines that was not chosen must be as right as the one that was, or measuring it would say nothing.
#include <bench/tagged_lines.hpp>

#include <holdfast/persist/counters.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace holdfast::bench {
namespace {

struct words {
    std::array<std::uint64_t, 12> all;  ///< 96 bytes: four pieces
};
using tagged = tagged_lines<words>;

struct alignas(64) image {
    std::array<unsigned char, sizeof(tagged)> bytes;
};

image image_of(const tagged& object) {
    image all;
    std::memcpy(&all, static_cast<const void*>(&object), sizeof all);
    return all;
}

/// The object that recovery finds in an image.
words recovered(const image& from) {
    tagged object;
    std::memcpy(static_cast<void*>(&object), &from, sizeof from);
    object.recover();
    return object.get();
}

void set_all(words& active, std::uint64_t value) {
    for (auto& word : active.all) word = value;
}

TEST(TaggedLines, KeepWhatTransactionsLeave) {
    static_assert(sizeof(tagged) == 4 * 64);
    tagged object;
    words expected{};
    for (std::uint64_t i = 1; i < 100; ++i) {
        object.transact([=](words& active) { active.all[i * 5 % 12] += i; });
        expected.all[i * 5 % 12] += i;
        ASSERT_EQ(object.get().all, expected.all) << "after transaction " << i;
    }
}

TEST(TaggedLines, ATransactionWritesBackTheLinesThatChangedAndFencesOnce) {
    tagged object;
    line_medium_state::needs = line_medium_state::fences | line_medium_state::write_backs;
    const auto before = persist::thread_counters();
    object.transact([](words& active) { active.all[0] = active.all[11] = 1; });
    const auto spent = persist::thread_counters() - before;
    line_medium_state::needs = 0;
    EXPECT_EQ(spent.write_backs, 2u);
    EXPECT_EQ(spent.fences, 1u);
}

TEST(TaggedLines, ACrashThatLosesSomeLinesOfATransactionLeavesTheOneBefore) {
    tagged object;
    object.transact([](words& active) { set_all(active, 1); });
    object.transact([](words& active) { active.all[0] = active.all[11] = 2; });
    const image before = image_of(object);
    const words was = object.get();
    object.transact([](words& active) { set_all(active, 3); });
    const image after = image_of(object);
    for (unsigned kept = 0; kept < 16; ++kept) {
        image cut = before;
        for (unsigned line = 0; line < 4; ++line)
            if ((kept >> line & 1u) != 0) std::memcpy(&cut.bytes[line * 64], &after.bytes[line * 64], 64);
        const words found = recovered(cut);
        EXPECT_EQ(found.all, kept == 15 ? object.get().all : was.all) << "lines kept: " << kept;
    }
}

TEST(TaggedLines, WhatRecoveryTookAwayCannotBeCompletedByTheNextTransaction) {
    tagged object;
    const image before = image_of(object);
    object.transact([](words& active) { set_all(active, 3); });
    image cut = before;
    std::memcpy(&cut.bytes[0], &image_of(object).bytes[0], 64);
    tagged torn;
    std::memcpy(static_cast<void*>(&torn), &cut, sizeof cut);
    torn.recover();
    torn.transact([](words& active) { active.all[11] = 4; });
    torn.recover();
    EXPECT_EQ(torn.get().all[0], 0u);
    EXPECT_EQ(torn.get().all[11], 4u);
}

}  // namespace
}  // namespace holdfast::bench
