// The log of `ptl2_best`, the best undo log that we know for TL2: two fences a commit.
//
// It owns the log of its session: a ring of records, whole lines each, of at most half the ring. A record has the
// number of its transaction, counted for each session; for each session the number up to which its transactions are
// known to have ended; the home's address and the old word of each write; a checksum of the words that the homes will
// have; and one of all this, begun with the region's epoch.
//
// A commit, the locks of all lines held and the reads validated:
//   1. The record is made. What it says of the other sessions is read now, the locks held.
//   2. It is sent to the ring; fence.
//      The fence: before the old words are durable no new one may be, and a line may leave the cache at any time.
//   3. The homes are stored; each of their lines is written back once; fence.
//      The fence: the commit is about to be acknowledged, and others about to store to the same homes.
//   4. That this transaction ended is told to the other sessions, in memory.
// Nothing says on the medium that the transaction ended: that would be a third fence, behind the second and before the
// locks are released. The record stays until it is overwritten, and recovery finds out.
//
// Recovery takes the newest record of each session that verifies, T, and
//   * leaves it alone if any record that verifies says that T ended;
//   * leaves it alone if its homes have the words of which T's record has the checksum, and writes them back: if the
//     process was killed, they may be in the cache only;
//   * stores its old words otherwise.
// Then the next epoch, in one store, takes all records away.
//
// Why this is right, wherever the power is cut:
//   a. Cut before the fence of step 2 is complete: no home has a new word. If T's record verifies, its old words are
//      those that the homes have. If not, the newest record of the session is the one before, which is still there:
//      two that follow each other never overlap, since each takes at most half the ring.
//   b. Cut between the fences: T's record verifies, and no other session can say that T ended. Nobody else stored to
//      the homes, whose locks are held. Each has its old or its new word. All new: T is as good as ended, and stays.
//      Else T is taken back, whole.
//   c. Cut after the fence of step 3, T being the newest of its session, and nobody has stored to its homes since: they
//      have the new words, durably. T stays, as acknowledged.
//   d. The same, and another transaction, S, stored to homes of T. It had their locks after T, so that it read in step
//      1 that T ended, and its record, which says so, was durable before its stores. That record verifies, or a later
//      one of its session does, which says at least as much. So T is left alone, even if S is taken back: S's old words
//      are T's new ones then.
//   e. Older records of a session are not looked at but for what they say: the newest one says that they ended.
//   f. Two transactions that are taken back have no home in common: of two that have, the later says that the earlier
//      ended. So the order does not matter.
//   g. Cut inside recovery: stores of old words alone were made, and all records are still there. One that was taken
//      back in part has its old words in these homes. The next recovery takes it back again, or finds all words as the
//      checksum has them, since old and new ones are equal. One that was left alone is left alone again: by what a
//      record says in any case, by its homes because none of them was stored to, by (f).
// The checksums have 32 bits: a torn record, or homes of which some are old, pass for whole once in four billion.
#pragma once

#include <bench/tl2/homes.hpp>

#include <array>
#include <atomic>

namespace holdfast::bench {

class undo_once {
public:
    /// Up to which number the transactions of each session ended, durably.
    struct shared {
        explicit shared(region&) noexcept {}
        struct alignas(64) last {
            std::atomic<std::uint64_t> ended{0};
        };
        std::array<last, most_sessions> of_session{};
    };

    undo_once(region& memory, unsigned session, shared& all) noexcept
        : region_(memory), session_(session), shared_(all), ring_(memory.log_of(session)) {}

    bool has_room(std::size_t words) const noexcept {
        return words <= most_writes && bytes_of(words) <= ring_.size() / 2;
    }
    void commit(const stm::write_log& writes, std::uint64_t number);

    /// Takes back what was cut. Requires: no session. If the power is cut inside: the next recovery does it again.
    static void recover(region& memory);

private:
    struct record;
    struct finding;
    static constexpr std::size_t head_words = 2;
    static constexpr std::uint64_t most_writes = 0xFFFF;

    std::size_t bytes_of(std::size_t words) const noexcept {
        return record_words::bytes_for(head_words + region_.sessions() + 2 * words);
    }
    void make_record(const stm::write_log& writes);
    static finding newest_of(const region& memory, unsigned session, std::uint64_t* ended);

    region& region_;
    unsigned session_;
    shared& shared_;
    std::span<std::byte> ring_;
    std::size_t next_ = 0;
    std::uint64_t transaction_ = 0;
    record_words record_;
    record_words new_words_;
    commit_lines lines_;
};

}  // namespace holdfast::bench
