/* Uses the interface as a C program does; cache_in_c_test.cpp calls it. */
#include <cache/cache.h>

#include <stdio.h>
#include <string.h>

int first_life(const char* path, const struct holdfast_cache_options* options);
int second_life(const char* path, const struct holdfast_cache_options* options);

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s: %s\n", __LINE__, #condition, holdfast_cache_last_error());        \
            return __LINE__;                                                                       \
        }                                                                                          \
    } while (0)

/* Every command once or more. Returns the line of what went wrong; 0: nothing. */
int first_life(const char* path, const struct holdfast_cache_options* options) {
    holdfast_cache* cache = NULL;
    const struct holdfast_cache_value ada = {.text = "Ada", .bytes = 3, .flags = 7};
    const struct holdfast_cache_value end = {.text = " Lovelace", .bytes = 9};
    const struct holdfast_cache_value begin = {.text = "Lady ", .bytes = 5};
    const struct holdfast_cache_value number = {.text = "41", .bytes = 2};
    char room[64];
    struct holdfast_cache_found found = {.text = room, .room = sizeof room};
    uint64_t result = 0;
    EXPECT(holdfast_cache_open(path, options, &cache) == 0);
    EXPECT(holdfast_cache_set(cache, "user", 4, &ada, 1000) == HOLDFAST_CACHE_STORED);
    EXPECT(holdfast_cache_add(cache, "user", 4, &ada, 1000) == HOLDFAST_CACHE_NOT_STORED);
    EXPECT(holdfast_cache_replace(cache, "nobody", 6, &ada, 1000) == HOLDFAST_CACHE_NOT_STORED);
    EXPECT(holdfast_cache_append(cache, "user", 4, &end, 1000) == HOLDFAST_CACHE_STORED);
    EXPECT(holdfast_cache_prepend(cache, "user", 4, &begin, 1000) == HOLDFAST_CACHE_STORED);
    EXPECT(holdfast_cache_get(cache, "user", 4, 1000, &found) == HOLDFAST_CACHE_FOUND);
    EXPECT(found.bytes == 17 && memcmp(room, "Lady Ada Lovelace", 17) == 0 && found.flags == 7);
    EXPECT(holdfast_cache_cas(cache, "user", 4, &ada, found.unique + 1, 1000) == HOLDFAST_CACHE_EXISTS);
    EXPECT(holdfast_cache_cas(cache, "user", 4, &ada, found.unique, 1000) == HOLDFAST_CACHE_STORED);
    EXPECT(holdfast_cache_set(cache, "count", 5, &number, 1000) == HOLDFAST_CACHE_STORED);
    EXPECT(holdfast_cache_increment(cache, "count", 5, 3, 1000, &result) == HOLDFAST_CACHE_STORED && result == 44);
    EXPECT(holdfast_cache_decrement(cache, "count", 5, 2, 1000, &result) == HOLDFAST_CACHE_STORED && result == 42);
    EXPECT(holdfast_cache_increment(cache, "user", 4, 1, 1000, &result) == HOLDFAST_CACHE_NOT_A_NUMBER);
    EXPECT(holdfast_cache_touch(cache, "count", 5, 100, 1000) == HOLDFAST_CACHE_TOUCHED);
    EXPECT(holdfast_cache_set(cache, "gone", 4, &ada, 1000) == HOLDFAST_CACHE_STORED);
    EXPECT(holdfast_cache_delete(cache, "gone", 4, 1000) == HOLDFAST_CACHE_DELETED);
    EXPECT(holdfast_cache_set(cache, "a space", 7, &ada, 1000) == HOLDFAST_CACHE_BAD_KEY);
    EXPECT(holdfast_cache_set(cache, "user", 4, NULL, 1000) == HOLDFAST_CACHE_FAILED);
    EXPECT(strstr(holdfast_cache_last_error(), "NULL") != NULL);
    EXPECT(holdfast_cache_close(cache) == 0);
    return 0;
}

/* Finds what the first life left, and then flushes it. */
int second_life(const char* path, const struct holdfast_cache_options* options) {
    holdfast_cache* cache = NULL;
    char room[2];
    struct holdfast_cache_found found = {.text = room, .room = sizeof room};
    struct holdfast_cache_statistics counts;
    EXPECT(holdfast_cache_open(path, options, &cache) == 0);
    EXPECT(holdfast_cache_get(cache, "user", 4, 1099, &found) == HOLDFAST_CACHE_FOUND);
    EXPECT(found.bytes == 3 && memcmp(room, "Ad", 2) == 0);
    EXPECT(holdfast_cache_get(cache, "count", 5, 1100, &found) == HOLDFAST_CACHE_NOT_FOUND);
    EXPECT(holdfast_cache_flush_all(cache, 0, 1100) == HOLDFAST_CACHE_STORED);
    EXPECT(holdfast_cache_get(cache, "user", 4, 1100, &found) == HOLDFAST_CACHE_NOT_FOUND);
    EXPECT(holdfast_cache_count(cache, &counts) == HOLDFAST_CACHE_FOUND);
    EXPECT(counts.items == 0 && counts.bytes == 0 && counts.created == 3 && counts.deletes == 1);
    EXPECT(counts.expired == 1 && counts.flushed == 1 && counts.get_hits == 2 && counts.get_misses == 2);
    EXPECT(holdfast_cache_close(cache) == 0);
    return 0;
}
