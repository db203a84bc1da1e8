#include <holdfast/log/groups.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/log/parts.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/segment_header.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/log/truncation.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

namespace holdfast {
namespace {

using format::record_kind;
namespace site = persist::site;

/// Without memory for its text it keeps its code: a commit that waits must be told.
detail::kept_error poisoned_error(const std::string& path, errc code) noexcept {
    try {
        return detail::keep(error{.code = code,
                                  .what = code == errc::outcome_unknown
                                              ? "a sync failed while this commit waited; it may or may not be durable"
                                              : "an earlier sync failed; close and reopen the pool to see what is "
                                                "durable",
                                  .path = path});
    } catch (const std::bad_alloc&) {
        return detail::keep_lasting(bare_error(code));
    }
}

result<void> write_truncation(persist::file& file, const log_geometry& geometry, unsigned slot,
                              std::uint64_t sequence) {
    const format::truncation_slot value = make_truncation_slot(sequence);
    const iovec piece{const_cast<format::truncation_slot*>(&value), sizeof value};
    return file.write_durable(geometry.offset + format::truncation_slot_offset[slot], {&piece, 1},
                              site::log_checkpoint_sequence);
}

}  // namespace

group_log::group_log(persist::file& file, log_geometry geometry, std::uint64_t last_sequence, std::uint64_t truncated,
                     std::span<const used_segment> kept)
    : file_(file),
      segments_(geometry, random_seed()),
      last_written_(last_sequence),
      homes_(file, geometry.segment_count() * geometry.segment_bytes / 8, geometry.segment_payload_words()),
      open_number_(last_sequence + 1),
      durable_(last_sequence),
      synced_(last_sequence),
      found_sequence_(last_sequence),
      found_whole_(truncated),
      truncated_(truncated) {
    order_.reserve(geometry.segment_count());
    segment_words_.resize(std::max(geometry.segment_bytes, format::log_header_bytes) / 8);
    for (const used_segment& each : kept) {
        found_whole_ = std::max(found_whole_, each.last_sequence);
        segments_.adopt(each);
        order_.push_back(each.index);
    }
    open_.record.resize(format::record_header_words);
    sealed_.record.resize(format::record_header_words);
}

result<void> group_log::find_truncation_slot() {
    if (knows_slot_) return {};
    auto* const header = reinterpret_cast<std::byte*>(segment_words_.data());
    if (auto read = file_.read_at(segments_.geometry().offset, header, format::log_header_bytes); !read) return read;
    if (const auto point = read_truncation_point(header)) truncation_slot_ = point->slot;
    knows_slot_ = true;
    return {};
}

std::uint64_t group_log::fullest_group_words() const noexcept {
    // A quarter of the log, so that a checkpoint always brings several groups home.
    return segments_.geometry().segment_payload_words() * segments_.count() / 4;
}

result<void> group_log::admit(std::uint64_t payload_words) const {
    if (poisoned()) return poisoned_error(file_.path(), errc::poisoned);
    // Splitting into parts adds a tag to each and may waste a word.
    const std::uint64_t capacity = (segments_.geometry().segment_payload_words() - 2) * segments_.count();
    if (payload_words <= capacity) return {};
    return error{.code = errc::transaction_too_large,
                 .what = "the transaction does not fit in the pool's log",
                 .path = file_.path(),
                 .expected = "at most " + std::to_string(capacity * 8) + " bytes",
                 .found = std::to_string(payload_words * 8) + " bytes",
                 .remedy = "create the pool with larger log_bytes, or make the transaction smaller"};
}

/// Whether homes would take more memory than they may, and a checkpoint can do something about it.
bool group_log::is_crowded(std::uint64_t new_pages) const noexcept {
    if (pages_ == nullptr || pages_->has_room_for(new_pages)) return false;
    return open_.payload_words() != 0 || durable_.load(std::memory_order_relaxed) != truncated();
}

group_log::ticket group_log::append(const std::uint64_t* payload, std::uint64_t payload_words, bool sync_first,
                                    std::uint64_t new_pages) {
    HOLDFAST_ASSERT(payload_words != 0, "a commit that joins a group has stores");
    std::unique_lock lock(mutex_);
    // What others hold meanwhile is theirs to bring home; a transaction that finds no room twice goes on.
    int tries = 2;
    while (!poisoned()) {
        const bool is_full =
            open_.payload_words() != 0 && open_.payload_words() + payload_words > fullest_group_words();
        const bool brings_home = tries > 0 && is_crowded(new_pages);
        if (!is_full && !brings_home) break;
        // Its committers may all still hold locks: lead it from here.
        if (leading_) {
            changed_.wait(lock);
        } else {
            tries -= brings_home ? 1 : 0;
            lead(lock, brings_home);
        }
    }
    // With what sealing pads it to: from here on the group needs no memory.
    const std::size_t words = open_.record.size() + payload_words;
    if (open_.record.capacity() < words + format::record_alignment / 8)
        open_.record.reserve(std::max(words + format::record_alignment / 8, open_.record.capacity() * 2));
    open_.record.insert(open_.record.end(), payload, payload + payload_words);
    open_.sync_first |= sync_first;
    return {open_number_};
}

result<void> group_log::wait(ticket joined) {
    std::unique_lock lock(mutex_);
    HOLDFAST_ASSERT(joined.group <= open_number_, "a commit waits for a group that there is");
    while (durable_.load(std::memory_order_relaxed) < joined.group) {
        if (poisoned()) return poisoned_error(file_.path(), errc::outcome_unknown);
        if (leading_) {
            changed_.wait(lock);
        } else {
            lead(lock);
        }
    }
    return {};
}

/// Runs a part of leading, without the mutex. What it throws is a failure like any other: nobody knows what was done.
template <class F>
result<void> group_log::step(F&& f) {
    try {
        return f();
    } catch (const std::exception&) {
        // A text might need the memory that there was not.
        return detail::keep_lasting(bare_error(errc::io));
    }
}

/// A sync, or a write that is one. None is tried after one that failed.
template <class F>
result<void> group_log::synced(F&& sync) {
    const std::lock_guard one_at_a_time(syncing_);
    if (poisoned()) return poisoned_error(file_.path(), errc::poisoned);
    auto done = sync();
    if (!done) poisoned_.store(true, std::memory_order_release);
    return done;
}

result<void> group_log::sync_alone(const std::function<result<void>()>& sync) { return synced(sync); }

void group_log::lead(std::unique_lock<std::mutex>& lock, bool brings_home) {
    HOLDFAST_ASSERT_ALWAYS(!leading_, "one thread leads");
    leading_ = true;
    result<void> done;
    if (open_.payload_words() != 0) {
        std::swap(open_, sealed_);
        open_.record.resize(format::record_header_words);
        open_.sync_first = false;
        const std::uint64_t number = open_number_++;
        is_deferred_ = defers_syncs_;
        lock.unlock();
        done = step([&] { return write_group(sealed_, number); });
        lock.lock();
        // Deferral has ended, and its sync may have come before this group was written.
        if (done && is_deferred_ && !defers_syncs_) {
            lock.unlock();
            done = step([&] { return sync_records(number); });
            lock.lock();
        }
        if (done) durable_.store(number, std::memory_order_release);
        // Not only when the checkpoint is through.
        if (done) changed_.notify_all();
    }
    if (!done) note_failure(lock);
    const bool half_is_used = pages_ != nullptr && pages_->is_half_used() && !homes_held_;
    if (done && (brings_home || half_is_used)) {
        lock.unlock();
        done = step([&] { return bring_home(true); });
        lock.lock();
        if (!done && checkpoint_has_synced_) note_failure(lock);
    }
    leading_ = false;
    changed_.notify_all();
}

/// Nothing is known any more of what reached the device. (All that a checkpoint does before its first sync can be done
/// again: the log has everything still.)
void group_log::note_failure(std::unique_lock<std::mutex>& lock) {
    poisoned_.store(true, std::memory_order_release);
    if (synced_ >= durable_ || !on_deferred_lost) return;
    lock.unlock();
    on_deferred_lost();
    lock.lock();
}

result<void> group_log::bring_home(bool gives_back) {
    auto done = checkpoint_to(last_written_);
    if (done && gives_back && pages_ != nullptr) pages_->give_back(truncated());
    return done;
}

result<void> group_log::write_group(group& sealed, std::uint64_t sequence) {
    if (poisoned()) return poisoned_error(file_.path(), errc::poisoned);
    // Deferral has ended, and who ends it may not have come to its sync yet: a group counts once all before it do.
    if (!is_deferred_ && synced_ < last_written_)
        if (auto done = sync_records(last_written_); !done) return done;
    // Fresh blocks were stored without logging: they must be durable before a record that names them.
    if (sealed.sync_first && !is_deferred_)
        if (auto done = synced([&] { return file_.sync(site::redo_fresh_sync); }); !done) return done;
    const auto& geometry = segments_.geometry();
    const std::uint64_t words = sealed.payload_words();
    const std::uint64_t parts = payload_cursor::parts_needed(sealed.record.data() + format::record_header_words, words,
                                                             geometry.segment_payload_words());
    if (parts > 1) return write_parts(sealed, sequence, parts);
    if (segment_ == no_segment || position_ + format::record_bytes(words) > geometry.segment_bytes)
        if (auto begun = begin_segment(); !begun) return begun;
    sealed.record.resize(format::record_bytes(words) / 8);
    if (auto written = write_record(sealed.record.data(), words, sequence, 0, 1, !is_deferred_); !written)
        return written;
    if (!is_deferred_) synced_ = sequence;
    return {};
}

result<void> group_log::write_parts(group& sealed, std::uint64_t sequence, std::uint64_t parts) {
    const std::uint64_t capacity = segments_.geometry().segment_payload_words();
    if (segments_.free_count() < parts)
        if (auto done = checkpoint_to(last_written_); !done) return done;
    payload_cursor cursor(sealed.record.data() + format::record_header_words, sealed.payload_words());
    for (std::uint64_t part = 0; part < parts; ++part) {
        if (auto begun = begin_segment(); !begun) return begun;
        std::uint64_t* const record = segment_words_.data();
        const std::uint64_t words = cursor.fill(record + format::record_header_words, capacity);
        if (auto written = write_record(record, words, sequence, static_cast<std::uint16_t>(part),
                                        static_cast<std::uint16_t>(parts), false);
            !written)
            return written;
    }
    if (is_deferred_) return {};
    if (auto done = synced([&] { return file_.sync(site::log_group); }); !done) return done;
    synced_ = sequence;
    return {};
}

/// Requires: all groups up to that one are written.
result<void> group_log::sync_records(std::uint64_t up_to) {
    if (is_planted(planted::deferred_records_not_synced)) return {};
    const auto sync = [&] { return synced_ >= up_to ? result<void>{} : file_.sync(site::log_deferred_sync); };
    if (auto done = synced(sync); !done) return done;
    std::uint64_t before = synced_;
    while (before < up_to && !synced_.compare_exchange_weak(before, up_to)) {
    }
    return {};
}

/// Who leads may be waiting for homes that somebody holds: it is not waited for.
result<void> group_log::end_deferral() {
    std::unique_lock lock(mutex_);
    if (poisoned()) return poisoned_error(file_.path(), errc::poisoned);
    defers_syncs_ = false;
    const std::uint64_t counts = durable_;
    lock.unlock();
    auto done = step([&] { return sync_records(counts); });
    lock.lock();
    if (!done) note_failure(lock);
    changed_.notify_all();
    return done;
}

result<void> group_log::write_record(std::uint64_t* record, std::uint64_t payload_words, std::uint64_t sequence,
                                     std::uint16_t part, std::uint16_t parts, bool durable) {
    HOLDFAST_ASSERT(part == 0 ? sequence > last_written_ : sequence == last_written_,
                    "groups are written in the order in which their commits joined");
    HOLDFAST_ASSERT(position_ + format::record_bytes(payload_words) <= segments_.geometry().segment_bytes,
                    "a record fits into its segment");
    seal_record(record, payload_words, sequence, part, parts, record_kind::redo, seed_of_salt(salt_));
    // Durable is what the groups before this one wrote, and no other part of this one.
    format::segment_header header = make_segment_header(
        segments_.geometry(), segment_, salt_, acknowledged(), truncated());
    const bool first = position_ == format::segment_header_bytes;
    const std::uint64_t bytes = format::record_bytes(payload_words);
    const iovec pieces[] = {{&header, first ? sizeof header : 0}, {record, bytes}};
    const std::uint64_t at =
        segments_.geometry().segment_offset(segment_) + position_ - (first ? format::segment_header_bytes : 0);
    if (durable) {
        const auto write = [&] { return file_.write_durable(at, pieces, site::log_group); };
        if (auto written = synced(write); !written) return written;
    } else {
        if (first)
            if (auto written = file_.write_at(at, &header, sizeof header, site::log_salt); !written) return written;
        if (auto written = file_.write_at(at + pieces[0].iov_len, record, bytes, site::log_group); !written)
            return written;
    }
    position_ += bytes;
    last_written_ = sequence;
    segments_[segment_].used_bytes.store(position_, std::memory_order_relaxed);
    segments_[segment_].last_sequence.store(sequence, std::memory_order_relaxed);
    return {};
}

result<void> group_log::begin_segment() {
    if (segments_.free_count() == 0)
        if (auto done = checkpoint_to(last_written_); !done) return done;
    segment_ = segments_.take();
    order_.push_back(segment_);
    position_ = format::segment_header_bytes;
    salt_ = segments_.draw_salt();
    return {};
}

result<void> group_log::checkpoint_to(std::uint64_t sequence) {
    HOLDFAST_ASSERT_ALWAYS(sequence >= truncated(), "the truncation point only grows");
    HOLDFAST_ASSERT_ALWAYS(sequence <= durable_.load(std::memory_order_relaxed), "a checkpoint writes durable groups");
    checkpoint_has_synced_ = false;
    if (sequence == truncated()) return {};
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !homes_held_; });
    }
    // The first checkpoint must not overwrite the slot that holds the current point.
    if (auto found = find_truncation_slot(); !found) return found;
    // Records before homes, which may be durable as soon as they are written: without a sound record a cut would tear
    // what it repeats.
    checkpoint_has_synced_ = synced_ < last_written_;
    if (checkpoint_has_synced_)
        if (auto done = sync_records(last_written_); !done) return done;
    checkpoint_has_synced_ = false;
    if (auto written = write_homes(sequence); !written) return written;
    checkpoint_has_synced_ = true;
    // Homes before the truncation point: were it durable first, a cut would lose those commits.
    if (auto done = synced([&] { return file_.sync(site::log_checkpoint_home_sync); }); !done) return done;
    truncation_slot_ ^= 1u;
    const auto move = [&] { return write_truncation(file_, segments_.geometry(), truncation_slot_, sequence); };
    if (auto moved = synced(move); !moved) return moved;
    for (const std::uint32_t used : order_) segments_.give_back(used);
    order_.clear();
    segment_ = no_segment;
    truncated_.store(sequence, std::memory_order_release);
    checkpoints_.fetch_add(1, std::memory_order_relaxed);
    if (on_truncated) on_truncated(sequence);
    return {};
}

