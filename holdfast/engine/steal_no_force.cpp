// steal_no_force: the software form of "Steal but No Force: Efficient Hardware Undo+Redo Logging for Persistent Memory
// Systems" (Ogleari, Miller, Zhao, HPCA 2018). Dirty lines leave the cache when it likes; commits force none.
//
// Protocol, byte-addressable media
//   1. to 8. as in redo.cpp, whose commit this is: the record goes past the cache, ONE FENCE, the homes are stored, and
//      nothing is written back.
//   9. Once the locks are free: a step of the pacer, if one is due and no thread of the pool takes it (log/pacer.cpp).
//
// What covers a dirty line that the cache evicts: its record, which the fence of step 6 made durable before the line
// was stored to. The paper's processor stores to lines at once and needs old values to take them back; its memory
// controller sees to it that no line passes its record. Here nothing does: a streamed record may wait in a buffer of
// the processor while the line that it names is evicted, and a cut then leaves a new value that nothing takes back.
// A fence for each first store would cover it, which is `undo`. So values wait for the fence, no line of an open
// transaction is ever dirty, and a record needs no old values: they would be half of its bytes and nobody would read
// them. Storing in place with both values in the record, without any protection, is no faster
// (docs/guide/performance.md).
//
// At `process` the same as redo; on a file at `power` too, where checkpoints write homes in large pieces.
//
// Invariants: those of redo, and of the pacer.
#include <holdfast/engine/steal_no_force.hpp>

#include <holdfast/log/pacer.hpp>

namespace holdfast {

result<void> steal_no_force_transaction::settle() {
    result<void> settled = redo_commit::settle();
    if (pacer* const pacing = pool_->pacing(); pacing != nullptr && pacing->is_due()) [[unlikely]]
        pacing->step_if_free();  // 9
    return settled;
}

}  // namespace holdfast
