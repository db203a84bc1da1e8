#include <holdfast/log/scan.hpp>

#include <algorithm>
#include <string>

namespace holdfast {
namespace {

using format::record_kind;
using state = segment_header_view::state;

/// More than one fence's worth: somebody was told that the first of them is durable.
bool acknowledged(std::span<const found_record> records) noexcept {
    if (records.empty()) return false;
    return std::any_of(records.begin() + 1, records.end(), [&](const found_record& each) {
        return each.kind != record_kind::undo || each.sequence != records.front().sequence;
    });
}

class scanner {
public:
    scanner(std::span<const std::byte> pool, const log_geometry& geometry, std::uint32_t index,
            std::uint64_t truncated, log_reading how, std::vector<found_record>& records)
        : pool_(pool),
          index_(index),
          truncated_(truncated),
          most_(truncated + geometry.bytes / format::record_alignment),
          how_(how),
          records_(records),
          first_(records.size()),
          begin_(pool.data() + geometry.segment_offset(index)),
          end_(begin_ + geometry.segment_bytes) {
        found_.used.index = index;
        found_.header = read_segment_header(pool.data(), geometry, index);
    }

    segment_contents run() {
        const auto& header = found_.header;
        if (header.is == state::emptied) return std::move(found_);
        if (header.is == state::unused) {
            if (looks_filled()) note_lost_salt();
            return std::move(found_);
        }
        if (header.is == state::sealed) {
            read_under(header.salt);
        } else {
            read_under_broken_header();
        }
        return std::move(found_);
    }

private:
    const std::byte* first_record() const noexcept { return begin_ + format::segment_header_bytes; }
    std::uint64_t offset_of(const void* at) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - pool_.data());
    }
    std::span<const found_record> own() const noexcept { return std::span(records_).subspan(first_); }

    void add(const std::byte* at, const record_view& view) {
        const auto& header = view.header;
        found_.last_sequence = std::max(found_.last_sequence, header.sequence);
        if (header.sequence <= truncated_) return;
        auto& used = found_.used;
        if (used.used_bytes == 0) {
            used.first_sequence = header.sequence;
            used.first_part = header.part;
        }
        used.last_sequence = header.sequence;
        used.used_bytes = static_cast<std::uint64_t>(at - begin_) + format::record_bytes(header.payload_words);
        const bool redo = header.kind == record_kind::redo;
        const std::uint32_t number = redo ? header.part : header.part | std::uint32_t{header.parts} << 16;
        records_.push_back({header.sequence, number, redo ? header.parts : std::uint16_t{1}, header.kind,
                            offset_of(view.payload), header.payload_words});
    }

    /// Adds records from `at` on until a place does not verify; returns that place.
    const std::byte* read_chain(const std::byte* at, std::uint32_t seed) {
        record_view view;
        for (; read_record(at, end_, seed, view); at += format::record_bytes(view.header.payload_words)) add(at, view);
        return at;
    }

    /// The next whole record behind `at`, where none verified. What stood here in an earlier lap has another salt.
    const std::byte* find_behind(const std::byte* at, std::uint32_t seed) {
        const std::uint64_t least = std::max(found_.last_sequence, truncated_ + 1);
        record_view view;
        for (const std::byte* const bad = at; at < end_; at += format::record_alignment) {
            if (!may_be_record(at, least)) continue;
            if (at != bad && read_record(at, end_, seed, view)) return at;
            found_.torn_sequences.push_back(sequence_of(reinterpret_cast<const std::uint64_t*>(at)));
        }
        return nullptr;
    }

    /// Cheap, and true of few lines: before a checksum is computed.
    bool may_be_record(const std::byte* at, std::uint64_t least_sequence) const noexcept {
        const auto* words = reinterpret_cast<const std::uint64_t*>(at);
        const std::uint64_t kind = words[0] >> 32;
        return kind >= static_cast<std::uint64_t>(record_kind::redo) &&
               kind <= static_cast<std::uint64_t>(record_kind::undo_fenced) && words[1] >= least_sequence &&
               format::record_bytes(payload_words_of(words)) <= static_cast<std::uint64_t>(end_ - at);
    }

    void read_under(std::uint64_t salt) {
        const std::uint32_t seed = seed_of_salt(salt);
        const std::byte* bad = read_chain(first_record(), seed);
        if (how_ == log_reading::torn_anywhere) return;
        const std::size_t before = records_.size();
        const std::byte* const first_bad = bad;
        const std::byte* behind = nullptr;
        while (bad < end_ && (behind = find_behind(bad, seed)) != nullptr) bad = read_chain(behind, seed);
        if (records_.size() == before) return;
        const found_record* witness = judge(before);
        if (witness != nullptr) note_bad_record(first_bad, *witness);
        // A torn tail ends the segment: what stands behind it was never relied on.
        if (witness == nullptr || how_ == log_reading::strict) forget_from(before);
    }

    void forget_from(std::size_t count) {
        records_.resize(count);
        auto& used = found_.used;
        used.used_bytes = 0;
        if (count == first_) return;
        const found_record& last = records_.back();
        used.last_sequence = last.sequence;
        used.used_bytes = last.payload_offset - offset_of(begin_) - sizeof(format::record_header) +
                          format::record_bytes(last.payload_words);
    }

