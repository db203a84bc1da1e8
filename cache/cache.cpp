// The C interface over pool_cache.
#include <cache/cache.h>

#include <cache/pool_cache.hpp>

#include <holdfast/c/kept_text.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

struct holdfast_cache {
    holdfast::pool_cache opened;
};

namespace holdfast {
namespace {

static_assert(static_cast<int>(cache_answer::stored) == HOLDFAST_CACHE_STORED &&
                  static_cast<int>(cache_answer::found) == HOLDFAST_CACHE_FOUND &&
                  static_cast<int>(cache_answer::too_large) == HOLDFAST_CACHE_TOO_LARGE &&
                  static_cast<int>(cache_answer::failed) == HOLDFAST_CACHE_FAILED,
              "an answer is the same number in both languages");
static_assert(sizeof(holdfast_cache_statistics) == sizeof(cache_statistics) &&
                  offsetof(holdfast_cache_statistics, flushes) == offsetof(cache_statistics, flushes) &&
                  offsetof(holdfast_cache_statistics, deletes) == offsetof(cache_statistics, deletes),
              "the counts are the same words in both languages");

thread_local constinit detail::kept_text last_error;

/// Runs f; whatever leaves it becomes a message. False: there is one.
template <class F>
bool succeeds(F&& f) noexcept {
    try {
        f();
        return true;
    } catch (const failure& reason) {
        last_error.keep(reason.what());
    } catch (const std::bad_alloc&) {
        last_error.keep("no memory");
    }
    return false;
}

template <class... Pointers>
void refuse_null(Pointers... pointers) {
    if ((!pointers || ...)) fail(errc::invalid_argument, "a pointer is NULL");
}

/// What f(cache, key) answers.
template <class F>
holdfast_cache_answer command(holdfast_cache* cache, const char* key, std::size_t key_bytes, F&& f) noexcept {
    cache_answer answer = cache_answer::failed;
    const bool good = succeeds([&] {
        refuse_null(cache, key);
        answer = f(cache->opened, std::string_view(key, key_bytes));
    });
    return static_cast<holdfast_cache_answer>(good ? answer : cache_answer::failed);
}

cache_value value_of(const holdfast_cache_value* given) {
    refuse_null(given);
    if (given->bytes != 0) refuse_null(given->text);
    return {{given->text, given->bytes}, given->flags, given->lifetime_s};
}

pool_cache_options options_of(const holdfast_cache_options* given) {
    pool_cache_options options;
    if (given == nullptr) return options;
    if (given->limit_bytes != 0) options.cache.limit_bytes = given->limit_bytes;
    if (given->value_bytes_max != 0) options.cache.value_bytes_max = given->value_bytes_max;
    if (given->partitions != 0) options.cache.partitions = given->partitions;
    options.pool_bytes = given->pool_bytes;
    if (given->at_process != 0) options.pool.durability = level::process;
    options.pool.tmpfs_is_nvram = given->tmpfs_is_nvram != 0;
    return options;
}

/// set, add and replace.
using storing = result<cache_answer> (pool_cache::*)(std::string_view, const cache_value&, std::uint64_t);
holdfast_cache_answer store(storing how, holdfast_cache* cache, const char* key, std::size_t key_bytes,
                            const holdfast_cache_value* value, std::uint64_t now_s) noexcept {
    return command(cache, key, key_bytes, [&](pool_cache& all, std::string_view name) {
        return (all.*how)(name, value_of(value), now_s).value();
    });
}

/// append and prepend.
using joining = result<cache_answer> (pool_cache::*)(std::string_view, std::string_view, std::uint64_t);
holdfast_cache_answer join(joining how, holdfast_cache* cache, const char* key, std::size_t key_bytes,
                           const holdfast_cache_value* value, std::uint64_t now_s) noexcept {
    return command(cache, key, key_bytes, [&](pool_cache& all, std::string_view name) {
        return (all.*how)(name, value_of(value).text, now_s).value();
    });
}

/// increment and decrement.
using calculating = result<cache_number> (pool_cache::*)(std::string_view, std::uint64_t, std::uint64_t);
holdfast_cache_answer calculate(calculating how, holdfast_cache* cache, const char* key, std::size_t key_bytes,
                                std::uint64_t by, std::uint64_t now_s, std::uint64_t* number) noexcept {
    return command(cache, key, key_bytes, [&](pool_cache& all, std::string_view name) {
        const cache_number said = (all.*how)(name, by, now_s).value();
        if (said.answer == cache_answer::stored && number != nullptr) *number = said.number;
        return said.answer;
    });
}

cache_answer found_in(cache_hit hit, holdfast_cache_found& found) {
    if (hit.answer != cache_answer::found) return hit.answer;
    if (found.room != 0) std::memcpy(found.text, hit.text.data(), std::min(hit.text.size(), found.room));
    found.bytes = hit.text.size();
    found.flags = hit.flags;
    found.unique = hit.unique;
    return hit.answer;
}

}  // namespace
}  // namespace holdfast

