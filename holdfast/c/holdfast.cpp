// The C interface over pools and wraps of any engine that has them.
#include <holdfast/c/holdfast.h>

#include <holdfast/c/kept_text.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/handle/wrap.hpp>

#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

/// A wrap of some engine.
struct holdfast_wrap {
    explicit holdfast_wrap(holdfast_pool& opened_on) noexcept;
    virtual ~holdfast_wrap();
    holdfast_wrap(const holdfast_wrap&) = delete;
    holdfast_wrap& operator=(const holdfast_wrap&) = delete;
    virtual void store(void* home, const void* value, std::size_t bytes) = 0;
    virtual void load(const void* home, void* value, std::size_t bytes) = 0;
    virtual void* allocate(std::size_t bytes) = 0;
    virtual void free(void* block) = 0;
    virtual holdfast::result<void> close() = 0;

    holdfast_pool& pool;
};

namespace holdfast::detail {

/// A pool of some engine.
struct pool_in_c {
    virtual ~pool_in_c() = default;
    virtual std::unique_ptr<holdfast_wrap> open_wrap(holdfast_pool& of) = 0;
    virtual void* root(std::string_view name, std::size_t bytes, std::string_view version) = 0;
    virtual result<void> close() = 0;
};

}  // namespace holdfast::detail

/// What a program holds of a pool. It stays when the pool is closed, so that a call with it can be refused: C has
/// nothing that forgets a pointer. All of them hang on one list, where whoever looks for leaks finds them.
struct holdfast_pool {
    /// Once, and then it is never destroyed.
    void begin(std::unique_ptr<holdfast::detail::pool_in_c> made) noexcept {
        opened = std::move(made);
        static std::atomic<holdfast_pool*> all{nullptr};
        before = all.load(std::memory_order_relaxed);
        while (!all.compare_exchange_weak(before, this, std::memory_order_release, std::memory_order_relaxed)) {
        }
    }
    holdfast::detail::pool_in_c& required() {
        if (!opened) holdfast::fail(holdfast::errc::misuse, "the pool was closed");
        return *opened;
    }

    std::unique_ptr<holdfast::detail::pool_in_c> opened;  ///< nullptr: closed
    std::atomic<std::size_t> open_wraps{0};
    holdfast_pool* before = nullptr;
};

holdfast_wrap::holdfast_wrap(holdfast_pool& opened_on) noexcept : pool(opened_on) {
    pool.open_wraps.fetch_add(1, std::memory_order_relaxed);
}
holdfast_wrap::~holdfast_wrap() { pool.open_wraps.fetch_sub(1, std::memory_order_relaxed); }

namespace holdfast {
namespace {

static_assert(static_cast<int>(errc::invalid_argument) + 1 == HOLDFAST_INVALID_ARGUMENT &&
                  static_cast<int>(errc::not_found) + 1 == HOLDFAST_NOT_FOUND &&
                  static_cast<int>(errc::busy) + 1 == HOLDFAST_BUSY &&
                  static_cast<int>(errc::misuse) + 1 == HOLDFAST_MISUSE,
              "a status is the error's code and one");
static_assert(static_cast<int>(level::process) == HOLDFAST_PROCESS && static_cast<int>(level::power) == HOLDFAST_POWER);

template <class Engine>
struct wrap_in_c final : holdfast_wrap {
    wrap_in_c(holdfast_pool& opened_on, basic_pool<Engine>& of) : holdfast_wrap(opened_on), id(of) {}
    void store(void* home, const void* value, std::size_t bytes) override { id.store(home, value, bytes); }
    void load(const void* home, void* value, std::size_t bytes) override { id.load(home, value, bytes); }
    void* allocate(std::size_t bytes) override { return id.allocate(bytes); }
    void free(void* block) override { id.free(block); }
    result<void> close() override { return id.close(); }

    wrap<Engine> id;
};

template <class Engine>
struct basic_pool_in_c final : detail::pool_in_c {
    std::unique_ptr<holdfast_wrap> open_wrap(holdfast_pool& of) override {
        return std::make_unique<wrap_in_c<Engine>>(of, *pool);
    }
    void* root(std::string_view name, std::size_t bytes, std::string_view version) override {
        constexpr std::size_t alignment = 16;
        const root_type type{bytes, alignment, version};
        return pool
            ->atomically([&]() -> result<std::byte*> {
                auto& transaction = current_transaction<Engine>();
                auto found = find_root_or_prepare(transaction, name, type);
                if (!found || *found != nullptr) return found;
                std::byte* const made = Engine::allocate(bytes, alignment);
                Engine::fill_zero(made, bytes);
                if (auto entered = enter_root(transaction, name, type, made); !entered) return entered.error();
                return made;
            })
            .value();
    }
    result<void> close() override { return pool->close(); }

