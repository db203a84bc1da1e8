// The redo engine: what must be inlined. The protocol stands in redo.cpp.
#pragma once

#include <holdfast/engine/write_aside.hpp>

namespace holdfast {

/// A transaction of the redo engine. One per thread, reused.
class redo_transaction final : public write_aside_transaction {
public:
    /// Decides the transaction: logged, homes stored. Afterwards the caller's locks may go.
    result<void> seal() {
        sequence_ = 0;
        if (writes_.empty()) {
            // Nothing to log: an empty write set costs no fence.
            fresh_.clear();
            return {};
        }
        return pool_->homes_are_private() ? seal_in_group() : seal_in_lane();
    }
    /// Returns when the commit is as durable as its level promises.
    result<void> settle() {
        if (sequence_ != 0 && pool_->homes_are_private()) return settle_in_group();
        settle_heap(sequence_);
        return {};
    }

private:
    result<void> seal_in_lane();
};

/// Redo logging: stores gather in DRAM, one fence commits. `using store = holdfast::redo;`
struct redo : engine_interface<redo> {
    using transaction = redo_transaction;
    static constexpr engine_description description{"redo", true, true, true};
};

}  // namespace holdfast
