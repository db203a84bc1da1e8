// The faults of dnv that the crash explorer plants.
#pragma once

#include <holdfast/base/planted.hpp>

#define HOLDFAST_DNV_FAULTS(X) \
    X(homes_before_record, dnv, "a commit stores homes before its record is fenced") \
    X(record_taken_back, dnv, "a commit's record is gone before its homes are stored") \
    X(code_not_stored, dnv, "a word is stored without its code") \
    X(code_not_logged, dnv, "a record has words without their codes") \
    X(stale_rest_logged, dnv, "a record has one half of a word as it was before") \
    X(fresh_link_stored, dnv, "the link of a block that a transaction allocates is stored at once") \
    X(fresh_block_not_logged, dnv, "at power a block that a transaction allocates is stored to at once") \
    X(freed_block_fresh, dnv, "a block that the transaction freed itself is stored to at once") \
    X(entry_before_chunk, dnv, "the directory has a chunk in a transaction before the one that takes its pages") \
    X(chunk_named_at_once, dnv, "the Chunk Table names a chunk before the transaction that uses it commits") \
    X(parked_at_once, dnv, "a list is parked before the transaction that cuts it off commits") \
    X(taken_over_twice, dnv, "a parked list is one heap's in one transaction, and no longer parked in the next") \
    X(taken_over_unwaited, dnv, "a list is taken over while its former owner may store to blocks of it") \
    X(unnamed_chunk_kept, dnv, "opening leaves a chunk to nobody that the Chunk Table does not name") \
    X(statics_named_first, dnv, "static variables are the pool's before their values are durable") \
    X(unprotected_header_summed_late, dnv, "the root has the header of blocks without codes before the sum of that") \
    X(unprotected_chunk_not_zeroed, dnv, "a chunk of blocks without codes that nobody names is given back as it is") \
    X(damage_entered_without_record, dnv, "the list of damages is stored to without a transaction") \
    X(damage_entered_late, dnv, "a damaged word is entered in the list after a handler was asked") \
    X(mended_code_first, dnv, "a correction first stores the code of the word as it was found")

namespace holdfast::planted {
HOLDFAST_DNV_FAULTS(HOLDFAST_PLANTED_FAULT)
}  // namespace holdfast::planted
