// The queue of continuous checkpointing, with dense numbers: the order of the queue is that of a ring. After Giles,
// Doshi and Varman, "Continuous Checkpointing of HTM Transactions in NVM", sections 3 and 4; its blue queue is what
// was drawn and is not finished, its red queue what is finished and not retired.
//
//   1. A commit is admitted while fewer commits are under way than the ring has places: before its number is drawn,
//      since who waited with a number would hold back all that come after it. (A bound of lanes, each of whose holders
//      may draw one number after it looked, is kept free.)
//   2. It draws its number, the log's sequence, with the locks of its isolation held: numbers are dense, and in the
//      order of conflicting effects. It sends its record to its lane, with no lock held, and passes ONE fence.
//   3. It puts the record into the place of its number and says that the number is finished; then it gives the lane
//      back. The order of the two holds the log's truncation below it.
//   4. The prefix goes on over numbers that are finished. A commit returns when at most L up to its own are missing.
//   5. Retiring, one thread at a time, a batch in order: the homes of commits up to the prefix are stored, each line
//      is written back once, and a FENCE is passed. Orders the homes before step 6.
//   6. The retired number moves: the places are free, and the log may be truncated up to it.
// No home is stored before its record and all records of smaller numbers are in the log: replay stops at the first
// missing number, and what is behind it must not be home. Records are read from memory, never back from the log.
//
// Invariants
//   * retired <= prefix <= the last number drawn, and none of them decreases.
//   * A place is taken for a number only when the number that it had before is retired.
//   * S of the log is at most retired.
#include <holdfast/log/retirement.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/sites.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <new>
#include <thread>

