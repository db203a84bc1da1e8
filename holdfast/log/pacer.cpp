// The pacer: truncation in small steps, ahead of need.
//
//   1. A lane takes a segment. If enough of the log is in use, a round begins: the pacer's thread does all of it, or
//      each of the next segments makes the commit that takes it do a share, once its locks are free. A share is what is
//      left of the round, divided by the segments that are free: so the round ends before the log is full.
//   2. A round begins: choose S', below all commits in flight. Records up to it, in whatever segment, are to come home.
//   3. Read these records, and gather their lines. Homes were stored before the lanes were given back. No record is
//      read whose lane may not have fenced it: what another thread sees in its place can be of an earlier lap.
//   4. Write the lines back, each once, in the order of their addresses.
//   5. FENCE, in each step: the next one may be another thread's, whose fence would not order what this one wrote back.
//      Orders the lines before step 6: were S durable first, a cut would lose those commits.
//   6. When no line is left the log may pass S': it persists S with a FENCE, which orders it before the records that
//      overwrite those of the round, and frees their segments.
// Who finds the log full all the same does what is left of the round. The longer a round is put off the more commits
// share a write-back, so none begins while there is room.
//
// Invariants
//   * Every line that a record up to `home_` names is durable as that record left it, or later.
//   * S of the log is at most `home_`: a record is overwritten only when its lines are home.
//   * While nobody takes a step, everything that steps have written back is durable.
#include <holdfast/log/pacer.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/format/log_record.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/persist/seam.hpp>

#include <algorithm>
#include <thread>

namespace holdfast {
namespace {

namespace site = persist::site;

constexpr std::uint64_t all = ~std::uint64_t{0};

}  // namespace

pacer::pacer(const std::byte* homes, std::uint64_t pool_bytes, lane_log& lanes, const pacer_options& options)
    : lanes_(lanes),
      options_(options),
      home_(lanes.truncated()),
      touched_(homes, pool_bytes, options.lines, site::pace_home) {
    records_.reserve(lanes.room().of);
    if (options.in_background) worker_.start([this] { finish_round(); });
}

// ---- 1.

bool pacer::needs_round(const log_room& now) const noexcept {
    if (options_.percent == 0) return true;
    // Of a small log each thread may have a segment open: only full ones can be freed.
    return now.full != 0 && std::uint64_t{now.of - now.free} * 100 > std::uint64_t{now.of} * options_.percent;
}

void pacer::note_room(const log_room& now) noexcept {
    if (!in_round_.load(std::memory_order_relaxed) && !needs_round(now)) return;
    if (worker_.is_there()) return worker_.wake();
    is_due_.store(true, std::memory_order_relaxed);
}

void pacer::step_if_free() {
    const std::unique_lock lock(pacing_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    is_due_.store(false, std::memory_order_relaxed);
    if (in_round_.load(std::memory_order_relaxed) || begin_round()) step(share(lanes_.room()));
    // In a round the next segment makes the next step due.
    if (!in_round_.load(std::memory_order_relaxed)) note_room(lanes_.room());
}

std::uint64_t pacer::share(const log_room& now) const noexcept {
    // Half of a record's words are tags: a line of the log names about as many lines as it has.
    std::uint64_t left = touched_.count();
    for (std::size_t at = next_; at < records_.size(); ++at)
        left += 2 * (records_[at].end - records_[at].begin) / persist::line_bytes;
    return std::max(options_.least_share, left / std::max<std::uint64_t>(now.free, 1) + 1);
}

// ---- 2.

/// Requires, as what follows: pacing_ is held. False: nothing can come home now.
bool pacer::begin_round() {
    target_ = lanes_.find_not_home(records_);
    next_ = 0;
    if (target_ <= home_.load(std::memory_order_relaxed)) return false;
    in_round_.store(true, std::memory_order_relaxed);
    if (is_planted(planted::paced_before_write_back)) pass();
    return true;
}

// ---- 3. to 5.

/// Requires: in a round. Reads and writes back about that many lines. False: there are more.
bool pacer::step(std::uint64_t lines) {
    steps_.fetch_add(1, std::memory_order_relaxed);
    gather(lines);
    if (lines != 0) touched_.write_some_back(lines);
    persist::fence(options_.lines, site::pace_home_fence);
    if (next_ < records_.size() || touched_.count() != 0) return false;
    end_round();
    return true;
}

void pacer::gather(std::uint64_t& lines) {
    for (; next_ < records_.size() && lines != 0; ++next_) {
        const bool is_read = lanes_.for_each_record(
            records_[next_], target_, [&](const std::uint64_t* payload, std::uint64_t words) {
                touched_.add_homes_of(payload, words);
                lines -= std::min(lines, format::record_bytes(words) / persist::line_bytes);
                return lines != 0;
            });
        if (!is_read) return;
    }
}

// ---- 6.

void pacer::pass() {
    HOLDFAST_ASSERT(next_ == records_.size() && touched_.count() == 0, "a round passes when all its lines are home");
    HOLDFAST_ASSERT(target_ >= home_.load(std::memory_order_relaxed), "what is home only grows");
    home_.store(target_, std::memory_order_release);
    lanes_.trim();
    HOLDFAST_ASSERT(lanes_.truncated() <= target_, "a record is overwritten only when its lines are home");
}

void pacer::end_round() {
    lanes_.note_home(records_);
    if (!is_planted(planted::paced_before_write_back)) pass();
    in_round_.store(false, std::memory_order_relaxed);
    rounds_.fetch_add(1, std::memory_order_relaxed);
}

bool pacer::finish_round() {
    const std::lock_guard lock(pacing_);
    if (!in_round_.load(std::memory_order_relaxed) && !begin_round()) return false;
    return step(all);
}

void pacer::bring_home() {
    const cancellation_held uncancelled;
    const std::uint64_t target = lanes_.last_sequence();
    // Not with the lock: a commit in flight, which holds S' back, may itself wait for room.
    while (first_not_home() <= target)
        if (!finish_round()) std::this_thread::yield();
}

void pacer::bring_some_home() {
    const cancellation_held uncancelled;
    finish_round();
}

}  // namespace holdfast
