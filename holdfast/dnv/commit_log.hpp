// The record of a commit of staged words, in the pool's log.
#pragma once

#include <holdfast/stm/write_log.hpp>

#include <cstdint>

namespace holdfast {
class open_pool;
}

namespace holdfast::dnv {

/// Puts the words of the commit that the pool keeps, with their codes, into a record, and makes room for it in the log.
/// All of it can fail. False: the transaction is larger than the log, and the thread's attempt says so. Nothing has
/// changed then.
bool prepare_commit(const stm::write_log& writes) noexcept;
/// Draws the sequence, sends the record and FENCES: at `power` it is durable before any home is stored.
void log_commit() noexcept;
/// The words are home: gives the lane back, and where nothing but a kill is survived withdraws the record.
void retire_commit() noexcept;
/// On a file at `power`: waits until the group that the commit joined is durable. Where it never will be, the program
/// ends, or the thread's attempt says so if it is one that can be left. Elsewhere nothing.
void settle_commit() noexcept;
/// What the thread's transactions have stored to the pool: homes of commits, and blocks of their own.
extern constinit thread_local std::uint64_t stored_bytes_of_this_thread __attribute__((tls_model("initial-exec")));
/// At the end of a thread.
void release_commit_record() noexcept;

}  // namespace holdfast::dnv
