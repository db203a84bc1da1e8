// cc_htm: owns the record of a thread's commit. After Giles, Doshi and Varman, "Continuous Checkpointing of HTM
// Transactions in NVM", sections 3 and 4; the queue is log/retirement.cpp, recovery log/replay.cpp.
//
// Protocol, byte-addressable media
//   START and EXECUTE
//   1. The function runs in a transaction of stm/. Homes are memory of this process (the alias of each word is the word
//      in a private page), so that an eviction cannot show the medium anything of it. Where aliases are elsewhere
//      (cc_htm_aliases.cpp), loads look there before they look at the medium's home.
//   2. At its end, with the locks of the isolation held: take a lane, make room, be admitted to the queue, and take
//      places for the aliases.
//   3. Draw the number, before what was read is validated for the last time: drawn later, a transaction might have a
//      larger number than one that has overwritten what it read (the paper's Claim 1). A number whose commit then fails
//      is logged all the same, without words: replay stops at the first that is missing.
//   4. Store the homes in private memory, or the aliases; release the locks. Others see what was committed.
//   FINISH
//   5. Make the record from the write set, send it to the lane, and FENCE: the only one. It makes the record durable;
//      nothing is held meanwhile. Homes on the medium wait for it in the queue.
//   6. Say in the queue that the number is finished; give the lane back.
//   WAIT
//   7. Return when at most L commits up to this one are missing in the log. Except at `lag` L is 0. Then a transaction
//      that has only read waits for what it may have read.
// Retirement is the queue's: homes on the medium are stored in the order of numbers, by whoever finds too many waiting.
// At `process` without the fence: the log keeps what is not home.
// A transaction of the processor takes its lane and makes room in step 1, because it cannot wait or call the kernel.
// Step 3 is its last act, and step 4 happens with it, at its end. While it runs, its lane keeps the log from being
// truncated past it: it cannot be long. A number from inside orders commits as the processor does, without a stamp and
// without an announced start. A thread that is preempted inside delays nobody's retirement, as an open start would: its
// transaction aborts. In the fallback the steps are those above.
// On a file at `power` or `lag` the record joins the open group in step 3, validated meanwhile, and step 7 waits for
// the group's sync only if L commits are not synced.
//
// Who calls what, in order. The isolation is an algorithm of stm/ or htm/, and calls its home by stm/home.hpp.
//   cc_htm_transaction::begin     the isolation begins                                    1
//   cc_htm_transaction::seal
//     the isolation's commit      takes its locks
//       draw_number               take_place; on a file admit_to_group                    2, 3
//                                 validates what was read for the last time
//       join_group                on a file: the record joins the group                   3
//                                 go_home_first, if aliases lack room: 5 and 6 come here
//       close_gate                nobody else publishes
//                                 stores the homes or the aliases                         4
//       open_gate                 others may; then it releases its locks                  4
//     log_commit                  put_in_log                                              5, 6
//   cc_htm_transaction::settle    settle                                                  7
//   In hardware enter_hardware comes before the function (2), and `drawn` behind its end, with 3 and 4 over; then
//   log_commit and settle. Where an attempt fails behind step 3, give_number_back logs the number without words (5, 6).
//
// Invariants
//   * Numbers are in the order of conflicting effects, and dense.
//   * A home on the medium is stored only when its record and all those of smaller numbers are in the log.
//   * Nobody waits with a number that is not in the log yet.
#include <holdfast/engine/cc_htm.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/engine/planted.hpp>
#include <holdfast/log/group_lag.hpp>
#include <holdfast/log/groups.hpp>
#include <holdfast/log/run_writer.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

