// The commit where homes are private memory: a file at `power`. The protocol is in group_commit.cpp.
#pragma once

#include <holdfast/engine/fresh_blocks.hpp>
#include <holdfast/engine/write_set.hpp>
#include <holdfast/pool/open_pool.hpp>

namespace holdfast {

/// Adds the stores to the log's open group and stores their homes. Returns the group's number. Requires: the caller's
/// locks are held, homes are private. What holds if the process dies inside: nothing of the transaction is left, unless
/// others closed the group and made it durable; then all of it is. After an error, or if std::bad_alloc leaves, the
/// transaction has not joined. Errors: transaction_too_large, poisoned, io.
result<std::uint64_t> join_group(open_pool& pool, const write_set& writes, const fresh_blocks& fresh);

/// Returns when the group is durable. Errors: outcome_unknown, poisoned.
result<void> wait_for_group(open_pool& pool, std::uint64_t group);

}  // namespace holdfast
