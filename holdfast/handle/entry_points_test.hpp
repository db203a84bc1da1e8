// The one list of all public functions over a pool, each with how it is called and where it is refused.
// tests/entry_points.py compares the names with the headers.
#pragma once

#include <holdfast/engine/cc_htm.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/engine/volatile_only.hpp>
#include <holdfast/handle/entry_states_test.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/handle/wrap.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace holdfast::test {

inline constexpr std::int64_t kept_value = 42;

/// A pool of an engine on a medium, an object in it, a handle, and perhaps an open wrap.
template <class Engine, bool OnFile>
struct pool_world {
    using engine = Engine;
    struct data {
        typename Engine::template field<std::int64_t> value, other;
    };
    static constexpr bool has_wraps = Engine::opens_wraps;
    struct no_wrap {};
    template <class E, bool>
    struct wrap_of {
        using type = no_wrap;
    };
    template <class E>
    struct wrap_of<E, true> {
        using type = wrap<E>;
    };

    explicit pool_world(bool with_wrap = false) : scratch(OnFile ? "." : "/dev/shm") {
        static std::uint64_t order = 0;
        options = entry_options(Engine::description.recovers ? level::power : level::process, order++);
        pool = basic_pool<Engine>::create(path(), options).value();
        object = pool->template root<data>("data").value();
        pool->atomically([&] { object->value = kept_value; }).value();
        if constexpr (has_wraps)
            if (with_wrap) id.emplace(*pool);
    }

    std::string path() const { return scratch.file("pool"); }
    void use() { pool->atomically([&] { object->other = 7; }).value(); }
    void close() { pool->close().value(); }
    void move_away() { moved = std::move(*pool); }
    template <class F>
    void run_inside(F&& f) {
        static_cast<void>(pool->atomically([&] {
            object->other = 1;
            f();
        }));
    }
    void drop() {
        id.reset();
        pool.reset();
    }
    /// Ends it, and looks whether the data survived.
    bool is_intact() {
        drop();
        if constexpr (!Engine::description.recovers) return true;
        if (moved) static_cast<void>(moved->close());
        moved.reset();
        auto again = basic_pool<Engine>::open(path(), options);
        // A handle that was let go in a signal handler leaves its pool open.
        if (!again) return again.error().code == errc::busy || again.error().code == errc::address_taken;
        // Without a transaction: the thread may be gone.
        const auto found = find_root(again->core(), "data", {sizeof(data), alignof(data), "1"});
        return found && *found != nullptr && reinterpret_cast<data*>(*found)->value == kept_value;
    }

    persist::test::scratch_directory scratch;
    create_options options;
    std::optional<basic_pool<Engine>> pool, moved;
    data* object = nullptr;
    std::optional<typename wrap_of<Engine, has_wraps>::type> id;
};

template <class World>
std::vector<entry_point<World>> pool_entry_points() {
    using engine = typename World::engine;
    using pool_type = basic_pool<engine>;
    const unsigned refused = no_handle | in_child | in_handler;
    return {
        {"basic_pool::create", in_handler, [](World& w) {
             return outcome_of([&] { return pool_type::create(w.scratch.file("made"), beside(w.options)); });
         }},
        {"basic_pool::open", in_handler, [](World& w) {
             const auto opened = pool_type::open(w.scratch.file("none"), w.options);
             return opened.error().code == errc::not_found ? outcome::works : outcome_of_code(opened.error().code);
         }},
        {"basic_pool::open_or_create", in_handler, [](World& w) {
             return outcome_of([&] { return pool_type::open_or_create(w.scratch.file("made"), beside(w.options)); });
         }},
        {"basic_pool::atomically", refused | gone,
         [](World& w) { return outcome_of([&] { return w.pool->atomically([] {}); }); }},
        {"basic_pool::atomically with a lock", refused | gone, [](World& w) {
             std::mutex lock;
             return outcome_of([&] { return w.pool->atomically(lock, [&] { w.object->other = 2; }); });
             // Inside a transaction the lock would have to live until that one ends.
         }, inside},
        {"basic_pool::root", refused | gone,
         [](World& w) {
             using made = typename World::engine::template field<std::int64_t>;
             return outcome_of([&] { return w.pool->template root<made>("made"); });
         }},
        {"basic_pool::plain_root", refused | gone,
         [](World& w) { return outcome_of([&] { return w.pool->template plain_root<std::int64_t>("plain"); }); }},
        {"basic_pool::checkpoint", refused | inside,
         [](World& w) { return outcome_of([&] { return w.pool->checkpoint(); }); }},
        {"basic_pool::grow", refused, [](World& w) { return outcome_of([&] { return w.pool->grow(1 << 20); }); }},
        {"basic_pool::snapshot", refused | inside, [](World& w) {
             const auto copied = w.pool->snapshot(w.scratch.file("copy"));
             if (copied || copied.error().code == errc::level_unavailable) return outcome::works;
             return outcome_of_code(copied.error().code);
         }},
        {"basic_pool::close", refused | inside, [](World& w) { return outcome_of([&] { return w.pool->close(); }); }},
        {"basic_pool::abandon", 0, [](World& w) { return outcome_of([&] { w.pool->abandon(); }); }},
        {"basic_pool::is_open", 0,
         [](World& w) { return outcome_of([&] { static_cast<void>(w.pool->is_open()); }); }},
    };
}

