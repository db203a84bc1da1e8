/* The papers' names for wraps, for programs written after their listings. They are inline functions only: the library's
 * symbols are those of holdfast/c/holdfast.h. */
#pragma once

#include <holdfast/c/holdfast.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef holdfast_wrap* wrap_id;

static inline int OpenWrap(holdfast_pool* pool, wrap_id* id) { return holdfast_wrap_open(pool, id); }
static inline int wrapStore(wrap_id id, void* home, const void* value, size_t bytes) {
    return holdfast_wrap_store(id, home, value, bytes);
}
static inline int wrapLoad(wrap_id id, const void* home, void* value, size_t bytes) {
    return holdfast_wrap_load(id, home, value, bytes);
}
static inline int wrapLoadShared(const void* home, void* value, size_t bytes) {
    return holdfast_load_shared(home, value, bytes);
}
static inline int CloseWrap(wrap_id id) { return holdfast_wrap_close(id); }
static inline int AbortWrap(wrap_id id) { return holdfast_wrap_abort(id); }
static inline int wrapAllocate(wrap_id id, size_t bytes, void** block) {
    return holdfast_wrap_allocate(id, bytes, block);
}
static inline int wrapFree(wrap_id id, void* block) { return holdfast_wrap_free(id, block); }

#ifdef __cplusplus
}
#endif