extern "C" {

int holdfast_cache_open(const char* path, const holdfast_cache_options* options, holdfast_cache** cache) {
    return holdfast::succeeds([&] {
        holdfast::refuse_null(cache);
        *cache = nullptr;
        holdfast::refuse_null(path);
        *cache = new holdfast_cache{holdfast::pool_cache::open_or_create(path, holdfast::options_of(options)).value()};
    }) ? 0 : -1;
}

int holdfast_cache_close(holdfast_cache* cache) {
    if (cache == nullptr) return 0;
    const bool good = holdfast::succeeds([&] { cache->opened.close().value(); });
    delete cache;
    return good ? 0 : -1;
}

enum holdfast_cache_answer holdfast_cache_get(holdfast_cache* cache, const char* key, size_t key_bytes, uint64_t now_s,
                                              holdfast_cache_found* found) {
    return holdfast::command(cache, key, key_bytes, [&](auto& all, std::string_view name) {
        holdfast::refuse_null(found);
        if (found->room != 0) holdfast::refuse_null(found->text);
        return holdfast::found_in(all.get(name, now_s).value(), *found);
    });
}

enum holdfast_cache_answer holdfast_cache_set(holdfast_cache* cache, const char* key, size_t key_bytes,
                                              const holdfast_cache_value* value, uint64_t now_s) {
    return holdfast::store(&holdfast::pool_cache::set, cache, key, key_bytes, value, now_s);
}

enum holdfast_cache_answer holdfast_cache_add(holdfast_cache* cache, const char* key, size_t key_bytes,
                                              const holdfast_cache_value* value, uint64_t now_s) {
    return holdfast::store(&holdfast::pool_cache::add, cache, key, key_bytes, value, now_s);
}

enum holdfast_cache_answer holdfast_cache_replace(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                  const holdfast_cache_value* value, uint64_t now_s) {
    return holdfast::store(&holdfast::pool_cache::replace, cache, key, key_bytes, value, now_s);
}

enum holdfast_cache_answer holdfast_cache_append(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                 const holdfast_cache_value* value, uint64_t now_s) {
    return holdfast::join(&holdfast::pool_cache::append, cache, key, key_bytes, value, now_s);
}

enum holdfast_cache_answer holdfast_cache_prepend(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                  const holdfast_cache_value* value, uint64_t now_s) {
    return holdfast::join(&holdfast::pool_cache::prepend, cache, key, key_bytes, value, now_s);
}

enum holdfast_cache_answer holdfast_cache_cas(holdfast_cache* cache, const char* key, size_t key_bytes,
                                              const holdfast_cache_value* value, uint64_t unique, uint64_t now_s) {
    return holdfast::command(cache, key, key_bytes, [&](auto& all, std::string_view name) {
        return all.cas(name, holdfast::value_of(value), unique, now_s).value();
    });
}

enum holdfast_cache_answer holdfast_cache_increment(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                    uint64_t by, uint64_t now_s, uint64_t* result) {
    return holdfast::calculate(&holdfast::pool_cache::increment, cache, key, key_bytes, by, now_s, result);
}

enum holdfast_cache_answer holdfast_cache_decrement(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                    uint64_t by, uint64_t now_s, uint64_t* result) {
    return holdfast::calculate(&holdfast::pool_cache::decrement, cache, key, key_bytes, by, now_s, result);
}

enum holdfast_cache_answer holdfast_cache_delete(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                 uint64_t now_s) {
    return holdfast::command(cache, key, key_bytes,
                             [&](auto& all, std::string_view name) { return all.remove(name, now_s).value(); });
}

enum holdfast_cache_answer holdfast_cache_touch(holdfast_cache* cache, const char* key, size_t key_bytes,
                                                int64_t lifetime_s, uint64_t now_s) {
    return holdfast::command(cache, key, key_bytes, [&](auto& all, std::string_view name) {
        return all.touch(name, lifetime_s, now_s).value();
    });
}

enum holdfast_cache_answer holdfast_cache_flush_all(holdfast_cache* cache, int64_t delay_s, uint64_t now_s) {
    return holdfast::command(cache, "", 0, [&](auto& all, std::string_view) {
        all.flush_all(delay_s, now_s).value();
        return holdfast::cache_answer::stored;
    });
}

enum holdfast_cache_answer holdfast_cache_count(holdfast_cache* cache, holdfast_cache_statistics* statistics) {
    return holdfast::command(cache, "", 0, [&](auto& all, std::string_view) {
        holdfast::refuse_null(statistics);
        const holdfast::cache_statistics counts = all.statistics().value();
        std::memcpy(statistics, &counts, sizeof counts);
        return holdfast::cache_answer::found;
    });
}

const char* holdfast_cache_last_error(void) { return holdfast::last_error.data(); }

}  // extern "C"
