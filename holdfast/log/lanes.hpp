// The log on byte-addressable media and at `process`: lanes, sequences, truncation.
//
// Protocol
//   1. A thread takes its lane; taking it publishes a lower bound of the sequence to come, so
//      that truncation stays below every commit in flight.
//   2. It makes room for its record (this may truncate), draws the global sequence while the
//      caller's locks are held, seals and sends the record, and passes ONE fence. Sending is
//      streaming, or storing and writing back (record_way.hpp): either way lines may arrive in any order. A segment's
//      new salt travels with the segment's first record under that same fence. Beside the salt its header
//      names the lane's commit before, which an earlier fence made durable, and S.
//      Lines of the record behind its first may be sent early, while its transaction is still open. They mean nothing
//      before the first, with the header, is there, and that goes last.
//   3. It stores homes and gives the lane back; that lets truncation pass.
//   4. Truncation of redo records, by whoever finds no free segment: S = below all lanes in flight; write back the
//      home lines of all records <= S in all segments, each line once; fence; persist S; fence;
//      full segments with nothing above S are free.
//   5. Trimming, where commits write their homes back themselves: the fence of a thread's next commit makes them
//      durable. So S = below all lanes in flight and below each lane's last commit needs only to be persisted.
//   6. Where homes come later than their commit (late_homes.hpp), S is below the first that is not home, too; they
//      are written back by who stores them, or by the pacer.
// Below `power` with redo records there is nothing to truncate, unless homes come later: a home that was stored is as
// good as the promise asks. A commit writes its record over the lane's last one and takes it back (its
// sequence becomes 0) when the homes are stored, so that the log stays in the cache and recovery
// finds only commits that were in flight; those hold disjoint locks, hence need no order.
// Undo records of a transaction that has ended are never applied again, whatever the others do. So
// each lane cleans up behind itself: a transaction that filled segments empties them (salt 0, one
// fence) after its end record is durable, and an open one holds back nobody else's.
//
// Invariants
//   * Redo: a segment is reused only after an S above all its records is durable.
//   * Undo: the end of every ended transaction that the media still show a record of stands in the
//     same segment as that record or in the lane's current one.
//   * Truncation is global: were one lane's newer record dropped while another lane's older record
//     of the same word stays, replay would overwrite the newer home.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/log/early.hpp>
#include <holdfast/log/late_homes.hpp>
#include <holdfast/log/record.hpp>
#include <holdfast/log/segments.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/log/touched_lines.hpp>
#include <holdfast/persist/seam.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace holdfast {

/// How a lane log behaves; fixed while a pool is open.
struct lane_log_options {
    bool persists = true;            ///< `power`: send, write back, fence. False: plain stores
    persist::line_path lines;        ///< used when `persists`
    bool logs_new_values = true;    ///< redo: truncation writes homes back. False: undo
    std::uint64_t last_sequence = 0; ///< highest ever drawn in this pool
    std::uint32_t trim_batch = 0;    ///< commits of a lane between two trimmings; 0: never
    bool stores_homes_late = false;    ///< `follow` supplies the object that stores them
    std::string path{};              ///< of the pool, for errors
};

/// One stream of records. Held by one thread between `acquire` and `release`.
class log_lane {
    friend class lane_log;
    friend class lane_owner;
    static constexpr std::uint64_t idle = ~std::uint64_t{0};