result<void> group_log::write_homes(std::uint64_t sequence) {
    const auto& geometry = segments_.geometry();
    std::vector<std::uint64_t>& segment = segment_words_;
    homes_.begin();
    for (const std::uint32_t index : order_) {
        const std::uint64_t used = segments_[index].used_bytes.load(std::memory_order_relaxed);
        if (auto read = file_.read_at(geometry.segment_offset(index), segment.data(), used); !read) return read;
        std::uint64_t at = format::segment_header_bytes / 8;
        while (at < used / 8) {
            const std::uint64_t words = payload_words_of(segment.data() + at);
            if (sequence_of(segment.data() + at) > sequence) break;
            const bool is_home = sequence_of(segment.data() + at) <= truncated();
            const std::uint64_t* payload = segment.data() + at + format::record_header_words;
            if (!is_home)
                if (auto added = homes_.add({payload, words}); !added) return added;
            at += format::record_bytes(words) / 8;
        }
    }
    return homes_.write();
}

result<void> group_log::checkpoint() { return checkpoint(false); }

result<std::uint64_t> group_log::hold_homes() {
    if (auto done = checkpoint(true); !done) return done.error();
    // Nobody moves it meanwhile.
    return truncated();
}

void group_log::release_homes() {
    const std::lock_guard guard(mutex_);
    homes_held_ = false;
    changed_.notify_all();
}

