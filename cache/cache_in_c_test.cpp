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

}  // namespace
}  // namespace holdfast
