// The redo engine: what must be inlined. The protocol is in redo.cpp.
#pragma once

#include <holdfast/engine/write_aside.hpp>

namespace holdfast {

/// A transaction of the redo engine. One per thread, reused.
class redo_transaction final : public write_aside_transaction {
    result<void> seal_in_lane() override;
};

/// Redo logging: stores are collected in DRAM, and one fence commits them. `using store = holdfast::redo;`
struct redo : engine_interface<redo> {
    using transaction = redo_transaction;
    static constexpr engine_description description{"redo", true, true, true};
};

}  // namespace holdfast