namespace holdfast {

bool cc_htm_home::draw_number(const stm::write_log& writes) noexcept {
    return cc_htm_commit::of_this_thread_->draw_number(writes);
}
bool cc_htm_home::prepare(const stm::write_log& writes) noexcept {
    return cc_htm_commit::of_this_thread_->join_group(writes);
}
htm::hardware_place cc_htm_home::enter_hardware() noexcept {
    return cc_htm_commit::of_this_thread_->enter_hardware();
}
void cc_htm_home::drawn(std::uint64_t number) noexcept { cc_htm_commit::of_this_thread_->sequence_ = number; }
void cc_htm_home::leave_hardware() noexcept {
    // A fork ends a transaction of a thread that has never used a pool.
    if (cc_htm_commit::of_this_thread_ != nullptr) cc_htm_commit::of_this_thread_->leave_hardware();
}
void cc_htm_home::log() noexcept { cc_htm_commit::of_this_thread_->close_gate(); }
void cc_htm_home::retire() noexcept { cc_htm_commit::of_this_thread_->open_gate(); }

void cc_htm_commit::make_record(const stm::write_log& writes) {
    record_.make_room(writes.size() * run_writer::most_words_of_a_word);
    const auto base = reinterpret_cast<std::uintptr_t>(base_);
    run_writer runs(record_.payload());
    for (const stm::write_log::entry& each : writes) {
        const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(each.home()) - base;
        HOLDFAST_ASSERT(offset < pool_->size(), "no store goes outside the pool");
        if (each.mask() == 0xFF) [[likely]] {
            runs.add(offset, each.value);
        } else {
            runs.add_masked(offset, each.value, each.mask());
        }
    }
    record_.payload_words = static_cast<std::uint64_t>(runs.finish_run() - record_.payload());
    has_record_ = true;
}

bool cc_htm_commit::may_be_of_others(const void* block) noexcept {
    // As long as the log waits for others' segments.
    constexpr std::chrono::seconds patience{1};
    if (std::ranges::find(released_, block) != released_.end()) return false;
    const auto now = std::chrono::steady_clock::now();
    if (++refusals_ == 1) refused_since_ = now;
    if (now - refused_since_ <= patience) return true;
    refusals_ = 0;
    return false;
}

void cc_htm_commit::pause_for_others() const {
    constexpr unsigned short_refusals = 32;
    if (refusals_ <= short_refusals) return;
    // A destructor may have come here, which a cancelled thread must not leave by unwinding.
    const cancellation_held uncancelled;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

// ---- 2. and 3., with the isolation's locks held

/// Whether step() has succeeded. Why it has not, take_refusal tells: no exception may pass the isolation.
template <class Step>
bool cc_htm_commit::succeeds(Step&& step) noexcept {
    try {
        auto done = step();
        if (done) return true;
        problem_ = std::move(done).give_error();
    } catch (const std::bad_alloc&) {
        lacks_memory_ = true;
#ifdef HOLDFAST_OBSERVED
    } catch (const persist::simulated_crash&) {
        has_crashed_ = true;
#endif
    }
    return false;
}

bool cc_htm_commit::draw_number(const stm::write_log& writes) noexcept {
    has_record_ = false;
    if (writes.empty()) return true;
    return succeeds([&] { return pool_->homes_are_private() ? admit_to_group(writes) : take_place(writes); });
}

result<void> cc_htm_commit::take_place(const stm::write_log& writes) {
    const std::uint64_t most_words = writes.size() * run_writer::most_words_of_a_word;
    record_.make_room(most_words);
    lane_log& log = *pool_->lanes();
    log_lane& lane = log.acquire();  // 2
    try {
        if (!log.has_room(lane, format::record_bytes(most_words))) [[unlikely]] {
            make_record(writes);
            if (auto reserved = log.reserve(lane, record_.payload(), record_.payload_words); !reserved) {
                log.release_unused(lane);
                return reserved;
            }
        }
        pool_->retiring()->admit();
        if (!aliases_.enter(*pool_, writes)) {
            log.release_unused(lane);
            return bare_error(errc::aborted);
        }
    } catch (...) {
        log.release_unused(lane);
        throw;
    }
    lane_ = &lane;
    sequence_ = log.draw_sequence(lane);  // 3
    return {};
}

// ---- 2., before a transaction of the processor

htm::hardware_place cc_htm_commit::enter_hardware() noexcept {
    has_record_ = false;
    // More lines than a processor follows; but where segments are short, no large part of one.
    constexpr std::uint64_t most_words = 512;
    lane_log& log = *pool_->lanes();
    const std::uint64_t words = std::min(most_words, log.segment_payload_words() / 4);
    const bool entered = succeeds([&] { return take_place_for_hardware(words); });
    // The fallback meets it again, where it can be told.
    problem_ = nullptr;
    lacks_memory_ = false;
    if (!entered) return {};
    return {&log.counter(), words / run_writer::most_words_of_a_word};
}

result<void> cc_htm_commit::take_place_for_hardware(std::uint64_t payload_words) {
    lane_log& log = *pool_->lanes();
    // Nothing behind the end of the transaction may fail.
    record_.make_room(payload_words);
    log_lane& lane = log.acquire();  // 2
    try {
        if (auto reserved = log.reserve_words(lane, payload_words); !reserved) {
            log.release(lane);
            return reserved;
        }
        pool_->retiring()->admit();
    } catch (...) {
        log.release(lane);
        throw;
    }
    log.begin_drawing(lane);
    lane_ = &lane;
    return {};
}

/// Also behind a commit of the fallback that was refused: the lane has a number then, and stays until it is logged.
void cc_htm_commit::leave_hardware() noexcept {
    if (lane_ != nullptr && sequence_ == 0) pool_->lanes()->release(*std::exchange(lane_, nullptr));
}

result<void> cc_htm_commit::admit_to_group(const stm::write_log& writes) {
    const cancellation_held uncancelled;
    make_record(writes);
    group_log& log = *pool_->groups();
    if (auto admitted = log.admit(record_.payload_words); !admitted) return admitted;  // 2
    // Held until the record is in the group: what is validated in between cannot be overwritten by a commit that
    // stands before it.
    order_ = std::unique_lock(pool_->lagging()->order());
    return {};
}

/// On a file: the commit is certain, and stands in the open group from here on.
bool cc_htm_commit::join_group(const stm::write_log& writes) noexcept {
    if (aliases_.go_home_first()) [[unlikely]]
        return succeeds([&]() -> result<void> {
            go_home_first(writes);
            return {};
        });
    if (writes.empty() || !pool_->homes_are_private()) return true;
    const cancellation_held uncancelled;
    const bool joined = succeeds([&]() -> result<void> {
        private_pages* const pages = pool_->pages_of_homes();
        const std::uint64_t new_pages = pages != nullptr ? pages->prepare(record_.payload(), record_.payload_words) : 0;
        group_ = pool_->groups()->append(record_.payload(), record_.payload_words, false, new_pages).group;  // 3
        sequence_ = pool_->lagging()->joined(group_);
        return {};
    });
    if (!joined) order_ = {};
    return joined;
}

// ---- 4. Around the stores

/// Nobody else publishes; on a file no page of homes is given back while they are stored.
void cc_htm_commit::close_gate() noexcept {
    aliases_.begin_publishing(sequence_);
    if (group_ == 0) return;
    private_pages* const pages = pool_->pages_of_homes();
    if (pages == nullptr) return;
    gate_.emplace(*pages);
    gate_->note_all(record_.payload(), record_.payload_words, group_);
}

/// Others join only now: whoever holds the order at a barrier finds every home stored whose record is in a group.
void cc_htm_commit::open_gate() noexcept {
    aliases_.leave(sequence_);
    gate_.reset();
    order_ = {};
}

// ---- 5. and 6., with nothing held

void cc_htm_commit::log_commit(const stm::write_log& writes) {
    if (lane_ == nullptr) return;
    if (!has_record_) make_record(writes);
    send_record();
}

/// The commit does not fit where aliases wait: the log has it, and the medium, before its locks are released.
void cc_htm_commit::go_home_first(const stm::write_log& writes) {
    const cancellation_held uncancelled;
    log_lane& lane = *std::exchange(lane_, nullptr);
    if (!has_record_) make_record(writes);
    put_in_log(lane);
    aliases_.bring_home(*pool_, writes, sequence_);
    pool_->lanes()->release(lane);
}

void cc_htm_commit::send_record() {
    log_lane& lane = *std::exchange(lane_, nullptr);
    put_in_log(lane);
    pool_->lanes()->release(lane);
}

void cc_htm_commit::put_in_log(log_lane& lane) {
    lane_log& log = *pool_->lanes();
    const bool is_early = is_planted(planted::finished_before_fence);
    log.append(lane, record_.record(), record_.payload_words, sequence_, format::record_kind::redo);  // 5
    if (is_early) {
        pool_->retiring()->finished(sequence_, record_);
        std::this_thread::yield();
    }
    persist::fence_or_order(pool_->persists_lines(), pool_->lines(), persist::site::log_commit_fence);  // 5
    HOLDFAST_ASSERT(log.is_durable(lane, sequence_), "a number is finished when its record is in the log, durably");
    if (!is_early) pool_->retiring()->finished(sequence_, record_);  // 6
}

void cc_htm_commit::give_number_back() noexcept(persist::noexcept_seam) {
    order_ = {};
    problem_ = nullptr;
    aliases_.give_back();
    if (lane_ == nullptr) return;
    if (is_planted(planted::void_record_unlogged)) {
        record_.payload_words = 0;
        pool_->retiring()->finished(sequence_, record_);
        return pool_->lanes()->release(*std::exchange(lane_, nullptr));
    }
    record_.make_room(0);
    record_.payload_words = 0;
    send_record();
}

result<void> cc_htm_commit::take_refusal() {
#ifdef HOLDFAST_OBSERVED
    if (std::exchange(has_crashed_, false)) throw persist::simulated_crash{};
#endif
    if (std::exchange(lacks_memory_, false)) throw std::bad_alloc();
    // Without places it is over as behind a conflict.
    if (aliases_.lacks_places()) problem_ = nullptr;
    if (problem_) return std::move(problem_);
    lose_attempt();
    return detail::keep_lasting(bare_error(errc::aborted));
}

// ---- 7.

result<void> cc_htm_commit::settle() {
    if (pool_->homes_are_private()) {
        const cancellation_held uncancelled;
        group_lag& lag = *pool_->lagging();
        const std::uint64_t group = std::exchange(group_, 0);
        return group != 0 ? lag.wait(*pool_->groups(), group, sequence_) : lag.wait_for_reads(*pool_->groups());
    }
    retirement& queue = *pool_->retiring();
    if (sequence_ != 0) {
        queue.wait(sequence_);
    } else if (queue.is_strict()) {
        queue.wait(pool_->lanes()->last_sequence());
    }
    aliases_.settle(*pool_, sequence_);
    return {};
}

}  // namespace holdfast