    /// Which of the records from `behind` on proves that the bad place before them is no tear; nullptr: none does.
    const found_record* judge(std::size_t behind) const noexcept {
        const found_record& next = records_[behind];
        for (std::size_t i = behind; i < records_.size(); ++i)
            if (records_[i].kind != record_kind::undo || records_[i].sequence != next.sequence) return &records_[i];
        std::uint32_t number = 0;  // of the bad record, were it of the same transaction
        if (behind > first_ && is_undo(records_[behind - 1].kind)) {
            // Of another transaction, whose end must have stood in the bad place, fenced.
            if (records_[behind - 1].sequence != next.sequence) return &next;
            number = records_[behind - 1].number + 1;
        }
        return next.number > number ? nullptr : &next;
    }

    void read_under_broken_header() {
        const auto& header = found_.header;
        for (const std::uint64_t salt : {header.salt, header.other_salt}) {
            if (salt == 0) continue;
            read_under(salt);
            if (!own().empty()) break;
        }
        if (how_ == log_reading::torn_anywhere) return;
        if (own().empty()) {
            if (redo_stands_first() && looks_filled()) note_lost_salt();
            return;
        }
        const bool half_emptied =
            own().front().kind != record_kind::redo && (header.salt == 0 || header.other_salt == 0);
        if (half_emptied || !acknowledged(own())) return;
        error reason = damage(begin_, "a log segment's header is damaged although its records were acknowledged");
        reason.expected = "the header that record " + std::to_string(own().front().sequence) + " was sent with";
        reason.found = "another";
        found_.damage.push_back(std::move(reason));
    }

    bool redo_stands_first() const noexcept {
        return payload_kind(reinterpret_cast<const std::uint64_t*>(first_record())) ==
               static_cast<std::uint64_t>(record_kind::redo);
    }
    static std::uint64_t payload_kind(const std::uint64_t* words) noexcept { return words[0] >> 32; }

    /// Whether what stands here, with no salt to verify it, can only be records of more than one fence.
    bool looks_filled() const {
        if (how_ == log_reading::torn_anywhere) return false;
        const std::byte* at = first_record();
        std::vector<found_record> chain;
        std::uint64_t least = truncated_ + 1;
        while (at < end_ && may_be_record(at, least) && !acknowledged(chain)) {
            const auto* words = reinterpret_cast<const std::uint64_t*>(at);
            const auto kind = static_cast<record_kind>(payload_kind(words));
            // Each redo commit above the truncation point has a line of the log. What says more is a torn record, of
            // whose words some are of one that stood here before.
            const bool is_redo = kind == record_kind::redo;
            const bool is_beyond = is_redo && sequence_of(words) > most_;
            // Empty is a number drawn in vain (cc_htm), or the length has not arrived, over the zeros that recovery
            // left: nothing proves which.
            const bool is_empty = is_redo && payload_words_of(words) == 0;
            if (is_beyond || is_empty || !entries_fit(words)) break;
            chain.push_back({sequence_of(words), 0, 1, kind, 0, payload_words_of(words)});
            least = sequence_of(words) + (is_redo ? 1 : 0);
            at += format::record_bytes(payload_words_of(words));
        }
        return acknowledged(chain);
    }

    /// Whether the payload divides into entries, and zeros fill the rest of its last line.
    static bool entries_fit(const std::uint64_t* record) noexcept {
        const std::uint64_t words = payload_words_of(record);
        const std::uint64_t* payload = record + format::record_header_words;
        std::uint64_t at = 0;
        while (at < words) {
            const format::entry each = format::entry_of(payload[at]);
            if (each.words == 0 || each.words > words - at - 1) return false;
            at += 1 + each.words;
        }
        const std::uint64_t* end = record + format::record_bytes(words) / 8;
        return std::all_of(payload + words, end, [](std::uint64_t word) { return word == 0; });
    }

    error damage(const std::byte* at, std::string what) const {
        return error{.code = errc::corrupt,
                     .what = std::move(what) + " (segment " + std::to_string(index_) + ")",
                     .offset = offset_of(at)};
    }
    void note_bad_record(const std::byte* at, const found_record& witness) {
        error reason = damage(at, "a log record is damaged: it was acknowledged, because a later one follows it");
        reason.expected = "a record that verifies";
        reason.found = "none, and record " + std::to_string(witness.sequence) + " at offset " +
                       std::to_string(witness.payload_offset - sizeof(format::record_header));
        found_.damage.push_back(std::move(reason));
    }
    void note_lost_salt() {
        const auto* words = reinterpret_cast<const std::uint64_t*>(first_record());
        error reason = damage(begin_, "a log segment's header is lost although records follow it");
        reason.expected = "the salt under which record " + std::to_string(sequence_of(words)) + " verifies";
        reason.found = found_.header.is == state::unused ? "zeros" : "other bytes";
        found_.damage.push_back(std::move(reason));
    }

    std::span<const std::byte> pool_;
    std::uint32_t index_;
    std::uint64_t truncated_;
    std::uint64_t most_;  ///< no redo record's sequence is above
    log_reading how_;
    std::vector<found_record>& records_;
    std::size_t first_;
    const std::byte* begin_;
    const std::byte* end_;
    segment_contents found_;
};

}  // namespace

segment_contents scan_segment(std::span<const std::byte> pool, const log_geometry& geometry, std::uint32_t index,
                              std::uint64_t truncated, log_reading how, std::vector<found_record>& records) {
    return scanner(pool, geometry, index, truncated, how, records).run();
}

}  // namespace holdfast
