// What a handler does with a pool when the power fails, and what an opening does with one whose process was killed.
//
// save, with every thread that uses the pool stopped wherever it was
//   1. The seal in force is found. Without one there is nothing to save: the pool holds what it promised.
//   2. The log's header page and each segment that was ever begun are copied to the pool's own log. Records of commits
//      in flight are among them, as far as they are sealed.
//   3. All lines of the pool are written back: homes of commits that have ended are in the caches alone. FENCE. Orders
//      log and homes before the seal: were the seal durable first, a cut would leave a pool that counts as saved.
//   4. The superblock copy that is not in force is kept, and the seal written over it: a superblock that says `saved`.
//      FENCE. From there on an opening replays the log, as it does after a kill.
// resume, when the power stays
//   1. The seal is made void: its magic becomes zero. FENCE. Orders this before threads run on: a save that is older
//      than what they do must never count.
//   2. The previous superblock copy is restored, its magic last, after a FENCE.
//
// Between the two nothing stores to the pool. Neither allocates, locks, or calls the kernel, except for its clock.
// Source: DNV Memory, sections 3.1 and 4.2.
#pragma once

#include <holdfast/format/shadow_log.hpp>
#include <holdfast/persist/line_path.hpp>

#include <chrono>
#include <cstddef>

namespace holdfast::powerfail {

/// When the parts of a save were done.
struct save_times {
    std::chrono::steady_clock::time_point log_copied;
    std::chrono::steady_clock::time_point written_back;  ///< log and homes, with the fence
    std::chrono::steady_clock::time_point sealed;
};

/// Makes every acknowledged commit durable. Requires: `shadow` is that pool's, followed by its log; all of the pool is
/// mapped at `pool`; no thread stores to either meanwhile. What holds if the machine stops inside: the pool counts as
/// used below `power` and not saved, and opening says so. Repeating it is harmless. `times`: nullptr, or what receives
/// them.
void save(format::shadow_header& shadow, std::byte* pool, const persist::line_path& lines,
          save_times* times = nullptr);
/// Step 2 alone, for callers that inspect a copy of the pool.
void copy_log(const format::shadow_header& shadow, std::byte* pool);
/// The power stayed: threads may run on when this returns. Requires: as `save`, which has returned. What holds if the
/// machine stops inside: as for `save`.
void resume(format::shadow_header& shadow, std::byte* pool, const persist::line_path& lines);

}  // namespace holdfast::powerfail
