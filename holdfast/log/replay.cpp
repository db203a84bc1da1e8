#include <holdfast/log/replay.hpp>

#include <holdfast/format/superblock.hpp>
#include <holdfast/log/record.hpp>
#include <holdfast/log/truncation.hpp>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

namespace holdfast {
namespace {

using format::record_kind;
using persist::site;

const std::uint64_t* payload_at(std::span<const std::byte> pool, std::uint64_t offset) noexcept {
    return reinterpret_cast<const std::uint64_t*>(pool.data() + offset);
}

error out_of_bounds(std::uint64_t sequence, std::uint64_t tag_offset, std::uint64_t pool_bytes,
                    const format::entry& each) {
    error reason;
    reason.code = errc::corrupt;
    reason.what = "log record " + std::to_string(sequence) + " has an entry outside roots and heap";
    reason.offset = tag_offset;
    reason.expected = "words within the pool's " + std::to_string(pool_bytes) + " bytes";
    reason.found = std::to_string(each.words) + " words at " + std::to_string(each.offset);
    return reason;
}

/// Writes S to both slots: a slot of before must not win again.
void put_truncation_point(std::byte* pool, const log_geometry& geometry, std::uint64_t sequence, bool persists,
                          const persist::line_path& lines, site where, site where_fence) {
    const format::truncation_slot value = make_truncation_slot(sequence);
    for (const std::uint64_t offset : format::truncation_slot_offset) {
        std::byte* slot = pool + geometry.offset + offset;
        persist::copy(slot, &value, sizeof value, where);
        if (!persists) continue;
        persist::write_back(lines, slot, sizeof value, where);
        persist::fence(lines, where_fence);
    }
}

}  // namespace

result<log_replay> log_replay::read(std::span<const std::byte> pool, const log_geometry& geometry) {
    log_replay replay;
    const auto point = read_truncation_point(pool.data() + geometry.offset);
    if (!point) {
        error reason;
        reason.code = errc::corrupt;
        reason.what = "neither copy of the log's truncation point is valid";
        reason.offset = geometry.offset;
        return reason;
    }
    replay.report_.truncated = point->sequence;
    replay.report_.last_sequence = point->sequence;
    for (std::uint32_t segment = 0; segment < geometry.segment_count(); ++segment)
        replay.scan(pool, geometry, segment, point->sequence);
    replay.report_.records = replay.records_.size();
    if (auto checked = replay.check_bounds(pool, geometry); !checked) return checked.error();
    const auto before = [](const found_record& a, const found_record& b) {
        return a.sequence != b.sequence ? a.sequence < b.sequence : a.number < b.number;
    };
    auto& records = replay.records_;
    if (!std::is_sorted(records.begin(), records.end(), before)) std::sort(records.begin(), records.end(), before);
    std::sort(replay.used_.begin(), replay.used_.end(), [](const used_segment& a, const used_segment& b) {
        return a.first_sequence != b.first_sequence ? a.first_sequence < b.first_sequence : a.first_part < b.first_part;
    });
    return replay;
}

void log_replay::scan(std::span<const std::byte> pool, const log_geometry& geometry, std::uint32_t segment,
                      std::uint64_t truncated) {
    const std::byte* begin = pool.data() + geometry.segment_offset(segment);
    std::uint64_t salt;
    std::memcpy(&salt, begin, sizeof salt);
    if (salt == 0) return;
    const std::byte* end = begin + geometry.segment_bytes;
    used_segment used{segment};
    record_view view;
    for (const std::byte* at = begin + format::segment_header_bytes; read_record(at, end, seed_of_salt(salt), view);
         at += format::record_bytes(view.header.payload_words)) {
        const auto& header = view.header;
        report_.last_sequence = std::max(report_.last_sequence, header.sequence);
        if (header.sequence <= truncated) continue;
        if (used.used_bytes == 0) {
            used.first_sequence = header.sequence;
            used.first_part = header.part;
        }
        used.last_sequence = header.sequence;
        used.used_bytes = static_cast<std::uint64_t>(at - begin) + format::record_bytes(header.payload_words);
        const bool redo = header.kind == record_kind::redo;
        const std::uint32_t number = redo ? header.part : header.part | std::uint32_t{header.parts} << 16;
        const auto offset =
            static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(view.payload) - pool.data());
        records_.push_back({header.sequence, number, redo ? header.parts : std::uint16_t{1}, header.kind, offset,
                            header.payload_words});
    }
    if (used.used_bytes != 0) used_.push_back(used);
}

