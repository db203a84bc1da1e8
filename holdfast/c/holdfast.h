/** @file
 * The C interface: pools, and wraps on them (holdfast/handle/wrap.hpp says what a wrap is and what survives a crash).
 *
 *     holdfast_wrap* wrap;
 *     holdfast_wrap_open(pool, &wrap);
 *     holdfast_wrap_store(wrap, &account->balance, &balance, sizeof balance);
 *     if (holdfast_wrap_close(wrap) != HOLDFAST_OK) puts(holdfast_last_error());
 *
 * holdfast/c/wrap.h has the papers' names for wraps.
 *
 * Every function that returns int returns HOLDFAST_OK or another holdfast_status, and then holdfast_last_error() has
 * the message. No function throws, and none ends the process. All threads may use a pool; one thread at a time may use
 * a wrap. HOLDFAST_MISUSE: a closed pool; a process forked after the pool was opened; opening, closing, allocating and
 * looking for a root in a signal handler; roots and wraps in destructors that run after the thread's own state is
 * destroyed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a function returns. */
enum holdfast_status {
    HOLDFAST_OK = 0,
    HOLDFAST_NOT_FOUND,             /**< no such file or directory */
    HOLDFAST_ALREADY_EXISTS,        /**< create found a file in its place */
    HOLDFAST_PERMISSION_DENIED,     /**< the file's mode, or a read-only file or file system */
    HOLDFAST_IO,                    /**< the kernel reported a failure without its own code here */
    HOLDFAST_NO_SPACE,              /**< the file system has no room for the pool */
    HOLDFAST_TRUNCATED,             /**< the file is shorter than its header says */
    HOLDFAST_NOT_A_POOL,            /**< the file holds something else */
    HOLDFAST_CORRUPT,               /**< a checksum or bound does not hold */
    HOLDFAST_VERSION_UNSUPPORTED,   /**< the format has a major version that this library does not know */
    HOLDFAST_FEATURE_UNSUPPORTED,   /**< the pool uses a feature that this library does not know */
    HOLDFAST_LAYOUT_MISMATCH,       /**< the pool belongs to another application layout */
    HOLDFAST_ENGINE_MISMATCH,       /**< the pool belongs to another engine, or no engine has that name */
    HOLDFAST_ROOT_MISMATCH,         /**< a root of that name has another size or version */
    HOLDFAST_ADDRESS_TAKEN,         /**< the pool's address range is in use in this process */
    HOLDFAST_BUSY,                  /**< another process or handle holds the pool; or other wraps fill its log */
    HOLDFAST_NOT_DURABLE,           /**< unclean, from another boot, last used below HOLDFAST_POWER */
    HOLDFAST_LEVEL_UNAVAILABLE,     /**< engine or medium cannot keep that promise */
    HOLDFAST_TRANSACTION_TOO_LARGE, /**< more than the log can hold; nothing was changed */
    HOLDFAST_OUT_OF_SPACE,          /**< the pool's heap has no block of that size; nothing was changed */
    HOLDFAST_MISUSE,                /**< the call breaks a rule of the interface */
    HOLDFAST_ABORTED,               /**< the wrap was rolled back */
    HOLDFAST_OUTCOME_UNKNOWN,       /**< a sync failed while this close waited for it */
    HOLDFAST_POISONED,              /**< a sync failed earlier; the pool accepts no further wraps */
    HOLDFAST_INVALID_ARGUMENT       /**< an option or parameter is out of range, or memory ran out */
};

/** What a closed wrap survives. */
enum holdfast_level {
    HOLDFAST_PROCESS = 0, /**< survives kill -9 */
    HOLDFAST_POWER = 3    /**< survives power loss */
};

/** Zero is the default of each. */
struct holdfast_options {
    uint64_t bytes;          /**< of a new pool; 0: 64 MiB */
    int at_process;          /**< not 0: HOLDFAST_PROCESS instead of HOLDFAST_POWER */
    int tmpfs_is_nvram;      /**< measurements and tests only */
    uint32_t trim_batch;     /**< wraps of a thread between two truncations of the log; 0: 64 */
    const char* engine;      /**< "softwrap_lat" or "softwrap"; NULL: the first */
    const char* layout;      /**< name of the application layout; NULL: any */
};

/** An open pool, for all threads. */
typedef struct holdfast_pool holdfast_pool;
/** An open wrap, for one thread at a time. */
typedef struct holdfast_wrap holdfast_wrap;

/** Opens the pool at `path`, or creates it. `options` may be NULL. What holds if the process dies inside: at `path` is
 * either nothing or a complete pool. */
int holdfast_open_or_create(const char* path, const struct holdfast_options* options, holdfast_pool** pool);
/** Opens an existing pool. */
int holdfast_open(const char* path, const struct holdfast_options* options, holdfast_pool** pool);
/** Closes it cleanly. HOLDFAST_MISUSE while a wrap is open on it: the pool and the wrap then stay open; close or abort
 * the wrap first. In a signal handler and in a forked child it is HOLDFAST_MISUSE, too, and nothing is closed. After
 * any other error the pool is closed nevertheless. Every later call with the pool is HOLDFAST_MISUSE.
 * Requires: no other thread uses the pool or a wrap on it meanwhile. NULL does nothing. */
int holdfast_close(holdfast_pool* pool);

/** The object `name` of `bytes` bytes, from which a program finds its data again; all zero when it is new. Size and
 * version must match. What holds if the process dies inside: all of it exists, or none. */
int holdfast_root(holdfast_pool* pool, const char* name, size_t bytes, const char* version, void** root);

/** Algorithm 2 of SoftWrAP-LAT. `value` and `home` may have any alignment. After holdfast_wrap_close and
 * holdfast_wrap_abort the wrap has ended, whatever they return. A lock that guards what it touches may be released only
 * after they return. */
int holdfast_wrap_open(holdfast_pool* pool, holdfast_wrap** wrap);
int holdfast_wrap_store(holdfast_wrap* wrap, void* home, const void* value, size_t bytes);
int holdfast_wrap_load(holdfast_wrap* wrap, const void* home, void* value, size_t bytes);
/** Algorithm 1's load, which names no wrap: what this thread's open wraps have stored, otherwise what was closed last.
 * For pools of softwrap; with another engine it is HOLDFAST_MISUSE. */
int holdfast_load_shared(const void* home, void* value, size_t bytes);
int holdfast_wrap_close(holdfast_wrap* wrap);
int holdfast_wrap_abort(holdfast_wrap* wrap);
/** A block of the pool, uninitialised, aligned to 16; it is free again if the wrap is not closed. */
int holdfast_wrap_allocate(holdfast_wrap* wrap, size_t bytes, void** block);
/** Frees the block; it is reused only after the wrap is durable. */
int holdfast_wrap_free(holdfast_wrap* wrap, void* block);

/** The message of the last function of this thread that failed; valid until the next failure. */
const char* holdfast_last_error(void);

#ifdef __cplusplus
}
#endif
