// What this room's tests share: a log in ordinary memory, and commits to it.
#pragma once

#include <holdfast/engine/sites.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/record.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/log/truncation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace holdfast::test {

using word_at = std::pair<std::uint64_t, std::uint64_t>;  ///< pool offset and value

/// A pool's bytes with a formatted log of `segments` pages and a heap behind it.
class log_in_memory {
public:
    explicit log_in_memory(std::uint32_t segments = 15, std::uint64_t segment_bytes = 4096)
        : geometry_{format::log_offset, format::log_header_bytes + segments * segment_bytes, segment_bytes},
          heap_(geometry_.offset + geometry_.bytes),
          lines_((heap_ + heap_bytes) / 64) {
        format_log(data(), geometry_, false, {});
    }

    static constexpr std::uint64_t heap_bytes = 256 << 10;
    std::byte* data() { return reinterpret_cast<std::byte*>(lines_.data()); }
    std::uint64_t size() const { return lines_.size() * 64; }
    const log_geometry& geometry() const { return geometry_; }
    /// The pool offset of word `index` of the heap.
    std::uint64_t offset(std::uint64_t index) const { return heap_ + index * 8; }
    std::uint64_t& word(std::uint64_t index) { return *reinterpret_cast<std::uint64_t*>(data() + offset(index)); }
    std::byte* segment(std::uint32_t index) { return data() + geometry_.segment_offset(index); }
    std::uint64_t salt(std::uint32_t index) {
        std::uint64_t salt;
        std::memcpy(&salt, segment(index), sizeof salt);
        return salt;
    }
    std::vector<std::byte> bytes() { return {data(), data() + size()}; }

    /// Writes a record by hand at `at` of a segment, and the segment's header; returns the position behind it.
    std::uint64_t put(std::uint32_t index, std::uint64_t at, std::uint64_t salt, std::uint64_t sequence,
                      const std::vector<std::uint64_t>& payload, format::record_kind kind = format::record_kind::redo,
                      std::uint16_t part = 0, std::uint16_t parts = 1) {
        put_header(index, salt);
        std::vector<std::uint64_t> record(format::record_bytes(payload.size()) / 8);
        std::copy(payload.begin(), payload.end(), record.begin() + format::record_header_words);
        seal_record(record.data(), payload.size(), sequence, part, parts, kind, seed_of_salt(salt));
        std::memcpy(segment(index) + at, record.data(), record.size() * 8);
        return at + record.size() * 8;
    }

    void put_header(std::uint32_t index, std::uint64_t salt, std::uint64_t acknowledged = 0,
                    std::uint64_t truncated = 0) {
        const auto header = make_segment_header(geometry_, index, salt, acknowledged, truncated);
        std::memcpy(segment(index), &header, sizeof header);
    }

    /// Fills truncation slot 0 or 1.
    void put_truncation(unsigned slot, std::uint64_t sequence) {
        const auto value = make_truncation_slot(sequence);
        std::memcpy(data() + geometry_.offset + format::truncation_slot_offset[slot], &value, sizeof value);
    }

    result<replay_report> recover(log_reading how = log_reading::strict) {
        auto replay = log_replay::read({data(), size()}, geometry_, how);
        if (!replay) return replay.error();
        replay->apply({data(), size()});
        return replay->report();
    }

private:
    struct alignas(64) line {
        std::byte bytes[64]{};
    };
    log_geometry geometry_;
    std::uint64_t heap_;
    std::vector<line> lines_;
};

inline std::vector<std::uint64_t> run(std::uint64_t offset, const std::vector<std::uint64_t>& words) {
    std::vector<std::uint64_t> payload{format::run_tag(offset, words.size())};
    payload.insert(payload.end(), words.begin(), words.end());
    return payload;
}

/// Reserves and appends; the lane stays in flight.
inline result<std::uint64_t> append(lane_log& log, lane_log::lane& lane, const std::vector<std::uint64_t>& payload,
                                    format::record_kind kind = format::record_kind::redo, std::uint32_t part = 0) {
    if (auto reserved = log.reserve(lane, payload.data(), payload.size()); !reserved) return reserved.error();
    const std::uint64_t sequence = log.draw_sequence(lane);
    std::vector<std::uint64_t> record(format::record_bytes(payload.size()) / 8);
    std::copy(payload.begin(), payload.end(), record.begin() + format::record_header_words);
    log.append(lane, record.data(), payload.size(), sequence, kind, part);
    return sequence;
}

/// One whole commit as the redo engine does it.
inline result<std::uint64_t> commit(log_in_memory& pool, lane_log& log, const std::vector<std::uint64_t>& payload) {
    auto& lane = log.acquire();
    auto sequence = append(log, lane, payload);
    if (sequence) {
        for (std::size_t at = 0; at < payload.size();) {
            const format::entry each = format::entry_of(payload[at]);
            for (std::uint64_t i = 0; i < each.words; ++i)
                persist::store_word(reinterpret_cast<std::uint64_t*>(pool.data() + each.offset) + i,
                                    payload[at + 1 + i], each.mask, persist::site::redo_home);
            at += 1 + each.words;
        }
    }
    log.release(lane);
    return sequence;
}

}  // namespace holdfast::test