    alignas(128) std::atomic<std::uint64_t> in_flight_{idle};
    std::atomic<bool> owned_{false};  ///< a living thread keeps it; nobody else takes it
    bool sequence_drawn_ = false;
    std::uint32_t index_ = 0;
    std::uint32_t segment_ = no_segment;
    std::byte* segment_begin_ = nullptr;  ///< where that segment is mapped
    std::uint32_t seed_ = 0;
    bool salt_owed_ = false;  ///< the segment's header goes with its first record
    std::uint64_t salt_ = 0;
    std::uint64_t ended_ = 0;  ///< the last commit or end that was sent whole; the next lap's header names it
    std::uint64_t position_ = 0;          ///< in the segment, of the next record
    std::uint64_t claim_ = 0;             ///< who sends lines there early; 0: nobody
    /// A commit whose homes were written back by this thread, which has not fenced since; `idle`: none.
    std::atomic<std::uint64_t> unfenced_{idle};
    std::uint64_t writer_ = 0;
    std::uint32_t untrimmed_ = 0;  ///< commits since it was asked to trim
    std::vector<std::uint32_t> reserved_; ///< segments for the parts of a large record
    std::vector<std::uint64_t> part_;  ///< where a part of a large record is built; empty when there is none
    /// Segments before the current one that go free when the commit ends: parts of a record that
    /// is taken back, or undo records (then others look at it, under the log's mutex).
    std::vector<std::uint32_t> filled_;
    std::uint64_t fences_before_ = 0;  ///< of this thread when ended_ was sent; kept in builds for tests
};

class lane_log {
    friend class lane_owner;

public:
    using lane = log_lane;

    /// Requires: the log is formatted or recovered, so that no record on the media is above
    /// `options.last_sequence`.
    lane_log(std::byte* pool, std::uint64_t pool_bytes, log_geometry geometry, const lane_log_options& options);

    /// Uses `homes` from now on; it outlives every call except the destructor's. Requires: stores_homes_late, no commit
    /// yet.
    void follow(late_homes& homes) noexcept { late_ = &homes; }

    /// Creates a thread's state for logs, before state that must be destroyed earlier. Once per thread is enough.
    static void begin_thread() noexcept;

    /// Takes the lane that this thread owns, without an atomic exchange, or an idle shared lane if none is left to own;
    /// waits while all of those are in use. Thread-safe.
    lane& acquire() noexcept { return *try_acquire(~std::size_t{0}); }
    /// The same, giving up with nullptr after that number of attempts at a lane.
    lane* try_acquire(std::size_t tries_at_most) noexcept {
        lane* own = last_instance_ == instance_ ? last_lane_ : find_lane_to_own();
        if (own == nullptr) [[unlikely]]
            return acquire_shared(tries_at_most);
        // A plain store: draw_sequence's exchange makes it visible before the number it draws.
        own->in_flight_.store(next_.load(std::memory_order_relaxed), std::memory_order_relaxed);
        // Keeps the compiler from looking first; what keeps the processor from it is in `hold`.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        // Acquire: what a holder changed is seen.
        if (held_.load(std::memory_order_acquire)) [[unlikely]]
            wait_while_held(*own);
        return own;
    }
    /// The same with room for a record, which has payload() and payload_words(): the last step of a commit that can
    /// fail. nullptr: `reserved` says why, as for `reserve`; then, and if std::bad_alloc is thrown, no lane is held.
    template <class Record>
    lane* acquire_with_room(const Record& record, result<void>& reserved) {
        lane& taken = acquire();
        if (has_room(taken, format::record_bytes(record.payload_words()))) [[likely]]
            return &taken;
        return make_room(taken, record.payload(), record.payload_words(), reserved);
    }
    /// `release` after the homes were also written back, without a fence: the next fence of this thread makes them
    /// durable. Returns true when it is time to truncate.
    bool release_written_back(lane& held, std::uint64_t sequence) {
        note_written_back(held, sequence);
        const bool is_due = ++held.untrimmed_ == options_.trim_batch;
        if (is_due) held.untrimmed_ = 0;
        release(held);
        return is_due;
    }
    /// Ends what `acquire` began: homes are stored. Thread-safe.
    void release(lane& held) {
        HOLDFAST_ASSERT(is_held(held), "a lane is held until it is given back");
        if (retires_at_once_) {
            take_back(held);
        } else if (!held.filled_.empty()) [[unlikely]] {
            retire_filled(held);
        }
        held.sequence_drawn_ = false;
        held.in_flight_.store(lane::idle, std::memory_order_release);
    }

