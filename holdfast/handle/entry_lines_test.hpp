// The list of public functions, continued: pools of lines and the objects in them.
#pragma once

#include <holdfast/handle/entry_states_test.hpp>
#include <holdfast/handle/line_pool.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace holdfast::test {

/// A pool of lines on a medium, an object of each kind in it, and a handle.
template <bool OnFile>
struct line_world {
    static constexpr bool on_file = OnFile;
    struct record {
        std::array<std::uint64_t, 20> words{};
    };
    struct everything {
        std::uint64_t value = 0;
    };

    explicit line_world(bool = false) : scratch(OnFile ? "." : "/dev/shm") {
        static std::uint64_t order = 0;
        options = entry_options(create_options{}.durability, order++);
        pool = line_pool::create(path(), options).value();
        one = pool->template root<line<everything>>("one").value();
        other = pool->template root<line<everything>>("other").value();
        many = pool->template root<lines<record>>("many").value();
        one->transact([](everything& all) { all.value = 42; });
    }

    std::string path() const { return scratch.file("lines"); }
    void use() {
        other->transact([](everything& all) { all.value = 7; });
        static_cast<void>(pool->template root<line<everything>>("other"));
    }
    void close() { pool->close().value(); }
    void move_away() { moved = std::move(*pool); }
    template <class F>
    void run_inside(F&& f) {
        other->transact([&](everything& all) {
            all.value = 8;
            f();
        });
    }
    void drop() { pool.reset(); }
    bool is_intact() {
        drop();
        moved.reset();
        auto again = line_pool::open(path(), options);
        // A handle that was let go in a signal handler, or inside a line's transaction, leaves its pool open.
        if (!again) return again.error().code == errc::busy || again.error().code == errc::address_taken;
        const auto roots = again->roots();
        if (!roots || roots->empty() || roots->front().name != "one") return false;
        return reinterpret_cast<line<everything>*>(again->core().base() + roots->front().offset)->get().value == 42;
    }

    persist::test::scratch_directory scratch;
    create_options options;
    std::optional<line_pool> pool, moved;
    line<everything>*one = nullptr, *other = nullptr;
    lines<record>* many = nullptr;
};

template <class World>
std::vector<entry_point<World>> line_pool_entry_points() {
    const unsigned refused = no_handle | in_child | in_handler;
    return {
        {"line_pool::create", in_handler, [](World& w) {
             return outcome_of([&] { return line_pool::create(w.scratch.file("made"), beside(w.options)); });
         }},
        {"line_pool::open line_pool::open_shared", in_handler, [](World& w) {
             const auto alone = line_pool::open(w.scratch.file("none"), w.options);
             const auto shared = line_pool::open_shared(w.scratch.file("none"), w.options);
             if (alone.error().code != shared.error().code) return outcome::other;
             return alone.error().code == errc::not_found ? outcome::works : outcome_of_code(alone.error().code);
         }},
        {"line_pool::open_or_create", in_handler, [](World& w) {
             return outcome_of([&] { return line_pool::open_or_create(w.scratch.file("made"), beside(w.options)); });
         }},
        {"line_pool::root", refused | gone,
         [](World& w) { return outcome_of([&] { return w.pool->template root<line<int>>("made"); }); }},
        {"line_pool::grow", refused, [](World& w) { return outcome_of([&] { return w.pool->grow(1 << 20); }); }},
        {"line_pool::close", refused | inside, [](World& w) { return outcome_of([&] { return w.pool->close(); }); }},
        {"line_pool::abandon", 0, [](World& w) { return outcome_of([&] { w.pool->abandon(); }); }},
        {"line_pool::is_open", 0, [](World& w) { return outcome_of([&] { static_cast<void>(w.pool->is_open()); }); }},
        {"line_pool::info", refused, [](World& w) { return outcome_of([&] { static_cast<void>(w.pool->info()); }); }},
        {"line_pool::roots", refused, [](World& w) { return outcome_of([&] { return w.pool->roots(); }); }},
        {"line_pool::core", no_handle, [](World& w) { return outcome_of([&] { static_cast<void>(w.pool->core()); }); }},
        {"line_pool::line_pool line_pool::operator=", 0, [](World& w) {
             return outcome_of([&] {
                 line_pool other(std::move(*w.pool));
                 *w.pool = std::move(other);
                 *w.pool = std::move(other);  // lets the open one go
             });
         }},
        {"line_pool::~line_pool", 0, [](World& w) { return outcome_of([&] { w.pool.reset(); }); }},
    };
}

template <class World>
std::vector<entry_point<World>> line_entry_points() {
    using everything = typename World::everything;
    using record = typename World::record;
    // On a file at power a commit of lines goes through the pool's log; elsewhere it asks no lock and no state.
    const unsigned refused = World::on_file ? in_handler | gone : 0u;
    const unsigned in_place = in_child | closed;  // what is not mapped there
    return {
        {"line::transact", refused, [](World& w) {
             return outcome_of([&] { w.one->transact([](everything& all) { all.value = 42; }); });
         }, in_place},
        {"line::get line::load line::operator-> line::operator*", 0,
         [](World& w) { return outcome_of([&] { return w.one->load().value == w.one->get().value; }); }, in_place},
        {"line::recover", refused, [](World& w) { return outcome_of([&] { w.one->recover(); }); }, in_place},
        {"lines::transact", refused, [](World& w) {
             return outcome_of([&] { w.many->transact([](record& all) { ++all.words[3]; }); });
         }, in_place},
        {"lines::get lines::operator-> lines::operator*", 0,
         [](World& w) { return outcome_of([&] { static_cast<void>(w.many->get()); }); }, in_place},
        {"lines::recover lines::recover_opened", 0,
         [](World& w) { return outcome_of([&] { w.many->recover_opened(); }); }, in_place},
        {"line::line lines::lines", 0, [](World&) {
             return outcome_of([&] {
                 line<everything> on_stack;
                 lines<record> many_on_stack;
             });
         }},
    };
}

}  // namespace holdfast::test