template <class World>
std::vector<entry_point<World>> more_pool_entry_points() {
    using engine = typename World::engine;
    using pool_type = basic_pool<engine>;
    const unsigned refused = no_handle | in_child | in_handler;
    return {
        {"basic_pool::info", refused,
         [](World& w) { return outcome_of([&] { static_cast<void>(w.pool->info()); }); }},
        {"basic_pool::usage", refused,
         [](World& w) { return outcome_of([&] { static_cast<void>(w.pool->usage()); }); }},
        {"basic_pool::roots", refused, [](World& w) { return outcome_of([&] { return w.pool->roots(); }); }},
        {"basic_pool::core", no_handle,
         [](World& w) { return outcome_of([&] { static_cast<void>(w.pool->core()); }); }},
        {"open_pool::checkpoint", no_handle | in_child,
         [](World& w) { return outcome_of([&] { return w.pool->core().checkpoint(); }); }, in_handler},
        {"open_pool::grow", no_handle | in_child,
         [](World& w) { return outcome_of([&] { return w.pool->core().grow(1 << 20); }); }, in_handler},
        {"basic_pool::basic_pool", 0, [](World& w) {
             return outcome_of([&] {
                 pool_type other(std::move(*w.pool));
                 *w.pool = std::move(other);
             });
         }},
        {"basic_pool::operator=", 0, [](World& w) {
             return outcome_of([&] {
                 std::optional<pool_type> nothing(std::move(*w.pool));
                 pool_type moved_from(std::move(*nothing));
                 *w.pool = std::move(moved_from);
                 *w.pool = std::move(*nothing);  // lets the open one go
             });
         }},
        {"basic_pool::~basic_pool", 0, [](World& w) { return outcome_of([&] { w.pool.reset(); }); }},
        {"run_transaction", in_child | in_handler | gone, [](World& w) {
             auto f = [] {};
             return outcome_of([&] { return run_transaction<engine>(w.pool->core(), f); });
         }, no_handle},
    };
}

/// Of an engine that checkpoints.
template <class World>
std::vector<entry_point<World>> checkpointing_entry_points() {
    const unsigned refused = no_handle | in_child | in_handler | inside;
    return {
        {"basic_pool::fence", refused, [](World& w) { return outcome_of([&] { return w.pool->fence(); }); }},
        {"basic_pool::barrier", refused,
         [](World& w) { return outcome_of([&] { return w.pool->barrier([] {}); }); }},
        {"basic_pool::atomically", no_handle | in_child | in_handler | gone,
         [](World& w) { return outcome_of([&] { return w.pool->atomically([] {}); }); }},
    };
}

template <class World>
std::vector<entry_point<World>> engine_entry_points() {
    using engine = typename World::engine;
    const unsigned refused = no_handle | in_child | in_handler;
    const unsigned in_place = in_child | no_handle;  // what is not mapped there
    const unsigned outside_all = all_states & ~(inside | handler_inside);
    return {
        {"engine_interface::allocate engine_interface::allocate_block engine_interface::deallocate", outside_all,
         [](World&) { return outcome_of([&] { engine::deallocate(engine::allocate(64)); }); }},
        {"engine_interface::make engine_interface::destroy", outside_all,
         [](World&) { return outcome_of([&] { engine::destroy(engine::template make<typename World::data>()); }); }},
        {"engine_interface::construct_at", outside_all,
         [](World& w) {
             using made = typename engine::template field<std::int64_t>;
             return outcome_of([&] { engine::template construct_at<made>(&w.object->other, 1); });
         }},
        {"engine_interface::fill_zero", outside_all,
         [](World& w) { return outcome_of([&] { engine::fill_zero(&w.object->other, 8); }); }},
        {"engine_interface::will_write", outside_all,
         [](World& w) { return outcome_of([&] { engine::will_write(&w.object->other, 8); }); }},
        {"engine_interface::on_commit", outside_all,
         [](World&) { return outcome_of([&] { engine::on_commit([] {}); }); }},
        {"engine_interface::on_abort", outside_all,
         [](World&) { return outcome_of([&] { engine::on_abort([] {}); }); }},
        {"engine_interface::in_transaction", 0,
         [](World&) { return outcome_of([&] { static_cast<void>(engine::in_transaction()); }); }},
        {"engine_interface::transact", (refused & ~(handler_inside | moved_from)) | gone,
         [](World& w) { return outcome_of([&] { engine::transact(w.object, [&] { w.object->other = 3; }); }); }},
        {"basic_field::get basic_field::operator-> basic_field::operator* basic_field::operator_T", 0,
         [](World& w) { return outcome_of([&] { static_cast<void>(w.object->value.get()); }); }, in_place},
        {"basic_field::set basic_field::basic_field basic_field::~basic_field basic_field::operator=", outside_all,
         [](World& w) { return outcome_of([&] { w.object->other.set(5); }); }},
        {"basic_field::operator+= basic_field::operator-= basic_field::operator*= basic_field::operator/= "
         "basic_field::operator|= basic_field::operator&= basic_field::operator^= basic_field::operator++ "
         "basic_field::operator--",
         outside_all, [](World& w) { return outcome_of([&] { w.object->other += 5; }); },
         in_place},
        {"swap basic_field::swap", outside_all, [](World& w) {
             return outcome_of([&] {
                 swap(w.object->other, w.object->value);
                 swap(w.object->other, w.object->value);
             });
         }, in_place},
    };
}