namespace holdfast {
namespace {

namespace site = persist::site;

/// Commits that are retired together.
constexpr std::uint64_t batch_commits = 32;
/// As many as a log has lanes: so many may be admitted and have no number yet.
constexpr std::uint64_t most_admitted = 64;
/// Waiting commits where only the log's room bounds them.
constexpr std::uint64_t most_waiting = 4096;
constexpr std::uint64_t shortest_buffer_words = 256;
/// Of all records whose buffers are kept.
constexpr std::uint64_t kept_words = 1 << 20;

std::uint64_t places_for(const retirement_options& options) noexcept {
    // More would be longer than any log.
    constexpr std::uint64_t longest_backlog = 1 << 20;
    const std::uint64_t waiting =
        options.backlog != 0 ? std::min<std::uint64_t>(options.backlog, longest_backlog) : most_waiting;
    // No larger: each commit takes the buffer that the place had before, which should still be in the cache.
    return std::bit_ceil(std::max(waiting, batch_commits) + batch_commits + most_admitted);
}

}  // namespace

void record_buffer::make_room(std::uint64_t payload_words_wanted) {
    // Sealing clears the words up to the next line.
    const std::uint64_t wanted = format::record_bytes(payload_words_wanted) / 8 + persist::line_bytes / 8;
    if (wanted <= capacity_) return;
    const std::uint64_t capacity = std::max(shortest_buffer_words, std::bit_ceil(wanted));
    words_ = std::make_unique_for_overwrite<std::uint64_t[]>(capacity);
    capacity_ = capacity;
}

void record_buffer::trim(std::uint64_t usual_words) noexcept {
    if (capacity_ <= usual_words) return;
    words_.reset();
    capacity_ = 0;
}

retirement::retirement(std::byte* homes, std::uint64_t pool_bytes, lane_log& lanes, const retirement_options& options)
    : homes_(homes),
      lanes_(lanes),
      options_(options),
      ring_(places_for(options)),
      mask_(ring_.size() - 1),
      room_(ring_.size() - most_admitted),
      prefix_(lanes.last_sequence()),
      retired_(lanes.last_sequence()),
      touched_(homes, pool_bytes, options.lines, site::retire_home),
      pages_(pool_bytes / format::page_bytes + 1) {
    if (options.in_background) {
        worker_.start([this] {
            while (retire_if_free()) {
            }
        });
    }
}

// ---- 1. and 3.

void retirement::admit() {
    while (lanes_.last_sequence() - retired() >= room_) [[unlikely]] {
        worker_.wake();
        if (!retire_if_free()) std::this_thread::yield();
    }
}

void retirement::finished(std::uint64_t number, record_buffer& record) noexcept {
    place& own = place_of(number);
    HOLDFAST_ASSERT(retired() < number && number - retired() <= ring_.size(),
                    "a place is taken for a number only when the one before is retired");
    HOLDFAST_ASSERT(own.finished.load(std::memory_order_relaxed) < number, "a number is finished once");
    own.record.swap(record);
    record.prefetch();
    own.finished.store(number, std::memory_order_release);
}

// ---- 4.

void retirement::advance_prefix() noexcept {
    std::uint64_t now = prefix_.load(std::memory_order_acquire);
    while (is_finished(now + 1)) {
        // Who fails finds out how far others have come.
        if (prefix_.compare_exchange_strong(now, now + 1, std::memory_order_acq_rel, std::memory_order_acquire)) ++now;
    }
}

pending_commits retirement::pending() noexcept {
    pending_commits found;
    const std::uint64_t last = lanes_.last_sequence();
    for (std::uint64_t number = retired() + 1; number <= last; ++number)
        ++(is_finished(number) ? found.red : found.blue);
    return found;
}

void retirement::wait_for_log(std::uint64_t number) {
    for (advance_prefix(); prefix() < number; advance_prefix()) std::this_thread::yield();
}

void retirement::wait(std::uint64_t number) {
    const auto is_missing = [&] {
        const std::uint64_t safe = options_.waits_for_homes ? retired() : prefix();
        return number > safe && number - safe > options_.lag;
    };
    while (is_missing()) {
        advance_prefix();
        if (!is_missing()) break;
        if (!options_.waits_for_homes || !retire_if_free()) std::this_thread::yield();
    }
    if (options_.backlog == 0 || number <= retired() + options_.backlog) return;
    if (worker_.is_there()) return worker_.wake();
    retire_if_free();
}

// ---- 5. and 6.

bool retirement::retire_if_free() {
    const std::unique_lock lock(retiring_, std::try_to_lock);
    return lock.owns_lock() && retire_some();
}

/// The last commit that may come home: all up to it are in the log.
std::uint64_t retirement::may_retire_up_to() noexcept {
    if (!is_planted(planted::retired_past_prefix)) return prefix();
    std::uint64_t last = retired();
    for (std::uint64_t number = last + 1; number <= lanes_.last_sequence(); ++number)
        if (is_finished(number)) last = number;
    return last;
}

/// Requires: retiring_ is held.
bool retirement::retire_some() {
    advance_prefix();
    const std::uint64_t before = retired_.load(std::memory_order_relaxed);
    const std::uint64_t last = std::min(may_retire_up_to(), before + batch_commits);
    if (last == before) return false;
    const auto begin = std::chrono::steady_clock::now();
    if (options_.stores_homes) bring_batch_home(before + 1, last);
    const std::uint64_t usual_words = std::max(shortest_buffer_words, kept_words / ring_.size());
    for (std::uint64_t number = before + 1; number <= last; ++number) place_of(number).record.trim(usual_words);
    HOLDFAST_ASSERT((last <= prefix() || is_planted(planted::retired_past_prefix)) &&
                        prefix() <= lanes_.last_sequence(),
                    "numbers are retired in order, none before it is in the log");
    retired_.store(last, std::memory_order_release);
    batches_.fetch_add(1, std::memory_order_relaxed);
    const auto took = std::chrono::steady_clock::now() - begin;
    retiring_ns_.fetch_add(static_cast<std::uint64_t>(std::chrono::nanoseconds(took).count()),
                           std::memory_order_relaxed);
    return true;
}

void retirement::bring_batch_home(std::uint64_t first, std::uint64_t last) {
    store_homes(first, last);
    if (is_planted(planted::retired_before_write_back)) {
        retired_.store(last, std::memory_order_release);
        lanes_.trim();
    }
    if (options_.persists) touched_.write_back();
    // Orders the homes before the truncation that may drop their records.
    persist::fence_or_order(options_.persists, options_.lines, site::retire_home_fence);
}

/// The entries of a batch's records, one behind the other.
class retirement::entries {
public:
    entries(retirement& of, std::uint64_t first, std::uint64_t last) noexcept : of_(of), number_(first), last_(last) {
        begin_record();
    }
    bool at_end() const noexcept { return number_ > last_; }
    /// Its tag, followed by its words.
    const std::uint64_t* operator*() const noexcept { return at_; }
    void operator++() noexcept {
        at_ += 1 + format::entry_of(*at_).words;
        if (at_ != end_) return;
        ++number_;
        begin_record();
    }

private:
    void begin_record() noexcept {
        for (; number_ <= last_; ++number_) {
            HOLDFAST_ASSERT(of_.is_finished(number_) || is_planted(planted::retired_past_prefix),
                            "a home on the medium is stored when all records up to its own are in the log");
            if (!of_.is_finished(number_)) continue;
            const record_buffer& record = of_.place_of(number_).record;
            at_ = record.payload();
            end_ = at_ + record.payload_words;
            if (at_ != end_) return;
        }
    }

