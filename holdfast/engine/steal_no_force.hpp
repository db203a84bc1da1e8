// The steal_no_force engine: what must be inlined. The protocol is in steal_no_force.cpp.
#pragma once

#include <holdfast/engine/redo.hpp>

namespace holdfast {

/// A transaction of the steal_no_force engine. One per thread, reused.
class steal_no_force_transaction final : public redo_commit {
public:
    /// As redo's; then, with the caller's locks free, a step of the pacer if one is due.
    result<void> settle();
};

/// One fence commits; nothing is written back then. A pacer does that later, little by little, so that no commit waits
/// for a truncation of the whole log. `using store = holdfast::steal_no_force;`
struct steal_no_force : engine_interface<steal_no_force> {
    using transaction = steal_no_force_transaction;
    static constexpr engine_description description{.name = "steal_no_force", .paces = true};
};

}  // namespace holdfast
