// The log of `redo_tl2`: new words in a record, one fence inside the locks, homes written back in batches.
//
// It owns the log of its session, two areas of records, whole lines each, that follow each other. A record has its
// number from TL2's clock, its epoch, the address and the new word of each write, and a checksum. Area e % 2 has the
// records of epoch e. All sessions share the epoch that is current; the region has the oldest whose records are
// replayed.
//
// A commit, the locks of all lines held and the reads validated:
//   1. The session's log is taken for itself. If the current epoch is later than the log's, its homes of the epoch
//      before come home: each of their lines is written back once, and fenced. Its area is empty then.
//   2. The record is sent to the area; fence.
//      The fence: a line of homes may leave the cache at any time, and the locks are about to be released.
//   3. The homes are stored; their lines are kept in mind. The log is given back.
//   If the area is full, the log is given back, the next epoch begins, and the commit goes on with step 1.
//
// How epoch e + 1 begins, e being the current one; one session at a time does it:
//   4. What any log still keeps in mind of epochs before e comes home, as in step 1, fenced.
//      The fence: the records of these epochs are about to be given up.
//   5. The region's epoch becomes e, durably: areas of e + 1 are those of e - 1, which are overwritten from now on.
//   6. e + 1 is the current epoch.
// So a session brings its own homes home at its first commit in an epoch, while the others do the same. One waits for
// another only if that one makes no commit for as long as it takes to fill an area.
//
// Why giving up an epoch before a later one is right: of two transactions with a home in common the later one reads the
// current epoch while it holds the home's lock, after the earlier one, so that its epoch is not before that one's. So
// what an epoch's end takes away is older than all records that stay.
//
// Recovery takes the records of the region's epoch and the one after it, of each log until the first that does not
// verify, makes them durable, as they may have been stored only, stores their words in the order of their numbers,
// writes the homes back, and then, in one store, begins an epoch in which no record is. A record that does not verify
// was not acknowledged, and its homes were not stored. A cut inside recovery leaves all records for the next one.
#pragma once

#include <bench/tl2/homes.hpp>

#include <holdfast/log/line_set.hpp>
#include <holdfast/stm/wait.hpp>

#include <array>
#include <atomic>
#include <mutex>
#include <span>

namespace holdfast::bench {

class redo_aside {
public:
    class shared {
    public:
        explicit shared(region& memory) noexcept : region_(memory), epoch_(memory.epoch()) {}

        std::uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
        /// Begins the epoch behind `full`, unless another session has done so.
        void move_on(std::uint64_t full);
        /// Epochs given up so far.
        std::uint64_t truncations() const noexcept { return truncations_.load(std::memory_order_relaxed); }

    private:
        friend class redo_aside;
        region& region_;
        std::mutex moving_;
        std::atomic<std::uint64_t> epoch_;
        std::atomic<std::uint64_t> truncations_{0};
        std::array<redo_aside*, most_sessions> logs_{};
    };

    redo_aside(region& memory, unsigned session, shared& all);
    ~redo_aside() { shared_.logs_[session_] = nullptr; }
    redo_aside(const redo_aside&) = delete;
    redo_aside& operator=(const redo_aside&) = delete;

    bool has_room(std::size_t words) const noexcept { return bytes_of(words) <= area_bytes_; }
    void commit(const stm::write_log& writes, std::uint64_t number);

    /// Brings home what was acknowledged. Requires: no session. If the power is cut inside: the next recovery does it
    /// again.
    static void recover(region& memory);

private:
    struct record;
    /// The log, taken for as long as this lives.
    class taken {
    public:
        explicit taken(redo_aside& log) noexcept : log_(log) {
            while (log_.is_taken_.exchange(true, std::memory_order_acquire)) stm::relax_processor();
        }
        ~taken() { log_.is_taken_.store(false, std::memory_order_release); }
        taken(const taken&) = delete;
        taken& operator=(const taken&) = delete;

    private:
        redo_aside& log_;
    };

    static constexpr std::size_t head_words = 4;
    static std::size_t bytes_of(std::size_t words) noexcept { return record_words::bytes_for(head_words + 2 * words); }
    static std::size_t area_bytes_of(const region& memory) noexcept {
        return memory.log_of(0).size() / 2 / persist::line_bytes * persist::line_bytes;
    }

    void make_record(const stm::write_log& writes, std::uint64_t number);
    bool append(const stm::write_log& writes);
    void enter(std::uint64_t epoch);
    void bring_home();

    region& region_;
    unsigned session_;
    shared& shared_;
    std::size_t area_bytes_;
    std::atomic<bool> is_taken_{false};
    std::uint64_t epoch_;      ///< whose records and lines the log has
    std::size_t used_ = 0;     ///< bytes of the area
    std::size_t words_ = 0;    ///< of the record, without what fills its last line
    line_set lines_;           ///< counted from the region's begin
    record_words record_;
};

}  // namespace holdfast::bench
