// Which access a program runs with, by what it was told.
#pragma once

#include <sim/guest/parameters.hpp>
#include <sim/guest/software_log.hpp>
#include <sim/guest/steal_no_force.hpp>
#include <sim/guest/written_lines.hpp>

namespace holdfast::guest {

template <class Run>
int with_any_access(logging_kind logging, Run&& run) noexcept {
    switch (logging) {
    case logging_kind::undo_unsafe: return run.template operator()<undo_access<false>>();
    case logging_kind::redo_unsafe: return run.template operator()<redo_access<false>>();
    case logging_kind::undo: return run.template operator()<undo_access<true>>();
    case logging_kind::redo: return run.template operator()<redo_access<true>>();
    case logging_kind::lines: return run.template operator()<writing_back_access>();
    case logging_kind::snf: return run.template operator()<steal_no_force_access>();
    case logging_kind::none: break;
    }
    return run.template operator()<guest_access>();
}

template <class Run>
int with_central_log(logging_kind logging, Run&& run) noexcept {
    if (logging == logging_kind::undo) return run.template operator()<undo_access<true>>();
    if (logging == logging_kind::redo) return run.template operator()<redo_access<true>>();
    give_up("a program with a central log has undo and redo only");
}

/// Calls run<Access>(). A program with a planted fault knows the one that has it.
template <class Run>
int with_access(logging_kind logging, Run&& run) noexcept {
    if constexpr (planted != planted_fault::none) return run.template operator()<steal_no_force_access>();
    else if constexpr (has_central_log) return with_central_log(logging, run);
    else return with_any_access(logging, run);
}

}  // namespace holdfast::guest
