// The log of `ptl2`, the Persistent Transactional Locking of the paper: an undo entry for each write, each fenced.
//
// It owns the log of its session: a ring of entries of 32 bytes, each with the number of its transaction, counted for
// each session, and a checksum begun with the region's epoch. An entry with the home 0 is an end mark.
//
// A commit, the locks of all lines held and the reads validated:
//   1. For each write: the home's address and its old word are streamed to the ring, and fenced.
//      The fence: before the old word is durable no new one may be, and a line may leave the cache at any time. One for
//      each entry is the paper's; `ptl2_best` has one for all.
//   2. The homes are stored; each of their lines is written back once; fence.
//      The fence: the end mark says that the new words are durable.
//   3. An end mark is streamed and fenced: it takes the entries away.
//      The fence: the locks are about to be released, and what another transaction then stores to the same homes must
//      not be overwritten by these entries.
//
// Recovery: an entry whose number is above that of the newest end mark is of the transaction that was cut, in step 1, 2
// or 3. Its old words are stored, whether new ones reached the homes or not: its locks were held, so that nobody else
// stored there. Then the next epoch takes all entries away. A cut inside recovery leaves them all for the next one.
//
// The end mark of the transaction before is never overwritten by entries of this one: they fit into the ring with both.
//
// Source: E. Giles, K. Doshi, P. Varman, "Continuous Checkpointing of HTM Transactions in NVM", ISMM 2017, section 5.
#pragma once

#include <bench/tl2/homes.hpp>

namespace holdfast::bench {

class undo_each {
public:
    struct shared {
        explicit shared(region&) noexcept {}
    };

    undo_each(region& memory, unsigned session, shared&) noexcept;

    bool has_room(std::size_t words) const noexcept { return words + 2 <= entries_; }
    void commit(const stm::write_log& writes, std::uint64_t number);

    /// Takes back what was cut. Requires: no session. If the power is cut inside: the next recovery does it again.
    static void recover(region& memory);

private:
    struct entry;

    void append(std::uint64_t home, std::uint64_t old_word);

    region& region_;
    entry* ring_;
    std::size_t entries_;
    std::size_t next_ = 0;
    std::uint64_t transaction_ = 0;
    commit_lines lines_;
};

}  // namespace holdfast::bench