result<void> log_replay::check_bounds(std::span<const std::byte> pool, const log_geometry& geometry) const {
    const std::uint64_t heap_begin = geometry.offset + geometry.bytes;
    for (const found_record& record : records_) {
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
    }
    return {};
}

void log_replay::apply(std::span<std::byte> pool, line_set& touched) {
    apply_redo(pool, touched);
    apply_undo(pool, touched);
}

void log_replay::apply_record(std::span<std::byte> pool, const found_record& record, line_set& touched) {
    ++report_.applied;
    const std::uint64_t* payload = payload_at(pool, record.payload_offset);
    for (std::uint64_t at = 0; at < record.payload_words;) {
        const format::entry each = format::entry_of(payload[at]);
        auto* home = reinterpret_cast<std::uint64_t*>(pool.data() + each.offset);
        for (std::uint64_t i = 0; i < each.words; ++i)
            persist::store_word(home + i, payload[at + 1 + i], each.mask, site::recovery_home);
        const std::uint64_t last = (each.offset + each.words * 8 - 1) / 64;
        for (std::uint64_t line = each.offset / 64; line <= last; ++line) touched.insert(line);
        report_.words += each.words;
        at += 1 + each.words;
    }
}

bool log_replay::is_whole(std::size_t begin, std::size_t end) const {
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

void log_replay::apply_redo(std::span<std::byte> pool, line_set& touched) {
    for (std::size_t i = 0; i < records_.size();) {
        std::size_t end = i;
        while (end < records_.size() && records_[end].sequence == records_[i].sequence) ++end;
        if (records_[i].kind == record_kind::redo && is_whole(i, end))
            for (std::size_t part = i; part < end; ++part) apply_record(pool, records_[part], touched);
        i = end;
    }
}

void log_replay::apply_undo(std::span<std::byte> pool, line_set& touched) {
    std::unordered_set<std::uint64_t> ended;
    for (const found_record& record : records_)
        if (record.kind == record_kind::undo_end) ended.insert(record.sequence);
    for (std::size_t i = records_.size(); i > 0; --i) {
        const found_record& record = records_[i - 1];
        if (record.kind == record_kind::undo && !ended.contains(record.sequence)) apply_record(pool, record, touched);
    }
}

void finish_in_place(log_replay& replay, std::span<std::byte> pool, const log_geometry& geometry, bool persists,
                     const persist::line_path& lines) {
    line_set touched(pool.size());
    replay.apply(pool, touched);
    if (persists) {
        touched.for_each_run([&](std::uint64_t first, std::uint64_t count) {
            persist::write_back(lines, pool.data() + first * 64, count * 64, site::recovery_home);
        });
        // Homes before the truncation point that reset_log moves past their records.
        persist::fence(lines, site::recovery_home_fence);
    } else {
        persist::order_for_kill();
    }
    reset_log(pool.data(), geometry, replay.report().last_sequence, persists, lines);
}

void reset_log(std::byte* pool, const log_geometry& geometry, std::uint64_t last_sequence, bool persists,
               const persist::line_path& lines) {
    put_truncation_point(pool, geometry, last_sequence, persists, lines, site::log_truncate_sequence,
                         site::log_truncate_sequence_fence);
    const format::segment_header empty{};
    for (std::uint32_t index = 0; index < geometry.segment_count(); ++index) {
        std::byte* segment = pool + geometry.segment_offset(index);
        std::uint64_t salt;
        std::memcpy(&salt, segment, sizeof salt);
        if (salt == 0) continue;
        persist::copy(segment, &empty, sizeof empty, site::log_salt);
        if (persists) persist::write_back(lines, segment, sizeof empty, site::log_salt);
    }
    // Orders the emptied salts before any new commit: a torn record of before may carry the very
    // sequence that the next commit draws.
    if (persists) persist::fence(lines, site::log_commit_fence);
}

void format_log(std::byte* pool, const log_geometry& geometry, bool persists, const persist::line_path& lines) {
    put_truncation_point(pool, geometry, 0, persists, lines, site::log_format, site::log_format_fence);
}

}  // namespace holdfast