    /// The same for a commit that will not be sent: segments that were reserved for it are free again. Requires: no
    /// sequence drawn. Thread-safe.
    void release_unused(lane& held);

    /// Ensures that `append` of this payload succeeds, with `slack_bytes` left behind it for a record that must not
    /// fail later; may truncate. Errors: transaction_too_large; busy, if other transactions filled the log and did not
    /// end within a second. After an error, or if std::bad_alloc is thrown, nothing has changed and the earlier slack
    /// remains.
    result<void> reserve(lane& held, const std::uint64_t* payload, std::uint64_t payload_words,
                         std::uint64_t slack_bytes = 0) {
        const std::uint64_t bytes = format::record_bytes(payload_words) + slack_bytes;
        if (has_room(held, bytes)) [[likely]]
            return {};
        return reserve_segments(held, payload, payload_words);
    }
    /// The same for a payload that is not there yet. Requires: it fits in a segment.
    result<void> reserve_words(lane& held, std::uint64_t payload_words) {
        HOLDFAST_ASSERT(payload_words <= segment_payload_words(), "a payload that is not there is not divided");
        return reserve(held, nullptr, payload_words);
    }
    std::uint64_t segment_payload_words() const noexcept { return segments_.geometry().segment_payload_words(); }
    /// Whether a record of this many bytes needs nothing reserved.
    bool has_room(const lane& held, std::uint64_t bytes) const noexcept {
        return held.segment_ != no_segment && held.position_ + bytes <= segments_.geometry().segment_bytes;
    }
    /// The next global sequence. Call while the caller's locks are held.
    std::uint64_t draw_sequence(lane& held) noexcept {
        HOLDFAST_ASSERT(is_held(held), "a sequence is drawn while the lane is held");
        held.sequence_drawn_ = true;
        // A number of the lane's own: only records in flight ever meet, each in a lane of its own.
        if (retires_at_once_) return next_.load(std::memory_order_relaxed) + held.index_;
        const std::uint64_t drawn = next_.fetch_add(1, std::memory_order_seq_cst);
        HOLDFAST_ASSERT(drawn > truncated(), "truncation stays below every commit in flight");
        HOLDFAST_ASSERT(drawn > held.ended_, "the sequence of a lane only grows");
        return drawn;
    }
    /// What numbers are drawn from, to be used in a transaction of the processor: the number is what is there, and one
    /// more is stored. Requires: a lane is held since before the transaction, and begin_drawing was called for it.
    std::atomic<std::uint64_t>& counter() noexcept { return next_; }
    /// A number will be drawn from counter().
    void begin_drawing(lane& held) noexcept {
        HOLDFAST_ASSERT(is_held(held) && !retires_at_once_, "a number is drawn while the lane is held");
        held.sequence_drawn_ = true;
    }
    /// Seals and sends the record at `record` (header words, payload, room up to the next line).
    /// Requires: reserved. Durable after the next fence; not before.
    void append(lane& held, std::uint64_t* record, std::uint64_t payload_words, std::uint64_t sequence,
                format::record_kind kind, std::uint32_t part = 0) {
        if (!held.reserved_.empty()) [[unlikely]]
            return append_parts(held, record, payload_words, sequence, kind);
        const bool redo = kind == format::record_kind::redo;
        send(held, record, payload_words, sequence, static_cast<std::uint16_t>(part),
             redo ? std::uint16_t{1} : static_cast<std::uint16_t>(part >> 16), kind);
    }

    /// Whether all of that record was sent, in this lane, and at `power` this thread has passed a fence since. True
    /// where records are taken back at once. For assertions, in builds for tests.
    bool is_durable(const lane& held, std::uint64_t sequence) const noexcept {
        if (retires_at_once_) return true;
        const bool is_fenced = !options_.persists || persist::thread_counters().fences > held.fences_before_;
        return held.ended_ == sequence && is_fenced;
    }

