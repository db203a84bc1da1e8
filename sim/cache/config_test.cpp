// Wrong settings are told by key, value and range, before a machine is built from them.
#include <sim/cache/cache_config.hpp>
#include <sim/memory/memory_config.hpp>

#include <gtest/gtest.h>

namespace holdfast::sim {

namespace {

std::string refusal(const memory_config& config) {
    const auto error = check(config);
    return error ? error->text() : "";
}

std::string refusal(const hierarchy_config& config) {
    const auto error = check(config);
    return error ? error->text() : "";
}

template <class Config>
std::string refusal_of_setting(std::string_view key, std::string_view text) {
    Config config;
    const auto error = set(config, key, text);
    return error ? error->text() : refusal(config);
}

TEST(Configuration, TheDefaultsAreAllowed) {
    EXPECT_EQ(refusal(memory_config{}), "");
    EXPECT_EQ(refusal(hierarchy_config{}), "");
}

TEST(Configuration, AFieldOutOfItsRangeIsToldByKeyValueAndRange) {
    memory_config memory;
    memory.nvram.banks = 3;
    EXPECT_EQ(refusal(memory), "nvram.banks is 3, allowed is a power of two from 1 to 64");
    hierarchy_config caches;
    caches.dl1.ways = 17;
    EXPECT_EQ(refusal(caches), "cache.dl1.ways is 17, allowed is 1 to 16");
}

TEST(Configuration, FieldsThatDoNotFitEachOtherAreTold) {
    memory_config memory;
    memory.controller.low_mark = 48;
    EXPECT_EQ(refusal(memory), "controller.low_mark is 48, allowed is less than controller.high_mark, 48");
    hierarchy_config caches;
    caches.l2.bytes = 3 * 1024 * 1024;
    EXPECT_EQ(refusal(caches), "cache.l2.bytes is 3145728, allowed is 64 bytes times 16 ways times a power of two");
}

TEST(Configuration, FieldsAreSetByTheirKeys) {
    memory_config memory;
    EXPECT_FALSE(set(memory, "controller.drain", "marks_between"));
    EXPECT_EQ(memory.controller.drain, drain_policy::marks_between);
    EXPECT_FALSE(set(memory, "nvram.whole_row_activation", "true"));
    EXPECT_TRUE(memory.nvram.whole_row_activation);
    EXPECT_FALSE(set(memory, "nvram.row_hit_ns", "35.5"));
    EXPECT_EQ(memory.nvram.row_hit, ps(35'500));
    hierarchy_config caches;
    EXPECT_FALSE(set(caches, "cache.l2.bytes", "4194304"));
    EXPECT_EQ(caches.l2.bytes, 4'194'304u);
    EXPECT_EQ(caches.dl1.bytes, 32'768u);
}

TEST(Configuration, AKeyOrATextThatMeansNothingIsTold) {
    EXPECT_EQ(refusal_of_setting<memory_config>("nvram.bank", "8"),
              "nvram.bank is 8, allowed is a key of this machine");
    EXPECT_EQ(refusal_of_setting<memory_config>("controller.drain", "later"),
              "controller.drain is later, allowed is marks, marks_block, marks_between, until_full, idle");
    EXPECT_EQ(refusal_of_setting<memory_config>("nvram.banks", "8k"),
              "nvram.banks is 8k, allowed is a whole number up to 64");
    EXPECT_EQ(refusal_of_setting<hierarchy_config>("cache.l2.latency_ns", "4.4ns"),
              "cache.l2.latency_ns is 4.4ns, allowed is nanoseconds from 0 to 1000");
    EXPECT_EQ(refusal_of_setting<hierarchy_config>("cache.l2.latency_ns", ""),
              "cache.l2.latency_ns is , allowed is nanoseconds from 0 to 1000");
    EXPECT_EQ(refusal_of_setting<memory_config>("nvram.whole_row_activation", "yes"),
              "nvram.whole_row_activation is yes, allowed is true or false");
}

TEST(Configuration, ATimeIsWrittenAsPeopleWriteIt) {
    EXPECT_EQ(nanoseconds_text(ps(1600)), "1.6");
    EXPECT_EQ(nanoseconds_text(ns(300)), "300");
    EXPECT_EQ(nanoseconds_text(ps(1)), "0.001");
}

}  // namespace
}  // namespace holdfast::sim
