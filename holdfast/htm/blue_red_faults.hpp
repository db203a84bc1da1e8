// Faults that the tests of the queue plant, each a repair of the paper's Algorithm 2 left out, to prove that explored
// schedules would show it. A policy over std::atomic plants none: then nothing of them is left in the machine code.
#pragma once

namespace holdfast::htm {

#define HOLDFAST_QUEUE_FAULTS(X)                                                                          \
    X(links_without_ids, "a link does not say whose it is, and is as new once its node has retired")      \
    X(min_ignores_ids, "TxMin passes a slot that was drawn and not written")                              \
    X(blue_head_ignores_ids, "the blue head passes red slots of any lap, in a full ring for ever")        \
    X(id_before_room, "an id is drawn first, and room waited for afterwards")                             \
    X(room_not_awaited, "an id is drawn whether there is room or not")                                    \
    X(unsigned_distance, "the distance of a stale counter from TxMin is taken as unsigned")               \
    X(end_from_start, "endTS is the counter at the start instead of after the stamp")                     \
    X(red_before_insertion, "a transaction is red, with its endTS, before it is in the red queue")        \
    X(hint_not_inserted, "insertion starts from a node that is not in the red queue yet")                 \
    X(hint_stamp_unchecked, "insertion starts from a node whatever its stamp is")                         \
    X(not_flagged, "the head is unlinked without a flag in its link")                                     \
    X(red_head_first, "the red head is read before the blue head")                                        \
    X(min_before_clearing, "TxMin passes a retired transaction before its slot is cleared")               \
    X(payload_not_awaited, "a red transaction retires before it has been committed with its payload")     \
    X(two_retire, "two threads retire at a time")

enum class queue_fault : unsigned char {
    nothing,
#define HOLDFAST_QUEUE_ENUMERATOR(name, sentence) name,
    HOLDFAST_QUEUE_FAULTS(HOLDFAST_QUEUE_ENUMERATOR)
#undef HOLDFAST_QUEUE_ENUMERATOR
};

}  // namespace holdfast::htm
