/** @file
 * A key-value cache in a pool file, for C programs: the commands of memcached without a protocol. What was answered
 * survives kill -9 and, at level power, a power cut.
 *
 *     holdfast_cache* cache;
 *     holdfast_cache_open("sessions", NULL, &cache);
 *     holdfast_cache_set(cache, "user:1", 6, &(struct holdfast_cache_value){.text = "Ada", .bytes = 3}, time(NULL));
 *
 * A key has 1 to 250 bytes, none of them a space or a control character. `now_s` is the time in seconds, from any
 * start, the same for all processes that use the file. `lifetime_s`: 0, it never expires; up to 30 days, seconds; more,
 * a time; negative, it has expired at once. cache/pool_cache.hpp says more.
 *
 * Thread safety: all commands may be called concurrently; open and close are one thread's.
 * What holds if the process dies inside a command: all of it has happened, with its counts, or nothing. A command that
 * has returned has happened.
 * Errors: HOLDFAST_CACHE_FAILED, and holdfast_cache_last_error() has the message. No function throws. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a command did. */
enum holdfast_cache_answer {
    HOLDFAST_CACHE_STORED = 0,
    HOLDFAST_CACHE_NOT_STORED,   /**< add: it was there; replace, append, prepend: it was not */
    HOLDFAST_CACHE_EXISTS,       /**< cas: somebody has changed the value since */
    HOLDFAST_CACHE_NOT_FOUND,
    HOLDFAST_CACHE_FOUND,
    HOLDFAST_CACHE_DELETED,
    HOLDFAST_CACHE_TOUCHED,
    HOLDFAST_CACHE_NOT_A_NUMBER, /**< increment, decrement: the value is not a decimal number below 2^64 */
    HOLDFAST_CACHE_BAD_KEY,
    HOLDFAST_CACHE_TOO_LARGE,    /**< the value is longer than allowed */
    HOLDFAST_CACHE_FAILED        /**< the pool failed, or a pointer is NULL; no effect, except possible evictions. After
                                  * a failed sync it may have taken effect: the message says so */
};

/** Zero is the default of each. All but `at_process` and `tmpfs_is_nvram` apply only when the cache is created. */
struct holdfast_cache_options {
    uint64_t limit_bytes;     /**< of all items; 0: 64 MiB */
    uint64_t value_bytes_max; /**< of one value; 0: 1 MiB */
    uint64_t partitions;      /**< a power of two, at most 64; 0: 1 */
    uint64_t pool_bytes;      /**< of the file; 0: one and a half times the limit, and room for index and log */
    int at_process;           /**< not 0: survives kill -9, but not a power cut */
    int tmpfs_is_nvram;       /**< measurements and tests only */
};

/** An open cache, for all threads. */
typedef struct holdfast_cache holdfast_cache;

/** A value to store. append and prepend use only the text. */
struct holdfast_cache_value {
    const char* text; /**< may be NULL if there are no bytes */
    size_t bytes;
    uint32_t flags;
    int64_t lifetime_s;
};

/** Where get puts what it finds: at most `room` bytes at `text`. `bytes` is how long the value is. */
struct holdfast_cache_found {
    char* text;
    size_t room;
    size_t bytes;
    uint32_t flags;
    uint64_t unique; /**< for cas */
};

/** All counts, of one moment; the names are those of cache_statistics (workload/cache/item.hpp). */
struct holdfast_cache_statistics {
    uint64_t items, bytes, created, evictions, expired, flushed, stores, get_hits, get_misses, deletes, delete_misses,
        increments, increment_misses, decrements, decrement_misses, touches, touch_misses, cas_hits, cas_misses,
        cas_refusals, flushes;
};

/** Opens the cache at `path`, or creates it. `options` may be NULL. 0, or -1 and a message. */
int holdfast_cache_open(const char* path, const struct holdfast_cache_options* options, holdfast_cache** cache);
/** Closes it; afterwards nothing may be called with it. 0, or -1 and a message; it is closed nevertheless. NULL does
 * nothing. */
int holdfast_cache_close(holdfast_cache* cache);

enum holdfast_cache_answer holdfast_cache_get(holdfast_cache* cache, const char* key, size_t key_bytes, uint64_t now_s,
                                              struct holdfast_cache_found* found);
enum holdfast_cache_answer holdfast_cache_set(holdfast_cache* cache, const char* key, size_t key_bytes,
                                              const struct holdfast_cache_value* value, uint64_t now_s);
enum holdfast_cache_answer holdfast_cache_add(holdfast_cache* cache, const char* key, size_t key_bytes,
                                              const struct holdfast_cache_value* value, uint64_t now_s);
enum holdfast_cache_answer holdfast_cache_replace(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                  const struct holdfast_cache_value* value, uint64_t now_s);
enum holdfast_cache_answer holdfast_cache_append(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                 const struct holdfast_cache_value* value, uint64_t now_s);
enum holdfast_cache_answer holdfast_cache_prepend(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                  const struct holdfast_cache_value* value, uint64_t now_s);
enum holdfast_cache_answer holdfast_cache_cas(holdfast_cache* cache, const char* key, size_t key_bytes,
                                              const struct holdfast_cache_value* value, uint64_t unique,
                                              uint64_t now_s);
/** `result` is the new value if the answer is STORED. The sum is modulo 2^64, the difference not below 0. */
enum holdfast_cache_answer holdfast_cache_increment(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                    uint64_t by, uint64_t now_s, uint64_t* result);
enum holdfast_cache_answer holdfast_cache_decrement(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                    uint64_t by, uint64_t now_s, uint64_t* result);
enum holdfast_cache_answer holdfast_cache_delete(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                 uint64_t now_s);
enum holdfast_cache_answer holdfast_cache_touch(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                int64_t lifetime_s, uint64_t now_s);
/** STORED or FAILED. */
enum holdfast_cache_answer holdfast_cache_flush_all(holdfast_cache* cache, int64_t delay_s, uint64_t now_s);
/** FOUND or FAILED. */
enum holdfast_cache_answer holdfast_cache_count(holdfast_cache* cache, struct holdfast_cache_statistics* statistics);

/** The message of the last function of this thread that failed; valid until the next failure. */
const char* holdfast_cache_last_error(void);

#ifdef __cplusplus
}
#endif