    retirement& of_;
    std::uint64_t number_;
    std::uint64_t last_;
    const std::uint64_t* at_ = nullptr;
    const std::uint64_t* end_ = nullptr;
};

void retirement::store_homes(std::uint64_t first, std::uint64_t last) {
    // Homes are rarely in the cache: the medium's are other memory than the program's.
    constexpr int prefetched_entries = 16;
    entries ahead(*this, first, last);
    const auto prefetch_next = [&] {
        if (ahead.at_end()) return;
        persist::prefetch_for_store(homes_ + format::entry_of(**ahead).offset);
        ++ahead;
    };
    for (int i = 0; i < prefetched_entries; ++i) prefetch_next();
    for (entries at(*this, first, last); !at.at_end(); ++at) {
        prefetch_next();
        const std::uint64_t* const tag = *at;
        const format::entry each = format::entry_of(*tag);
        auto* const home = reinterpret_cast<std::uint64_t*>(homes_ + each.offset);
        for (std::uint64_t i = 0; i < each.words; ++i)
            persist::store_word(home + i, tag[1 + i], each.mask, site::retire_home);
        note_stored(each.offset, each.words);
    }
}

void retirement::note_stored(std::uint64_t offset, std::uint64_t words) {
    const std::uint64_t end = offset + words * 8;
    for (std::uint64_t page = offset / format::page_bytes; page * format::page_bytes < end; ++page) {
        if (pages_[page]) continue;
        pages_[page] = true;
        pages_stored_.fetch_add(1, std::memory_order_relaxed);
    }
    if (options_.persists) touched_.add(offset, words);
}

void retirement::bring_home() {
    const cancellation_held uncancelled;
    const std::uint64_t target = lanes_.last_sequence();
    const std::lock_guard lock(retiring_);
    while (retired_.load(std::memory_order_relaxed) < target)
        if (!retire_some()) std::this_thread::yield();
}

void retirement::forget_pages() {
    const std::lock_guard lock(retiring_);
    pages_.assign(pages_.size(), false);
    pages_stored_.store(0, std::memory_order_relaxed);
}

void retirement::grow(std::uint64_t pool_bytes) {
    const std::lock_guard lock(retiring_);
    pages_.resize(pool_bytes / format::page_bytes + 1);
}

void retirement::note_room(const log_room& now) noexcept {
    if (now.free < now.of / 2) worker_.wake();
}

}  // namespace holdfast