    /// Claims the place behind this thread's last record, for lines that are sent early. Returns false if there is
    /// none: the thread owns no lane, its segment is nearly full, or another of its transactions has the place.
    bool claim_early(early_lines& early) noexcept;
    /// Sends the missing whole lines of the first `record_words` words at `record`. Requires: the claiming thread.
    /// Returns false, permanently, if another record took the place or the segment is full. `append_early` handles
    /// both.
    bool send_early(early_lines& early, const std::uint64_t* record,
                    std::uint64_t record_words) noexcept(persist::noexcept_seam);
    /// `append` of a redo record, some lines of which may have been sent early.
    void append_early(lane& held, std::uint64_t* record, std::uint64_t payload_words, std::uint64_t sequence,
                      early_lines& early);
    /// Gives a claimed place up: the transaction was rolled back.
    void give_up_early(early_lines& early) noexcept;

    /// Step 5. Thread-safe.
    void trim();

    /// Brings every record below all commits in flight home and frees their segments. Thread-safe.
    void truncate();

    /// Records of a segment, one behind the other.
    struct stretch {
        std::uint32_t segment = no_segment;
        std::uint64_t begin = 0;  ///< bytes in the segment
        std::uint64_t end = 0;
    };
    /// For whoever writes homes back little by little: returns the highest sequence below all commits in flight.
    /// `found` gets all records up to there whose homes nobody has noted, and perhaps later ones; none of their
    /// segments is freed before late_homes lets S pass them. Throws std::bad_alloc. Thread-safe.
    std::uint64_t find_not_home(std::vector<stretch>& found);
    /// Calls f(payload, payload_words) for each record of `where` up to that sequence, as long as it returns true.
    /// Moves the begin of `where` behind them. Returns false if there are more.
    template <class F>
    bool for_each_record(stretch& where, std::uint64_t up_to, F&& f) const;
    /// The homes of all records before each one's begin are durable. Thread-safe.
    void note_home(const std::vector<stretch>& done);
    /// Thread-safe.
    log_room room() {
        const std::lock_guard guard(mutex_);
        return room_locked();
    }

    /// Holds commits until `resume`: when it returns none is in flight, every home is as the commits so far left it,
    /// and none begins. An undo transaction counts from its first store to its end. Thread-safe, with one holder at a
    /// time. Requires: the calling thread has no transaction open.
    /// Errors: busy, if one stayed in flight for `patience`, and io (membarrier): all then continue.
    result<void> hold(std::chrono::milliseconds patience);
    /// Ends what `hold` began.
    void resume() noexcept;

    /// Where records are taken back, numbers are drawn that are not counted: the next one is above them all. Requires:
    /// held.
    void pass_drawn_sequences() noexcept { next_.fetch_add(lanes_->size(), std::memory_order_seq_cst); }
    /// Goes on at `power`, with the log there. Requires: held; redo records, which were taken back so far; an empty log
    /// of the same size, whose truncation point is the last sequence.
    void go_on_durably(const log_geometry& geometry) noexcept;

    /// Every record with a sequence up to this one is home, durably.
    std::uint64_t truncated() const noexcept { return truncated_.load(std::memory_order_acquire); }
    /// The highest sequence drawn so far; exact while commits are held.
    std::uint64_t last_sequence() const noexcept { return next_.load(std::memory_order_acquire) - 1; }
    /// Number of log reclamations.
    std::uint64_t truncations() const noexcept { return truncations_.load(std::memory_order_relaxed); }
    /// True where recovery never applies a record of a transaction that has ended.
    bool forgets_what_ended() const noexcept { return retires_at_once_ || !options_.logs_new_values; }