    std::optional<basic_pool<Engine>> pool;  ///< always there behind the interface
};

thread_local constinit detail::kept_text last_error;

int note(const error& reason) noexcept {
    try {
        last_error.keep(reason.text());
    } catch (const std::bad_alloc&) {
        last_error.keep("no memory");
    }
    return static_cast<int>(reason.code) + 1;
}

/// Runs f; whatever leaves it becomes a status.
template <class F>
int status_of(F&& f) noexcept {
    try {
        f();
        return HOLDFAST_OK;
    } catch (const failure& reason) {
        return note(reason.reason());
    } catch (const std::bad_alloc&) {
        last_error.keep("no memory");
        return static_cast<int>(errc::invalid_argument) + 1;
    }
}

create_options options_of(const holdfast_options* given) {
    create_options options;
    if (given == nullptr) return options;
    if (given->bytes != 0) options.bytes = given->bytes;
    if (given->at_process != 0) options.durability = level::process;
    options.tmpfs_is_nvram = given->tmpfs_is_nvram != 0;
    if (given->trim_batch != 0) options.wraps.trim_batch = given->trim_batch;
    if (given->layout != nullptr) options.layout = given->layout;
    return options;
}

template <class... Pointers>
void refuse_null(const char* what, Pointers... pointers) {
    const bool missing = (!pointers || ...);
    if (missing) fail(errc::invalid_argument, std::string(what) + ": a pointer is NULL");
}

/// Where it is refused the pool stays open: with it would go what its wraps have stored, and nobody would have been
/// asked. A pool that is closed with an error is closed.
void close_pool(holdfast_pool& pool) {
    detail::pool_in_c& opened = pool.required();
    const std::size_t wraps = pool.open_wraps.load(std::memory_order_relaxed);
    if (wraps != 0) {
        fail(errc::misuse, "the pool has " + std::to_string(wraps) + (wraps == 1 ? " open wrap" : " open wraps") +
                               "; close or abort what is open, then close the pool again");
    }
    const auto closed = opened.close();
    if (closed || closed.error().code != errc::misuse) pool.opened.reset();
    closed.value();
}

enum class wanted : bool { existing, any };

int open_pool_in_c(const char* path, const holdfast_options* given, wanted which, holdfast_pool** out) noexcept {
    return status_of([&] {
        refuse_null("opening a pool", path, out);
        *out = nullptr;
        const std::string engine = given != nullptr && given->engine != nullptr ? given->engine : "softwrap_lat";
        const create_options options = options_of(given);
        const auto open = [&]<class Engine>() {
            // Its memory comes first: a pool that was created is there.
            auto made = std::make_unique<basic_pool_in_c<Engine>>();
            auto handle = std::make_unique<holdfast_pool>();
            auto opened = which == wanted::any ? basic_pool<Engine>::open_or_create(path, options)
                                               : basic_pool<Engine>::open(path, options);
            made->pool.emplace(std::move(opened).value());
            handle->begin(std::move(made));
            *out = handle.release();
        };
        if (engine == softwrap_lat::description.name) return open.template operator()<softwrap_lat>();
        if (engine == softwrap::description.name) return open.template operator()<softwrap>();
        fail(errc::engine_mismatch,
             "there is no engine \"" + engine + "\" that has wraps; softwrap_lat and softwrap have");
    });
}

}  // namespace
}  // namespace holdfast

extern "C" {

int holdfast_open_or_create(const char* path, const holdfast_options* options, holdfast_pool** pool) {
    return holdfast::open_pool_in_c(path, options, holdfast::wanted::any, pool);
}

int holdfast_open(const char* path, const holdfast_options* options, holdfast_pool** pool) {
    return holdfast::open_pool_in_c(path, options, holdfast::wanted::existing, pool);
}

int holdfast_close(holdfast_pool* pool) {
    return holdfast::status_of([&] {
        if (pool != nullptr) holdfast::close_pool(*pool);
    });
}

int holdfast_root(holdfast_pool* pool, const char* name, size_t bytes, const char* version, void** root) {
    return holdfast::status_of([&] {
        holdfast::refuse_null("looking for a root", pool, name, version, root);
        *root = pool->required().root(name, bytes, version);
    });
}

int holdfast_wrap_open(holdfast_pool* pool, holdfast_wrap** wrap) {
    return holdfast::status_of([&] {
        holdfast::refuse_null("holdfast_wrap_open", pool, wrap);
        *wrap = pool->required().open_wrap(*pool).release();
    });
}

int holdfast_wrap_store(holdfast_wrap* wrap, void* home, const void* value, size_t bytes) {
    return holdfast::status_of([&] {
        holdfast::refuse_null("holdfast_wrap_store", wrap, home, value);
        wrap->store(home, value, bytes);
    });
}

int holdfast_wrap_load(holdfast_wrap* wrap, const void* home, void* value, size_t bytes) {
    return holdfast::status_of([&] {
        holdfast::refuse_null("holdfast_wrap_load", wrap, home, value);
        wrap->load(home, value, bytes);
    });
}

int holdfast_load_shared(const void* home, void* value, size_t bytes) {
    return holdfast::status_of([&] {
        holdfast::refuse_null("holdfast_load_shared", home, value);
        holdfast::softwrap::require_in_open_pool(home);
        holdfast::softwrap::read(home, value, bytes);
    });
}

int holdfast_wrap_close(holdfast_wrap* wrap) {
    const std::unique_ptr<holdfast_wrap> ended(wrap);
    return holdfast::status_of([&] {
        holdfast::refuse_null("holdfast_wrap_close", wrap);
        ended->close().value();
    });
}

int holdfast_wrap_abort(holdfast_wrap* wrap) {
    const std::unique_ptr<holdfast_wrap> ended(wrap);
    return holdfast::status_of([&] { holdfast::refuse_null("holdfast_wrap_abort", wrap); });
}

int holdfast_wrap_allocate(holdfast_wrap* wrap, size_t bytes, void** block) {
    return holdfast::status_of([&] {
        holdfast::refuse_null("holdfast_wrap_allocate", wrap, block);
        *block = wrap->allocate(bytes);
    });
}

int holdfast_wrap_free(holdfast_wrap* wrap, void* block) {
    return holdfast::status_of([&] {
        holdfast::refuse_null("holdfast_wrap_free", wrap);
        wrap->free(block);
    });
}

const char* holdfast_last_error(void) { return holdfast::last_error.data(); }

}  // extern "C"
