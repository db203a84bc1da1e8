// The redo engine: what must be inlined. The protocol is in redo.cpp.
#pragma once

#include <holdfast/engine/write_aside.hpp>

namespace holdfast {

/// A transaction of the redo engine. One per thread, reused.
class redo_transaction : public write_aside_transaction {
public:
    /// Decides the transaction: logged, and what it stored is there for others. Afterwards the caller's locks may go.
    result<void> seal() { return has_stores() ? commit() : result<void>{}; }

private:
    result<void> commit();
};

/// Redo logging: stores are collected in DRAM, and one fence commits them. `using store = holdfast::redo;`
struct redo : engine_interface<redo> {
    using transaction = redo_transaction;
    static constexpr engine_description description{.name = "redo"};
};

}  // namespace holdfast