    /// Called after each truncation with the new S, by the truncating thread.
    std::function<void(std::uint64_t)> on_truncated;

private:
    static bool is_held(const lane& each) noexcept {
        return each.in_flight_.load(std::memory_order_relaxed) != lane::idle;
    }
    void wait_while_held(lane& own) noexcept;
    bool all_idle() const noexcept;
    lane* make_room(lane& held, const std::uint64_t* payload, std::uint64_t payload_words, result<void>& reserved);
    result<void> reserve_segments(lane& held, const std::uint64_t* payload, std::uint64_t payload_words);
    lane* find_lane_to_own() noexcept;
    lane* acquire_shared(std::size_t tries_at_most) noexcept;
    log_room room_locked() const noexcept {
        return {segments_.free_count(), segments_.full_count(), segments_.count()};
    }
    enum class taking : std::uint8_t { taken, not_now, never };
    taking take_segments(lane& held, std::uint32_t how_many);
    void stay_below_next(lane& held) noexcept;
    void free_segments(lane& held);
    bool others_pin_segments(const lane& held) const noexcept;
    /// The record's homes are stored: from here on a kill leaves nothing to replay.
    void take_back(lane& held) {
        if (held.position_ <= format::segment_header_bytes) return;
        // Behind the homes: a kill between them must find the record.
        persist::order_for_kill();
        if (!held.filled_.empty()) take_parts_back(held);
        constexpr std::uint64_t no_sequence = 0;
        persist::copy(held.segment_begin_ + format::segment_header_bytes + sequence_offset, &no_sequence,
                      sizeof no_sequence, persist::site::log_record);
        held.position_ = format::segment_header_bytes;
    }
    void take_parts_back(lane& held);
    void empty_filled(lane& held);
    void empty_segment(std::uint32_t index);
    void retire_filled(lane& held);
    void give_filled_back(lane& held) noexcept;
    std::uint64_t readable_bytes(std::uint32_t index, std::uint64_t up_to) noexcept;
    std::byte* segment_address(std::uint32_t index) const noexcept {
        return pool_ + segments_.geometry().segment_offset(index);
    }
    void reclaim_shared_lanes();
    lane* lane_with(const early_lines& early) noexcept;
    void note_written_back(lane& held, std::uint64_t sequence) noexcept;
    std::uint64_t lowest_in_flight() const noexcept;
    void truncate_locked();
    void move_truncation_point(std::uint64_t sequence);
    std::uint64_t choose_truncation_point() noexcept;
    std::uint64_t choose_trimming_point() noexcept;
    void write_homes_back(std::uint64_t up_to);
    void persist_truncation(std::uint64_t sequence);
    void begin_segment(lane& held, std::uint32_t index) noexcept;
    void leave_segment(lane& held);
    void close_segment(lane& held);
    void append_parts(lane& held, const std::uint64_t* record, std::uint64_t payload_words, std::uint64_t sequence,
                      format::record_kind kind);
    void send(lane& held, std::uint64_t* record, std::uint64_t payload_words, std::uint64_t sequence,
              std::uint16_t part, std::uint16_t parts, format::record_kind kind);
    void note_sent(lane& held, std::uint64_t sequence, std::uint64_t end, bool is_last) noexcept;
    [[gnu::cold, gnu::noinline]] void send_salt(lane& held, std::byte* segment);
    void put(std::byte* to, const void* from, std::size_t size, persist::site_id where);

    // The lane that this thread used last, and of which log.
    static inline constinit thread_local std::uint64_t last_instance_ = 0;
    static inline constinit thread_local lane* last_lane_ = nullptr;
    /// Where the search for a shared lane begins, if the thread owns none.
    static inline constinit thread_local unsigned last_hint_ = 0;
    /// Of all logs: a claim of one is never taken for another's.
    static inline constinit std::atomic<std::uint64_t> next_claim_{1};
    /// Never given twice; 0: not given yet.
    static inline constinit thread_local std::uint64_t thread_number_ = 0;

