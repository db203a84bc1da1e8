#include <holdfast/log/replay.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/record.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/log/truncation.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_set>
#include <vector>

namespace holdfast {
namespace {

using format::record_kind;
namespace site = persist::site;

const std::uint64_t* payload_at(std::span<const std::byte> pool, std::uint64_t offset) noexcept {
    return reinterpret_cast<const std::uint64_t*>(pool.data() + offset);
}

error out_of_bounds(std::uint64_t sequence, std::uint64_t tag_offset, std::uint64_t pool_bytes,
                    const format::entry& each) {
    return error{.code = errc::corrupt,
                 .what = "log record " + std::to_string(sequence) + " has an entry outside roots and heap",
                 .offset = tag_offset,
                 .expected = "words within the pool's " + std::to_string(pool_bytes) + " bytes",
                 .found = std::to_string(each.words) + " words at " + std::to_string(each.offset)};
}

/// Writes S to both slots: a slot of before must not win again. The one that holds the current point comes
/// last, because the other may be torn already.
void put_truncation_point(std::byte* pool, const log_geometry& geometry, std::uint64_t sequence, bool persists,
                          const persist::line_path& lines, persist::site_id where, persist::site_id where_fence) {
    const format::truncation_slot value = make_truncation_slot(sequence);
    const auto current = read_truncation_point(pool + geometry.offset);
    const unsigned last = current ? current->slot : 1;
    const bool swapped = is_planted(planted::slots_in_fixed_order) && last == 0;
    for (const unsigned index : {last ^ (swapped ? 0u : 1u), last ^ (swapped ? 1u : 0u)}) {
        std::byte* slot = pool + geometry.offset + format::truncation_slot_offset[index];
        persist::copy(slot, &value, sizeof value, where);
        if (persists) {
            persist::write_back(lines, slot, sizeof value, where);
            persist::fence(lines, where_fence);
        }
        if (is_planted(planted::one_slot_renewed)) return;
    }
}

/// The header that stands in the place of this one when the segment holds no records any more: zero. A torn one
/// keeps what it names: a cut in the middle of zeroing that might leave the very words that its lap had meant to
/// write, and they lead to a record that this recovery could not see.
format::segment_header emptied_header(const format::segment_header& header, const log_geometry& geometry,
                                      std::uint32_t index, std::uint64_t last_sequence) {
    const std::uint64_t mark = format::segment_mark(index, header.acknowledged, header.truncated);
    const bool is_torn = header.salt != (header.check ^ mark);
    // What no lap can have named is damage.
    const bool is_sound = header.truncated <= last_sequence;
    if (!geometry.sealed_segments || !is_torn || !is_sound) return {};
    return make_segment_header(geometry, index, 0, header.acknowledged, header.truncated);
}

/// A first record that was torn in front of no header leaves its line, too.
bool is_first_line_zero(const std::byte* segment) noexcept {
    static constexpr std::byte zeros[format::record_alignment]{};
    return std::memcmp(segment + format::segment_header_bytes, zeros, sizeof zeros) == 0;
}

}  // namespace

result<void> log_replay::find_truncation_point(std::span<const std::byte> pool, const log_geometry& geometry,
                                               log_reading how) {
    const auto point = read_truncation_point(pool.data() + geometry.offset);
    if (point) {
        report_.truncated = point->sequence;
    } else {
        error reason{.code = errc::corrupt,
                     .what = "neither copy of the log's truncation point is valid",
                     .offset = geometry.offset};
        if (how != log_reading::salvage) return reason;
        damage_.push_back(std::move(reason));
    }
    // A segment that began a lap held nothing above the S that its header names. So without the slot that said so,
    // too, everything above that S is still in the log.
    if (how != log_reading::torn_anywhere)
        for (std::uint32_t index = 0; index < geometry.segment_count(); ++index)
            report_.truncated =
                std::max(report_.truncated, read_segment_header(pool.data(), geometry, index).truncated);
    report_.last_sequence = report_.truncated;
    return {};
}

result<log_replay> log_replay::read(std::span<const std::byte> pool, const log_geometry& geometry, log_reading how) {
    log_replay replay;
    if (auto found = replay.find_truncation_point(pool, geometry, how); !found) return found.error();
    replay.scan(pool, geometry, how);
    if (auto checked = replay.check_room_for_numbers(geometry); !checked) return checked.error();
    if (how == log_reading::strict && !replay.damage_.empty()) return replay.damage_.front();
    replay.report_.records = replay.records_.size();
    if (auto checked = replay.check_bounds(pool, geometry, how); !checked) return checked.error();
    std::sort(replay.used_.begin(), replay.used_.end(), [](const used_segment& a, const used_segment& b) {
        if (a.first_sequence != b.first_sequence) return a.first_sequence < b.first_sequence;
        return (a.first_part < b.first_part) != is_planted(planted::kept_parts_out_of_order);
    });
    if (is_planted(planted::replayed_newest_first)) std::reverse(replay.records_.begin(), replay.records_.end());
    return replay;
}

result<void> log_replay::check_room_for_numbers(const log_geometry& geometry) const {
    if (report_.last_sequence <= format::largest_sequence / 2) return {};
    return error{.code = errc::corrupt,
                 .what = "the log counts more commits than a pool can have",
                 .offset = geometry.offset,
                 .expected = "at most " + std::to_string(format::largest_sequence / 2),
                 .found = std::to_string(report_.last_sequence)};
}

void log_replay::scan(std::span<const std::byte> pool, const log_geometry& geometry, log_reading how) {
    std::vector<segment_contents> naming;  // segments whose headers name an acknowledged commit
    std::vector<std::uint64_t> torn;
    for (std::uint32_t index = 0; index < geometry.segment_count(); ++index) {
        segment_contents found = scan_segment(pool, geometry, index, report_.truncated, how, records_);
        if (!is_planted(planted::sequence_forgotten))
            report_.last_sequence = std::max(report_.last_sequence, found.last_sequence);
        if (found.used.used_bytes != 0) used_.push_back(found.used);
        torn.insert(torn.end(), found.torn_sequences.begin(), found.torn_sequences.end());
        std::move(found.damage.begin(), found.damage.end(), std::back_inserter(damage_));
        if (found.header.acknowledged > report_.truncated) naming.push_back(std::move(found));
    }
    pass_torn_sequences(torn, geometry);
    if (is_planted(planted::sequence_one_too_low) && report_.last_sequence > report_.truncated) --report_.last_sequence;
    const auto before = [](const found_record& a, const found_record& b) {
        return a.sequence != b.sequence ? a.sequence < b.sequence : a.number < b.number;
    };
    if (!std::is_sorted(records_.begin(), records_.end(), before) && !is_planted(planted::replayed_by_bucket))
        std::sort(records_.begin(), records_.end(), before);
    if (how != log_reading::torn_anywhere) {
        check_acknowledged(naming, geometry);
        check_fenced();
    }
    if (geometry.keeps_prefix) keep_prefix();
}

/// What is dropped can never verify again: recovery empties the log, and goes on above the highest number that it saw.
void log_replay::keep_prefix() {
    if (is_planted(planted::hole_skipped)) return;
    std::uint64_t next = report_.truncated + 1;
    std::size_t i = 0;
    while (i < records_.size() && records_[i].sequence == next) {
        std::size_t end = i;
        while (end < records_.size() && records_[end].sequence == next) ++end;
        if (!is_whole(i, end)) break;
        i = end;
        ++next;
    }
    records_.resize(i);
}

void log_replay::pass_torn_sequences(std::span<const std::uint64_t> torn, const log_geometry& geometry) noexcept {
    if (is_planted(planted::sequence_forgotten) || is_planted(planted::torn_sequences_ignored)) return;
    // No more commits than the log has lines were under way; what is beyond is no number of a record.
    const std::uint64_t most = report_.last_sequence + geometry.bytes / format::record_alignment;
    for (const std::uint64_t sequence : torn)
        if (sequence <= most) report_.last_sequence = std::max(report_.last_sequence, sequence);
}

void log_replay::check_fenced() {
    std::uint64_t next = 0;  // number of the first record missing of the transaction at hand
    for (std::size_t i = 0; i < records_.size(); ++i) {
        const found_record& each = records_[i];
        if (!is_undo(each.kind)) continue;
        if (i == 0 || records_[i - 1].sequence != each.sequence) next = 0;
        if (each.number == next) {
            ++next;
        } else if (each.kind == record_kind::undo_fenced && !has_ended(each.sequence)) {
            damage_.push_back({.code = errc::corrupt,
                               .what = "an undo record that was durable is missing in the log",
                               .offset = each.payload_offset - sizeof(format::record_header),
                               .expected = "record " + std::to_string(next) + " of transaction " +
                                           std::to_string(each.sequence),
                               .found = "none, though record " + std::to_string(each.number) +
                                        " was sent behind its fence"});
            return;
        }
    }
}

void log_replay::check_acknowledged(std::span<const segment_contents> segments, const log_geometry& geometry) {
    for (const segment_contents& each : segments) {
        const std::uint64_t sequence = each.header.acknowledged;
        // An undo transaction that has ended empties what its thread had filled before it.
        const bool may_be_gone = each.used.used_bytes != 0 && has_ended(each.used.first_sequence);
        if (may_be_gone || is_acknowledged_there(sequence)) continue;
        damage_.push_back({.code = errc::corrupt,
                           .what = "an acknowledged commit is missing in the log",
                           .offset = geometry.segment_offset(each.used.index),
                           .expected = "all of record " + std::to_string(sequence) + ", older than segment " +
                                       std::to_string(each.used.index) + ", whose header names it",
                           .found = "none, or not all of it"});
    }
}

bool log_replay::is_acknowledged_there(std::uint64_t sequence) const {
    const auto begin = std::lower_bound(records_.begin(), records_.end(), sequence,
                                        [](const found_record& a, std::uint64_t b) { return a.sequence < b; });
    if (begin == records_.end() || begin->sequence != sequence) return false;
    if (begin->kind != record_kind::redo) return has_ended(sequence);
    const auto end = std::find_if(begin, records_.end(), [&](const auto& each) { return each.sequence != sequence; });
    return is_whole(static_cast<std::size_t>(begin - records_.begin()),
                    static_cast<std::size_t>(end - records_.begin()));
}

bool log_replay::has_ended(std::uint64_t sequence) const {
    const auto of_it = std::ranges::equal_range(records_, sequence, {}, &found_record::sequence);
    return std::ranges::find(of_it, record_kind::undo_end, &found_record::kind) != of_it.end();
}

result<void> log_replay::check_bounds(std::span<const std::byte> pool, const log_geometry& geometry,
                                      const found_record& record) {
    const std::uint64_t heap_begin = geometry.offset + geometry.bytes;
    const std::uint64_t* payload = payload_at(pool, record.payload_offset);
    for (std::uint64_t at = 0; at < record.payload_words;) {
        const format::entry each = format::entry_of(payload[at]);
        const bool in_roots = each.offset >= format::roots_offset && each.offset < format::log_offset;
        const std::uint64_t begin = in_roots ? format::roots_offset : heap_begin;
        const std::uint64_t end = in_roots ? format::log_offset : pool.size();
        const bool inside = each.offset >= begin && each.offset < end && each.offset % 8 == 0 &&
                            each.words <= (end - each.offset) / 8;
        if (!inside || each.words == 0 || each.words > record.payload_words - at - 1)
            return out_of_bounds(record.sequence, record.payload_offset + at * 8, pool.size(), each);
        at += 1 + each.words;
    }
    return {};
}

result<void> log_replay::check_bounds(std::span<const std::byte> pool, const log_geometry& geometry,
                                      log_reading how) {
    std::size_t kept = 0;
    for (const found_record& record : records_) {
        auto checked = check_bounds(pool, geometry, record);
        if (checked) {
            records_[kept++] = record;
            continue;
        }
        if (how != log_reading::salvage) return checked;
        damage_.push_back(checked.error());
    }
    records_.resize(kept);
    return {};
}

home_stores log_replay::apply(std::span<std::byte> pool, const storing& how) {
    HOLDFAST_ASSERT(std::ranges::is_sorted(records_, {}, &found_record::sequence), "replay order is lock order");
    home_stores stores;
    stores.reserve(records_.size());
    add_redo(pool, stores);
    add_undo(pool, stores);
    stores.sort();
    report_.threads = stores.store(pool, how);
    return stores;
}

void log_replay::add_record(std::span<const std::byte> pool, const found_record& record, home_stores& stores) {
    ++report_.applied;
    const std::uint64_t* payload = payload_at(pool, record.payload_offset);
    for (std::uint64_t at = 0; at < record.payload_words;) {
        const format::entry each = format::entry_of(payload[at]);
        HOLDFAST_ASSERT_ALWAYS(each.offset < pool.size() && each.words <= (pool.size() - each.offset) / 8,
                               "the whole log is validated before a byte is replayed");
        stores.add(each, payload + at + 1);
        report_.words += each.words;
        at += 1 + each.words;
    }
}

bool log_replay::is_whole(std::size_t begin, std::size_t end) const {
    if (is_planted(planted::missing_part_ignored)) return true;
    if (records_[begin].parts != end - begin) return false;
    for (std::size_t i = begin; i < end; ++i)
        if (records_[i].number != i - begin) return false;
    return true;
}

bool log_replay::all_whole() const {
    for (std::size_t i = 0; i < records_.size();) {
        std::size_t end = i;
        while (end < records_.size() && records_[end].sequence == records_[i].sequence) ++end;
        if (!is_whole(i, end)) return false;
        i = end;
    }
    return true;
}

void log_replay::add_redo(std::span<const std::byte> pool, home_stores& stores) {
    for (std::size_t i = 0; i < records_.size();) {
        std::size_t end = i;
        while (end < records_.size() && records_[end].sequence == records_[i].sequence) ++end;
        if (records_[i].kind == record_kind::redo && is_whole(i, end))
            for (std::size_t part = i; part < end; ++part) add_record(pool, records_[part], stores);
        i = end;
    }
}

void log_replay::add_undo(std::span<const std::byte> pool, home_stores& stores) {
    std::unordered_set<std::uint64_t> ended;
    for (const found_record& record : records_)
        if (record.kind == record_kind::undo_end && !is_planted(planted::end_record_ignored))
            ended.insert(record.sequence);
    for (std::size_t i = records_.size(); i > 0; --i) {
        const found_record& record = records_[i - 1];
        if (is_undo(record.kind) && !ended.contains(record.sequence)) add_record(pool, record, stores);
    }
}

namespace {

/// A killed process may have stored a record that recovery sees, and not written it back: were homes durable first, a
/// cut would leave a part of the commit and no record. Only the last record of a segment can be such, with the
/// segment's header: each commit fences before its lane's next. Undo records may be lost: if no fence has covered one,
/// its homes are as they were.
void make_records_durable(const log_replay& replay, const std::byte* pool, const log_geometry& geometry,
                          const persist::line_path& lines) {
    std::vector<const found_record*> last(geometry.segment_count(), nullptr);
    bool is_any = false;
    for (const found_record& each : replay.records()) {
        if (each.kind != record_kind::redo) continue;
        is_any = true;
        const found_record*& known = last[geometry.segment_at(each.payload_offset)];
        if (known == nullptr || known->payload_offset < each.payload_offset) known = &each;
    }
    if (!is_any) return;
    for (std::uint32_t index = 0; index < geometry.segment_count(); ++index) {
        if (last[index] == nullptr) continue;
        persist::write_back(lines, pool + geometry.segment_offset(index), sizeof(format::segment_header),
                            site::recovery_record);
        persist::write_back(lines, pool + last[index]->payload_offset - sizeof(format::record_header),
                            format::record_bytes(last[index]->payload_words), site::recovery_record);
    }
    // Orders the records before the homes that are stored from them.
    persist::fence(lines, site::recovery_record_fence);
}

}  // namespace

void finish_in_place(log_replay& replay, std::span<std::byte> pool, const log_geometry& geometry,
                     const storing& how) {
    const auto& lines = how.lines;
    if (is_planted(planted::log_reset_before_homes))
        reset_log(pool.data(), geometry, replay.report().last_sequence, how.persists, lines);
    if (how.persists && !is_planted(planted::record_believed_durable))
        make_records_durable(replay, pool.data(), geometry, lines);
    replay.apply(pool, how);
    if (how.persists) {
        // A killed process may have stored the slot in force and not have written it back: the other, which is
        // written first, may be torn by a cut.
        if (const auto point = read_truncation_point(pool.data() + geometry.offset);
            point && !is_planted(planted::slot_believed_durable))
            persist::write_back(lines, pool.data() + geometry.offset + format::truncation_slot_offset[point->slot],
                                sizeof(format::truncation_slot), site::recovery_slot);
        // Homes before the truncation point that reset_log moves past their records.
        persist::fence(lines, site::recovery_home_fence);
    } else {
        persist::order_for_kill();
    }
    if (is_planted(planted::log_kept_after_recovery)) return;
    reset_log(pool.data(), geometry, replay.report().last_sequence, how.persists, lines);
}

void reset_log(std::byte* pool, const log_geometry& geometry, std::uint64_t last_sequence, bool persists,
               const persist::line_path& lines) {
    HOLDFAST_ASSERT(!read_truncation_point(pool + geometry.offset) ||
                        read_truncation_point(pool + geometry.offset)->sequence <= last_sequence,
                    "the truncation point only grows");
    put_truncation_point(pool, geometry, last_sequence, persists, lines, site::log_truncate_sequence,
                         site::log_truncate_sequence_fence);
    for (std::uint32_t index = 0; index < geometry.segment_count(); ++index) {
        std::byte* segment = pool + geometry.segment_offset(index);
        format::segment_header header;
        std::memcpy(&header, segment, sizeof header);
        if ((is_unused(header) && is_first_line_zero(segment)) || is_planted(planted::headers_kept)) continue;
        const auto emptied = emptied_begin(emptied_header(header, geometry, index, last_sequence));
        persist::copy(segment, emptied.data(), emptied.size(), site::log_salt);
        if (persists) persist::write_back(lines, segment, emptied.size(), site::log_salt);
    }
    // Orders the emptied salts before any new commit: a torn record of before may carry the very
    // sequence that the next commit draws.
    if (persists) persist::fence(lines, site::log_commit_fence);
}

void format_log(std::byte* pool, const log_geometry& geometry, bool persists, const persist::line_path& lines) {
    put_truncation_point(pool, geometry, 0, persists, lines, site::log_format, site::log_format_fence);
}

}  // namespace holdfast
