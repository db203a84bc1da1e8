// The list of engines. A new one is its header, its source, and its two lines here: programs, tests, budgets, the
// explorer and the build read this file; benchmarks name their contestants themselves. docs/guide/own-engine.md makes
// one.
#pragma once

// Beside each of these stands the source of the same name, which the build compiles.
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/engine/steal_no_force.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/engine/volatile_only.hpp>

/// X(engine) for each engine, in the order in which they are printed.
#define HOLDFAST_ENGINES(X) \
    X(redo)                 \
    X(steal_no_force)       \
    X(softwrap_lat)         \
    X(softwrap)             \
    X(undo)                 \
    X(undo_paper)           \
    X(volatile_only)

namespace holdfast {

/// Calls `f.template operator()<Engine>()` for each engine.
template <class F>
void for_each_engine(F&& f) {
#define HOLDFAST_CALL(engine) f.template operator()<engine>();
    HOLDFAST_ENGINES(HOLDFAST_CALL)
#undef HOLDFAST_CALL
}

}  // namespace holdfast
