// The force engine: what must be inlined. The protocol is in force.cpp.
#pragma once

#include <holdfast/engine/write_aside.hpp>

namespace holdfast {

/// A transaction of the force engine. One per thread, reused.
class force_transaction final : public write_aside_transaction {
public:
    /// Commits: logs the stores and stores their homes. The caller may release its locks afterwards.
    result<void> seal() { return has_stores() ? commit() : result<void>{}; }
    result<void> settle();

private:
    result<void> commit();
    void write_homes_back();

    bool trim_is_due_ = false;
};

/// Redo logging that forces homes: each commit writes them back before it returns, so recovery has little to replay.
/// `using store = holdfast::force;`
struct force : engine_interface<force> {
    using transaction = force_transaction;
    static constexpr engine_description description{.name = "force", .writes_homes_back = true};
};

}  // namespace holdfast
