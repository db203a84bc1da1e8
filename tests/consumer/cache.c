/* The same cache by a program in C: it prints how often the other one has lived. */
#include <cache/cache.h>

#include <stdio.h>

int main(void) {
    holdfast_cache* cache = NULL;
    char room[32];
    struct holdfast_cache_found found = {.text = room, .room = sizeof room};
    if (holdfast_cache_open("cached", NULL, &cache) != 0) {
        puts(holdfast_cache_last_error());
        return 1;
    }
    if (holdfast_cache_get(cache, "lives", 5, 1700000000, &found) != HOLDFAST_CACHE_FOUND) return 1;
    printf("%.*s lives\n", (int)found.bytes, room);
    return holdfast_cache_close(cache) == 0 ? 0 : 1;
}