    std::byte* pool_;
    lane_log_options options_;
    bool retires_at_once_;
    segment_table segments_;
    /// The first `ownable_` may be owned by threads, the rest are shared. Outlives the log while a
    /// thread remembers that it owns one.
    std::shared_ptr<std::vector<lane>> lanes_;
    std::size_t ownable_;
    std::uint64_t instance_;
    std::atomic<bool> held_{false};
    alignas(128) std::atomic<std::uint64_t> next_;
    alignas(128) std::atomic<std::uint64_t> truncated_;
    std::atomic<std::uint64_t> truncations_{0};
    std::atomic<unsigned> next_hint_{0};
    std::mutex mutex_;  ///< segments' free list and truncation
    std::atomic<std::uint32_t> unwritten_{0};  ///< records in parts whose segments are taken and not written yet
    unsigned truncation_slot_ = 0;  ///< the slot that holds the current point
    late_homes* late_ = nullptr;
    touched_lines touched_;
};

template <class F>
bool lane_log::for_each_record(stretch& where, std::uint64_t up_to, F&& f) const {
    const std::byte* const segment = segment_address(where.segment);
    while (where.begin < where.end) {
        const auto* words = reinterpret_cast<const std::uint64_t*>(segment + where.begin);
        if (sequence_of(words) > up_to) return true;
        const std::uint64_t payload_words = payload_words_of(words);
        where.begin += format::record_bytes(payload_words);
        if (!f(words + format::record_header_words, payload_words)) return false;
    }
    return true;
}

// Between the last store and the fence: inlined into each engine's commit.

inline void lane_log::put(std::byte* to, const void* from, std::size_t size, persist::site_id where) {
    if (options_.persists) {
        persist::send(options_.lines, to, from, size, where);
    } else {
        // Whole lines, mostly one: cheaper than a call.
        for (std::size_t line = 0; line < size; line += persist::line_bytes)
            persist::copy(to + line, static_cast<const std::byte*>(from) + line, persist::line_bytes, where);
    }
}

inline void lane_log::send(lane& held, std::uint64_t* record, std::uint64_t payload_words, std::uint64_t sequence,
                           std::uint16_t part, std::uint16_t parts, format::record_kind kind) {
    HOLDFAST_ASSERT(is_held(held) && held.segment_ != no_segment, "a record goes to a lane that is held");
    HOLDFAST_ASSERT(held.in_flight_.load() <= sequence, "a lane's bound is not above the commit that it protects");
    seal_record(record, payload_words, sequence, part, parts, kind, held.seed_);
    std::byte* const segment = held.segment_begin_;
    const std::uint64_t bytes = format::record_bytes(payload_words);
    const std::uint64_t end = held.position_ + bytes;
    HOLDFAST_ASSERT(end <= segments_.geometry().segment_bytes, "a record fits into its segment");
    if (held.salt_owed_) [[unlikely]]
        send_salt(held, segment);
    if (retires_at_once_ && end < segments_.geometry().segment_bytes) {
        // What an earlier, longer record left behind this one must not be read as its successor.
        constexpr std::uint64_t no_sequence = 0;
        persist::copy(segment + end + sequence_offset, &no_sequence, sizeof no_sequence, persist::site::log_record);
    }
    put(segment + held.position_, record, bytes, persist::site::log_record);
    // Not with a part before the last: the next one's segment begins before the fence.
    const bool is_last = kind == format::record_kind::redo ? part + 1 == parts : kind == format::record_kind::undo_end;
    note_sent(held, sequence, end, is_last);
}

inline void lane_log::note_sent(lane& held, std::uint64_t sequence, std::uint64_t end, bool is_last) noexcept {
    const std::uint64_t begin = std::exchange(held.position_, end);
    held.claim_ = 0;
    if (retires_at_once_) return;
    if (is_last) {
        held.ended_ = sequence;
#ifdef HOLDFAST_CHECKED
        held.fences_before_ = persist::thread_counters().fences;
#endif
    }
    auto& filled = segments_[held.segment_];
    // What was there before passed this lane's last fence.
    filled.last_begin.store(begin, std::memory_order_release);
    filled.last_sequence.store(sequence, std::memory_order_release);
    filled.used_bytes.store(end, std::memory_order_release);
}

}  // namespace holdfast
