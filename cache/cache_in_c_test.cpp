// The cache's C interface, from a C program.
#include <cache/cache.h>

#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <string>

extern "C" {
int first_life(const char* path, const holdfast_cache_options* options);
int second_life(const char* path, const holdfast_cache_options* options);
}

namespace holdfast {
namespace {

using persist::test::scratch_directory;

TEST(CacheInC, AProgramFindsItsItemsInItsNextLife) {
    for (const char* directory : {"/dev/shm", "."}) {
        const scratch_directory scratch(directory);
        holdfast_cache_options options{};
        options.limit_bytes = 1 << 20;
        options.tmpfs_is_nvram = 1;
        EXPECT_EQ(first_life(scratch.file("cache").c_str(), &options), 0);
        EXPECT_EQ(second_life(scratch.file("cache").c_str(), &options), 0);
    }
}

TEST(CacheInC, WhatCannotBeOpenedIsAMessage) {
    holdfast_cache* cache = nullptr;
    EXPECT_EQ(holdfast_cache_open("/no/such/directory/cache", nullptr, &cache), -1);
    EXPECT_EQ(cache, nullptr);
    EXPECT_NE(std::string(holdfast_cache_last_error()), "");
    EXPECT_EQ(holdfast_cache_open(nullptr, nullptr, &cache), -1);
    EXPECT_EQ(holdfast_cache_close(nullptr), 0);
    holdfast_cache_statistics counts;
    EXPECT_EQ(holdfast_cache_count(nullptr, &counts), HOLDFAST_CACHE_FAILED);
}

TEST(CacheInC, WhatIsNullDoesNoHarm) {
    const scratch_directory scratch("/dev/shm");
    holdfast_cache_options options{};
    options.limit_bytes = 1 << 20;
    options.tmpfs_is_nvram = 1;
    int other = 0;
    auto* cache = reinterpret_cast<holdfast_cache*>(&other);
    EXPECT_EQ(holdfast_cache_open(nullptr, &options, &cache), -1);
    EXPECT_EQ(cache, nullptr) << "so that a program may close it";
    ASSERT_EQ(holdfast_cache_open(scratch.file("cache").c_str(), &options, &cache), 0) << holdfast_cache_last_error();
    holdfast_cache_value value{};
    EXPECT_EQ(holdfast_cache_set(cache, "a", 1, &value, 1), HOLDFAST_CACHE_STORED);
    value.bytes = 3;
    EXPECT_EQ(holdfast_cache_set(cache, "a", 1, &value, 1), HOLDFAST_CACHE_FAILED);
    EXPECT_EQ(holdfast_cache_set(cache, "a", 1, nullptr, 1), HOLDFAST_CACHE_FAILED);
    EXPECT_EQ(holdfast_cache_set(cache, nullptr, 1, &value, 1), HOLDFAST_CACHE_FAILED);
    value.text = "xyz";
    EXPECT_EQ(holdfast_cache_set(cache, "a", 1, &value, 1), HOLDFAST_CACHE_STORED);
    holdfast_cache_found found{};
    EXPECT_EQ(holdfast_cache_get(cache, "a", 1, 1, &found), HOLDFAST_CACHE_FOUND) << "how long it is";
    EXPECT_EQ(found.bytes, 3u);
    found.room = 1;
    EXPECT_EQ(holdfast_cache_get(cache, "a", 1, 1, &found), HOLDFAST_CACHE_FAILED);
    EXPECT_EQ(holdfast_cache_increment(cache, "a", 1, 1, 1, nullptr), HOLDFAST_CACHE_NOT_A_NUMBER);
    EXPECT_EQ(holdfast_cache_count(cache, nullptr), HOLDFAST_CACHE_FAILED);
    EXPECT_EQ(holdfast_cache_close(cache), 0);
}

}  // namespace
}  // namespace holdfast