result<void> group_log::checkpoint(bool hold) {
    std::unique_lock lock(mutex_);
    // Who leads keeps all others from committing, so homes that are held are waited for before.
    const auto may_lead = [&] { return !leading_ && !homes_held_; };
    changed_.wait(lock, may_lead);
    if (!poisoned() && open_.payload_words() != 0) lead(lock);
    changed_.wait(lock, may_lead);
    if (poisoned()) return poisoned_error(file_.path(), errc::poisoned);
    leading_ = true;
    lock.unlock();
    auto done = step([&] { return bring_home(true); });
    lock.lock();
    leading_ = false;
    // Before another leader may begin.
    if (hold && done) homes_held_ = true;
    if (!done && checkpoint_has_synced_) note_failure(lock);
    changed_.notify_all();
    return done;
}

result<void> group_log::reset(persist::file& file, const log_geometry& geometry, std::uint64_t last_sequence) {
    std::vector<std::byte> header(format::log_header_bytes);
    if (auto read = file.read_at(geometry.offset, header.data(), header.size()); !read) return read;
    const auto current = read_truncation_point(header.data());
    const unsigned last = current ? current->slot : 1;
    // The slot that holds the current point comes last: the other may be torn already.
    if (auto written = write_truncation(file, geometry, last ^ 1u, last_sequence); !written) return written;
    if (is_planted(planted::one_slot_renewed)) return file.sync(site::log_checkpoint_home_sync);
    const format::truncation_slot point = make_truncation_slot(last_sequence);
    if (auto written = file.write_at(geometry.offset + format::truncation_slot_offset[last], &point, sizeof point,
                                     site::log_checkpoint_sequence);
        !written)
        return written;
    // Also those that look empty: that may be so in the page cache only.
    const auto empty = emptied_begin({});
    if (is_planted(planted::headers_kept)) return file.sync(site::log_checkpoint_home_sync);
    for (std::uint32_t index = 0; index < geometry.segment_count(); ++index)
        if (auto written = file.write_at(geometry.segment_offset(index), empty.data(), empty.size(), site::log_salt);
            !written)
            return written;
    return file.sync(site::log_checkpoint_home_sync);
}

}  // namespace holdfast
