// The redo engine: what must be inlined. The protocol is in redo.cpp.
#pragma once

#include <holdfast/engine/write_aside.hpp>

namespace holdfast {

/// A transaction that commits by one record of new values and one fence: what redo and steal_no_force share.
class redo_commit : public write_aside_transaction {
public:
    /// Decides the transaction: logged, and what it stored is there for others. Afterwards the caller's locks may go.
    result<void> seal() { return has_stores() ? commit() : result<void>{}; }

protected:
    redo_commit() = default;
    ~redo_commit() = default;

private:
    result<void> commit();
};

/// A transaction of the redo engine. One per thread, reused.
class redo_transaction final : public redo_commit {};

/// Redo logging: stores are collected in DRAM, and one fence commits them. `using store = holdfast::redo;`
struct redo : engine_interface<redo> {
    using transaction = redo_transaction;
    static constexpr engine_description description{.name = "redo"};
};

}  // namespace holdfast
