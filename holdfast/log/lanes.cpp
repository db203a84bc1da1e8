#include <holdfast/log/lanes.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/log/parts.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/segment_header.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/log/truncation.hpp>

#include <algorithm>
#include <new>
#include <string>
#include <thread>

namespace holdfast {
namespace {

namespace site = persist::site;

std::size_t lane_count(const log_geometry& geometry) {
    // Each lane may sit on an open segment; half of them stay free to move on to.
    return std::clamp<std::size_t>(geometry.segment_count() / 2, 1, 64);
}

std::uint64_t next_instance() noexcept {
    static std::atomic<std::uint64_t> instances{0};
    return ++instances;
}

}  // namespace

/// The lanes a thread owns, one for each log it has used; given back when the thread ends.
class lane_owner {
public:
    ~lane_owner() {
        lane_log::last_instance_ = 0;
        for (const owned& each : owned_)
            if (const auto alive = each.lanes.lock()) each.lane->owned_.store(false, std::memory_order_release);
    }

    lane_log::lane* find(std::uint64_t instance) const noexcept {
        for (const owned& each : owned_)
            if (each.instance == instance) return each.lane;
        return nullptr;
    }
    /// Room for one more. False: there is no memory.
    bool make_room() noexcept {
        std::erase_if(owned_, [](const owned& each) { return each.lanes.expired(); });
        try {
            owned_.reserve(owned_.size() + 1);
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }
    /// Requires: room.
    void add(std::uint64_t instance, lane_log::lane* lane,
             const std::shared_ptr<std::vector<lane_log::lane>>& lanes) noexcept {
        owned_.push_back({instance, lane, lanes});
    }

    static lane_owner& of_this_thread() {
        thread_local lane_owner owner;
        return owner;
    }

private:
    struct owned {
        std::uint64_t instance;
        lane_log::lane* lane;
        std::weak_ptr<std::vector<lane_log::lane>> lanes;
    };
    std::vector<owned> owned_;
};

void lane_log::begin_thread() noexcept { static_cast<void>(lane_owner::of_this_thread()); }

lane_log::lane_log(std::byte* pool, std::uint64_t pool_bytes, log_geometry geometry, const lane_log_options& options)
    : pool_(pool),
      options_(options),
      retires_at_once_(!options.persists && options.logs_new_values && !options.stores_homes_late),
      segments_(geometry, random_seed()),
      lanes_(std::make_shared<std::vector<lane>>(lane_count(geometry))),
      ownable_(lanes_->size() / 2),
      instance_(next_instance()),
      next_(options.last_sequence + 1),
      truncated_(options.last_sequence),
      touched_(pool, pool_bytes, options.lines, site::log_truncate_home) {
    if (const auto point = read_truncation_point(pool + geometry.offset)) truncation_slot_ = point->slot;
    std::uint32_t index = 0;
    for (lane& each : *lanes_) each.index_ = index++;
}

lane_log::lane* lane_log::find_lane_to_own() noexcept {
    lane_owner& owner = lane_owner::of_this_thread();
    lane* found = owner.find(instance_);
    // A thread that cannot remember a lane of its own takes a shared one, and asks again next time.
    if (found == nullptr && !owner.make_room()) return nullptr;
    for (std::size_t index = 0; found == nullptr && index < ownable_; ++index) {
        lane& candidate = (*lanes_)[index];
        bool expected = false;
        // Acquire: what the thread that owned it before did to it is seen.
        if (!candidate.owned_.compare_exchange_strong(expected, true, std::memory_order_acquire)) continue;
        owner.add(instance_, &candidate, lanes_);
        found = &candidate;
    }
    last_instance_ = instance_;
    last_lane_ = found;
    // The log's own count, so that a thread's lane depends on what happened in its pool alone.
    if (found == nullptr) last_hint_ = next_hint_.fetch_add(1, std::memory_order_relaxed);
    return found;
}

lane_log::lane* lane_log::acquire_shared(std::size_t tries_at_most) noexcept {
    const std::size_t shared = lanes_->size() - ownable_;
    for (std::size_t tries = 0; tries < tries_at_most; ++tries) {
        lane& candidate = (*lanes_)[ownable_ + (last_hint_ + tries) % shared];
        std::uint64_t expected = lane::idle;
        // Reading next_ before the exchange makes the bound too low, never too high.
        if (candidate.in_flight_.compare_exchange_strong(expected, next_.load(std::memory_order_relaxed),
                                                         std::memory_order_seq_cst)) {
            if (!held_.load(std::memory_order_seq_cst)) return &candidate;
            candidate.in_flight_.store(lane::idle, std::memory_order_release);
            held_.wait(true, std::memory_order_acquire);
        }
        if (tries % shared == shared - 1) std::this_thread::yield();
    }
    return nullptr;
}

void lane_log::begin_segment(lane& held, std::uint32_t index) noexcept {
    HOLDFAST_ASSERT(segments_[index].last_sequence.load(std::memory_order_relaxed) <= truncated() ||
                        !options_.logs_new_values,
                    "a segment is reused after an S above all its records is durable");
    held.segment_ = index;
    held.segment_begin_ = segment_address(index);
    held.position_ = format::segment_header_bytes;
    held.salt_ = segments_.draw_salt();
    held.salt_owed_ = true;
    held.seed_ = seed_of_salt(held.salt_);
}

void lane_log::take_parts_back(lane& held) {
    constexpr std::uint64_t no_sequence = 0;
    const std::lock_guard guard(mutex_);
    for (const std::uint32_t index : held.filled_) {
        persist::copy(segment_address(index) + format::segment_header_bytes + sequence_offset, &no_sequence,
                      sizeof no_sequence, site::log_record);
    }
    give_filled_back(held);
}

void lane_log::leave_segment(lane& held) {
    held.claim_ = 0;
    if (held.segment_ == no_segment) return;
    if (options_.logs_new_values) {
        close_segment(held);
    } else {
        held.filled_.push_back(held.segment_);
        held.segment_ = no_segment;
        held.position_ = 0;
    }
}

void lane_log::close_segment(lane& held) {
    auto& closed = segments_[held.segment_];
    // A segment that nothing was appended to holds nothing that truncation must wait for.
    if (closed.used_bytes.load(std::memory_order_relaxed) == 0)
        closed.last_sequence.store(0, std::memory_order_relaxed);
    closed.full.store(true, std::memory_order_release);
    held.segment_ = no_segment;
    held.position_ = 0;
}

void lane_log::empty_filled(lane& held) {
    if (is_planted(planted::filled_segments_kept)) return;
    for (const std::uint32_t index : held.filled_) empty_segment(index);
    // Orders the emptied salts before anything that overwrites the end records which spoke for these
    // segments: an old value without its end would be restored.
    if (options_.persists) persist::fence(options_.lines, site::log_empty_fence);
    truncations_.fetch_add(1, std::memory_order_relaxed);
}

void lane_log::empty_segment(std::uint32_t index) {
    format::segment_header header;
    std::memcpy(&header, segment_address(index), sizeof header);
    header = make_segment_header(segments_.geometry(), index, 0, header.acknowledged, header.truncated);
    constexpr std::size_t size = offsetof(format::segment_header, reserved_words);
    persist::copy(segment_address(index), &header, size, site::log_empty);
    if (options_.persists) persist::write_back(options_.lines, segment_address(index), size, site::log_empty);
}

void lane_log::retire_filled(lane& held) {
    empty_filled(held);
    const std::lock_guard guard(mutex_);
    give_filled_back(held);
}

void lane_log::give_filled_back(lane& held) noexcept {
    for (const std::uint32_t index : held.filled_) segments_.give_back(index);
    held.filled_.clear();
}

void lane_log::release_unused(lane& held) {
    if (!held.reserved_.empty()) {
        const std::lock_guard guard(mutex_);
        for (const std::uint32_t index : held.reserved_) segments_.give_back(index);
        held.reserved_.clear();
        held.part_ = {};
        unwritten_.fetch_sub(1, std::memory_order_release);
    }
    release(held);
}

lane_log::lane* lane_log::make_room(lane& held, const std::uint64_t* payload, std::uint64_t payload_words,
                                    result<void>& reserved) {
    try {
        reserved = reserve(held, payload, payload_words);
        if (reserved) return &held;
    } catch (const std::bad_alloc&) {
        release(held);
        throw;
    }
    release(held);
    return nullptr;
}

result<void> lane_log::reserve_segments(lane& held, const std::uint64_t* payload, std::uint64_t payload_words) {
    const cancellation_held uncancelled;
    const auto& geometry = segments_.geometry();
    const std::uint64_t per_segment = geometry.segment_payload_words();
    const std::uint64_t needed = payload_cursor::parts_needed(payload, payload_words, per_segment);
    const auto taken = needed <= segments_.count() ? take_segments(held, static_cast<std::uint32_t>(needed))
                                                   : taking::never;
    if (taken == taking::taken) return {};
    error reason;
    reason.path = options_.path;
    if (taken == taking::not_now) {
        reason.code = errc::busy;
        reason.what = "other open transactions fill the pool's log";
        reason.remedy = "create the pool with larger log_bytes, or make transactions smaller";
        return reason;
    }
    reason.code = errc::transaction_too_large;
    reason.what = "the transaction does not fit in the pool's log";
    reason.remedy = "create the pool with larger log_bytes, or make the transaction smaller";
    reason.expected = "at most about " + std::to_string(per_segment * (segments_.count() - 1) * 8) + " bytes";
    reason.found = std::to_string((held.filled_.size() * per_segment + payload_words) * 8) + " bytes";
    return reason;
}

lane_log::taking lane_log::take_segments(lane& held, std::uint32_t how_many) {
    // Memory first: once segments are taken only the end of the commit gives them back.
    held.reserved_.reserve(segments_.count());
    held.filled_.reserve(segments_.count());
    if (how_many > 1) held.part_.resize(format::record_bytes(segments_.geometry().segment_payload_words()) / 8);
    std::unique_lock guard(mutex_);
    for (unsigned waits = 0; segments_.free_count() < how_many; ++waits) {
        stay_below_next(held);
        if (late_ != nullptr) {
            guard.unlock();
            late_->bring_some_home();
            guard.lock();
        }
        free_segments(held);
        if (segments_.free_count() >= how_many) break;
        // Redo commits in flight end by themselves; an open undo transaction may wait for a lock of
        // this caller, so the wait is bounded.
        constexpr unsigned most_waits = 20000;
        if (!others_pin_segments(held)) return taking::never;
        if (waits > most_waits) return taking::not_now;
        // Not asleep with the mutex: the commit waited for may itself need a segment to end.
        guard.unlock();
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        guard.lock();
    }
    for (std::uint32_t i = 0; i < how_many; ++i) held.reserved_.push_back(segments_.take());
    if (how_many > 1) unwritten_.fetch_add(1, std::memory_order_relaxed);
    if (late_ != nullptr) late_->note_room(room_locked());
    // Only now: after a failure the lane still has the room that its slack promised.
    leave_segment(held);
    if (how_many == 1) {
        begin_segment(held, held.reserved_.back());
        held.reserved_.clear();
    }
    return taking::taken;
}

/// Until its sequence is drawn, a commit need not hold back what has come home since.
void lane_log::stay_below_next(lane& held) noexcept {
    if (!held.sequence_drawn_) held.in_flight_.store(next_.load(), std::memory_order_seq_cst);
}

void lane_log::free_segments(lane& held) {
    stay_below_next(held);
    reclaim_shared_lanes();
    if (!options_.logs_new_values) return;
    truncate_locked();
    segments_.free_truncated(truncated());
}

bool lane_log::others_pin_segments(const lane& held) const noexcept {
    // What is full after a truncation, a commit pinned that was in flight then; it may have ended since.
    // So does a record in parts whose segments are not full yet.
    if (options_.logs_new_values && (segments_.full_count() != 0 || unwritten_.load(std::memory_order_acquire) != 0))
        return true;
    const auto pins = [&](const lane& each) {
        if (!options_.logs_new_values) return !each.filled_.empty();
        return retires_at_once_ && each.in_flight_.load(std::memory_order_seq_cst) != lane::idle;
    };
    return std::any_of(lanes_->begin(), lanes_->end(), [&](const lane& each) { return &each != &held && pins(each); });
}

void lane_log::append_parts(lane& held, const std::uint64_t* record, std::uint64_t payload_words,
                            std::uint64_t sequence, format::record_kind kind) {
    const std::uint64_t capacity = segments_.geometry().segment_payload_words();
    const auto parts = static_cast<std::uint16_t>(held.reserved_.size());
    std::uint64_t* const buffer = held.part_.data();
    payload_cursor cursor(record + format::record_header_words, payload_words);
    for (std::uint16_t part = 0; part < parts; ++part) {
        begin_segment(held, held.reserved_[part]);
        const std::uint64_t words = cursor.fill(buffer + format::record_header_words, capacity);
        send(held, buffer, words, sequence, part, parts, kind);
        if (part + 1 == parts) break;
        if (retires_at_once_) {
            held.filled_.push_back(held.segment_);
        } else {
            close_segment(held);
        }
    }
    held.reserved_.clear();
    held.part_ = {};
    unwritten_.fetch_sub(1, std::memory_order_release);
}

void lane_log::send_salt(lane& held, std::byte* segment) {
    held.salt_owed_ = false;
    const format::segment_header header =
        make_segment_header(segments_.geometry(), held.segment_, held.salt_, held.ended_, truncated());
    put(segment, &header, sizeof header, site::log_salt);
}

std::uint64_t lane_log::lowest_in_flight() const noexcept {
    // next_ first: a commit whose lane still looks idle below draws a sequence of at least this.
    std::uint64_t lowest = next_.load(std::memory_order_seq_cst);
    if (is_planted(planted::truncated_in_flight) || is_planted(planted::paced_in_flight)) return lowest;
    for (const lane& each : *lanes_) lowest = std::min(lowest, each.in_flight_.load(std::memory_order_seq_cst));
    return lowest;
}

std::uint64_t lane_log::choose_truncation_point() noexcept {
    std::uint64_t lowest = lowest_in_flight();
    // After the lanes: a commit says what is not home before it gives its lane back.
    if (late_ != nullptr && !is_planted(planted::overwritten_before_paced))
        lowest = std::min(lowest, late_->first_not_home());
    return lowest - 1;
}

void lane_log::reclaim_shared_lanes() {
    for (std::size_t index = ownable_; index < lanes_->size(); ++index) {
        lane& each = (*lanes_)[index];
        std::uint64_t expected = lane::idle;
        if (!each.in_flight_.compare_exchange_strong(expected, next_.load(std::memory_order_relaxed),
                                                     std::memory_order_seq_cst))
            continue;
        leave_segment(each);
        if (!each.filled_.empty()) {
            empty_filled(each);
            give_filled_back(each);
        }
        each.ended_ = 0;
        release(each);
    }
}

/// Up to where this thread may read records of a segment. The newest one may be under way: a lane says that it was sent
/// before its fence, and until then others may see the bytes of an earlier lap in its place. Requires: commits up to
/// `up_to` have given their lanes back.
std::uint64_t lane_log::readable_bytes(std::uint32_t index, std::uint64_t up_to) noexcept {
    const auto& segment = segments_[index];
    // In the other order than note_sent: what is read here is of the record that ends at `used`, or of a later one.
    const std::uint64_t used = segment.used_bytes.load(std::memory_order_acquire);
    if (segment.last_sequence.load(std::memory_order_acquire) <= up_to) return used;
    return std::min(used, segment.last_begin.load(std::memory_order_acquire));
}

std::uint64_t lane_log::find_not_home(std::vector<stretch>& found) {
    const std::lock_guard guard(mutex_);
    found.clear();
    found.reserve(segments_.count());
    const std::uint64_t below_all = lowest_in_flight() - 1;
    for (std::uint32_t index = 0; index < segments_.count(); ++index) {
        const std::uint64_t end = readable_bytes(index, below_all);
        const std::uint64_t begin = std::max<std::uint64_t>(segments_[index].home_bytes, format::segment_header_bytes);
        if (begin < end) found.push_back({index, begin, end});
    }
    return below_all;
}

void lane_log::note_home(const std::vector<stretch>& done) {
    const std::lock_guard guard(mutex_);
    for (const stretch& each : done) segments_[each.segment].home_bytes = each.begin;
}

void lane_log::write_homes_back(std::uint64_t up_to) {
    const std::uint64_t from = truncated();
    for (std::uint32_t index = 0; index < segments_.count(); ++index) {
        if (is_planted(planted::lane_truncated_alone) && index != lanes_->front().segment_) continue;
        stretch records{index, format::segment_header_bytes, readable_bytes(index, up_to)};
        for_each_record(records, from, [](auto&&...) { return true; });
        for_each_record(records, up_to, [this](const std::uint64_t* payload, std::uint64_t words) {
            touched_.add_homes_of(payload, words);
            return true;
        });
    }
    touched_.write_back();
}

void lane_log::persist_truncation(std::uint64_t sequence) {
    truncation_slot_ ^= 1u;
    std::byte* slot = pool_ + segments_.geometry().offset + format::truncation_slot_offset[truncation_slot_];
    const format::truncation_slot value = make_truncation_slot(sequence);
    persist::copy(slot, &value, sizeof value, site::log_truncate_sequence);
    if (!options_.persists) {
        persist::order_for_kill();
        return;
    }
    persist::write_back(options_.lines, slot, sizeof value, site::log_truncate_sequence);
    // Orders S before the first record that a freed segment receives.
    persist::fence(options_.lines, site::log_truncate_sequence_fence);
}

std::uint64_t lane_log::choose_trimming_point() noexcept {
    // A lane that is seen idle had its last commit noted before: in flight first.
    std::uint64_t lowest = choose_truncation_point() + 1;
    if (is_planted(planted::trimmed_before_fence)) return lowest - 1;
    for (const lane& each : *lanes_) {
        const std::uint64_t unfenced = each.unfenced_.load(std::memory_order_acquire);
        if (is_planted(planted::trimmed_alone) && each.writer_ != thread_number_) continue;
        if (unfenced > truncated()) lowest = std::min(lowest, unfenced);
    }
    return lowest - 1;
}

void lane_log::note_written_back(lane& held, std::uint64_t sequence) noexcept {
    static std::atomic<std::uint64_t> threads{0};
    if (thread_number_ == 0) thread_number_ = threads.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::uint64_t before = held.unfenced_.load(std::memory_order_relaxed);
    // The fence of this commit was the writer's own, or nobody needs it any more. Else truncation sees to both.
    if (before != lane::idle && before > truncated() && held.writer_ != thread_number_) return;
    held.writer_ = thread_number_;
    held.unfenced_.store(sequence, std::memory_order_relaxed);
}

void lane_log::trim() {
    const std::lock_guard guard(mutex_);
    const std::uint64_t sequence = choose_trimming_point();
    if (sequence <= truncated()) return;
    move_truncation_point(sequence);
    segments_.free_truncated(sequence);
}

void lane_log::truncate_locked() {
    const std::uint64_t sequence = choose_truncation_point();
    if (sequence <= truncated()) return;
    if (options_.persists && options_.logs_new_values && late_ == nullptr) {
        write_homes_back(sequence);
        // Orders every home line before S: were S durable first, a cut would lose those commits.
        persist::fence(options_.lines, site::log_truncate_home_fence);
    }
    move_truncation_point(sequence);
}

void lane_log::move_truncation_point(std::uint64_t sequence) {
    HOLDFAST_ASSERT_ALWAYS(sequence > truncated() && sequence < next_.load(), "the truncation point only grows, below "
                           "the next commit");
    persist_truncation(sequence);
    truncated_.store(sequence, std::memory_order_release);
    truncations_.fetch_add(1, std::memory_order_relaxed);
    if (on_truncated) on_truncated(sequence);
}

void lane_log::truncate() {
    if (late_ != nullptr) late_->bring_home();
    const std::lock_guard guard(mutex_);
    truncate_locked();
    segments_.free_truncated(truncated());
}

}  // namespace holdfast