template <class World>
std::vector<entry_point<World>> wrap_entry_points() {
    using engine = typename World::engine;
    const unsigned refused = no_handle | in_child | in_handler | gone;
    // A wrap that is open goes on when its pool's handle moves.
    const unsigned used = closed | in_child | gone;
    const unsigned in_place = in_child | no_handle;
    return {
        {"wrap::wrap OpenWrap", refused, [](World& w) { return outcome_of([&] { OpenWrap(*w.pool); }); }},
        {"wrapped_lock::wrapped_lock wrapped_lock::~wrapped_lock", refused, [](World& w) {
             std::mutex lock;
             return outcome_of([&] { wrapped_lock<engine, std::mutex> held(*w.pool, lock); });
         }},
        {"wrapped_lock::close wrapped_lock::operator-> wrapped_lock::operator*", refused, [](World& w) {
             std::mutex lock;
             return outcome_of([&] {
                 wrapped_lock<engine, std::mutex> held(*w.pool, lock);
                 const std::int64_t value = 9;
                 held->store(&w.object->other, &value, sizeof value);
                 return held.close();
             });
         }, all_states & ~refused},
        {"wrap::~wrap", 0, [](World& w) { return outcome_of([&] { w.id.reset(); }); }, 0, true},
        {"wrap::operator=", 0, [](World& w) {
             return outcome_of([&] {
                 wrap<engine> other(std::move(*w.id));
                 *w.id = std::move(other);
                 *w.id = std::move(other);
             });
         }, 0, true},
        {"wrap::is_open", 0, [](World& w) { return outcome_of([&] { static_cast<void>(w.id->is_open()); }); }, 0, true},
        {"wrap::store wrapStore", used, [](World& w) {
             const std::int64_t value = 9;
             return outcome_of([&] { w.id->store(&w.object->other, &value, sizeof value); });
         }, 0, true},
        {"wrap::load wrapLoad", used, [](World& w) {
             std::int64_t value;
             return outcome_of([&] { w.id->load(&w.object->other, &value, sizeof value); });
         }, 0, true},
        {"wrap::continue_here", used, [](World& w) { return outcome_of([&] { w.id->continue_here(); }); }, 0, true},
        {"wrap::allocate wrap::free", used | in_handler,
         [](World& w) { return outcome_of([&] { w.id->free(w.id->allocate(64)); }); }, 0, true},
        {"wrap::close CloseWrap", used | in_handler,
         [](World& w) { return outcome_of([&] { return CloseWrap(*w.id); }); }, 0, true},
        {"wrap::abort AbortWrap", 0, [](World& w) { return outcome_of([&] { AbortWrap(*w.id); }); }, 0, true},
        {"eager_load", 0, [](World& w) {
             return outcome_of([&] { eager_load(reinterpret_cast<const std::int64_t*>(&w.object->other)); });
         }, in_place},
    };
}

/// Loads that name no wrap.
template <class World>
std::vector<entry_point<World>> shared_load_entry_points() {
    const unsigned in_place = in_child | closed;
    return {
        {"softwrap::read", 0, [](World& w) {
             std::int64_t value;
             return outcome_of([&] { softwrap::read(&w.object->value, &value, sizeof value); });
         }, in_place, true},
        {"softwrap::require_in_open_pool", in_place,
         [](World& w) { return outcome_of([&] { softwrap::require_in_open_pool(w.object); }); }, 0, true},
    };
}

}  // namespace holdfast::test
