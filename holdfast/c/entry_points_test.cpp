// Every function of the C interface in every state that a program may be in: it works, or it is HOLDFAST_MISUSE.
#include <holdfast/c/holdfast.h>
#include <holdfast/handle/entry_states_test.hpp>
#include <holdfast/persist/test_scratch.hpp>
#include <holdfast/pool/open_pool.hpp>

#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::test {
namespace {

outcome outcome_of_status(int status) {
    if (status == HOLDFAST_OK) return outcome::works;
    return status == HOLDFAST_MISUSE && holdfast_last_error()[0] != 0 ? outcome::misuse : outcome::other;
}

/// A pool through the C interface, an object in it, and perhaps an open wrap.
struct c_world {
    explicit c_world(bool with_wrap = false) {
        options.bytes = 512 << 10;
        options.tmpfs_is_nvram = 1;
        options.engine = "softwrap";
        const bool opened = holdfast_open_or_create(path().c_str(), &options, &pool) == HOLDFAST_OK &&
                            holdfast_root(pool, "data", 2 * sizeof *object, "1", &root) == HOLDFAST_OK;
        if (!opened) fail(errc::io, holdfast_last_error());
        object = static_cast<std::int64_t*>(root);
        store(0, 42);
        if (with_wrap) holdfast_wrap_open(pool, &id);
    }

    std::string path() const { return scratch.file("pool"); }
    void store(std::size_t index, std::int64_t value) {
        holdfast_wrap* mine = nullptr;
        holdfast_wrap_open(pool, &mine);
        holdfast_wrap_store(mine, object + index, &value, sizeof value);
        holdfast_wrap_close(mine);
    }
    void use() { store(1, 7); }
    void close() {}
    void move_away() {}
    template <class F>
    void run_inside(F&& f) {
        f();
    }
    void drop() {
        if (id != nullptr) holdfast_wrap_abort(std::exchange(id, nullptr));
        if (pool != nullptr) holdfast_close(std::exchange(pool, nullptr));
    }
    bool is_intact() {
        drop();
        const auto again = open_pool::inspect(path());
        // A pool that was closed in a signal handler stays open.
        if (!again) return again.error().code == errc::busy || again.error().code == errc::address_taken;
        std::int64_t value = 0;
        (*again)->read(object, &value, sizeof value);
        return value == 42;
    }

    persist::test::scratch_directory scratch{"/dev/shm"};
    holdfast_options options{};
    holdfast_pool* pool = nullptr;
    void* root = nullptr;
    std::int64_t* object = nullptr;
    holdfast_wrap* id = nullptr;
};

constexpr unsigned c_states = all_states & ~(no_handle | inside | child_inside | handler_inside);

TEST(EntryPointsInC, OfAPoolWorkOrAreMisuseInEveryState) {
    if (persist::test::emulated()) GTEST_SKIP() << "qemu-user ignores MADV_DONTFORK";
    const std::vector<entry_point<c_world>> entries = {
        {"holdfast_open_or_create", handler, [](c_world& w) {
             holdfast_pool* made = nullptr;
             return outcome_of_status(holdfast_open_or_create(w.scratch.file("made").c_str(), &w.options, &made));
         }},
        {"holdfast_open", handler, [](c_world& w) {
             holdfast_pool* none = nullptr;
             const int status = holdfast_open(w.scratch.file("none").c_str(), &w.options, &none);
             return status == HOLDFAST_NOT_FOUND ? outcome::works : outcome_of_status(status);
         }},
        {"holdfast_close", in_child | handler,
         [](c_world& w) { return outcome_of_status(holdfast_close(std::exchange(w.pool, nullptr))); }},
        {"holdfast_root", in_child | handler | gone, [](c_world& w) {
             void* made = nullptr;
             return outcome_of_status(holdfast_root(w.pool, "made", 8, "1", &made));
         }},
        {"holdfast_wrap_open", in_child | handler | gone, [](c_world& w) {
             holdfast_wrap* opened = nullptr;
             const int status = holdfast_wrap_open(w.pool, &opened);
             if (opened != nullptr) holdfast_wrap_abort(opened);
             return outcome_of_status(status);
         }},
        {"holdfast_load_shared", in_child, [](c_world& w) {
             std::int64_t value = 0;
             return outcome_of_status(holdfast_load_shared(w.object, &value, sizeof value));
         }},
        {"holdfast_last_error", 0,
         [](c_world&) { return holdfast_last_error() != nullptr ? outcome::works : outcome::other; }},
    };
    expect_works_or_misuse(entries, c_states);
}

TEST(EntryPointsInC, OfAWrapWorkOrAreMisuseInEveryState) {
    if (persist::test::emulated()) GTEST_SKIP() << "qemu-user ignores MADV_DONTFORK";
    const std::vector<entry_point<c_world>> entries = {
        {"holdfast_wrap_store", in_child | gone, [](c_world& w) {
             const std::int64_t value = 1;
             return outcome_of_status(holdfast_wrap_store(w.id, w.object + 1, &value, sizeof value));
         }, 0, true},
        {"holdfast_wrap_load", in_child | gone, [](c_world& w) {
             std::int64_t value = 0;
             return outcome_of_status(holdfast_wrap_load(w.id, w.object, &value, sizeof value));
         }, 0, true},
        {"holdfast_wrap_close", in_child | handler | gone,
         [](c_world& w) { return outcome_of_status(holdfast_wrap_close(std::exchange(w.id, nullptr))); }, 0, true},
        {"holdfast_wrap_abort", 0,
         [](c_world& w) { return outcome_of_status(holdfast_wrap_abort(std::exchange(w.id, nullptr))); }, 0, true},
        {"holdfast_wrap_allocate holdfast_wrap_free", in_child | handler | gone, [](c_world& w) {
             void* block = nullptr;
             const int status = holdfast_wrap_allocate(w.id, 64, &block);
             return outcome_of_status(status != HOLDFAST_OK ? status : holdfast_wrap_free(w.id, block));
         }, 0, true},
    };
    expect_works_or_misuse(entries, c_states);
}

}  // namespace
}  // namespace holdfast::test
