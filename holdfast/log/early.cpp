// Lines of a record sent while its transaction is open.
//
// The place is behind the last record of the lane that the sending thread owns: nobody else sends there, and a record
// of the thread's own takes the claim away. What an abandoned transaction leaves there is like a torn record without
// its first line: nothing leads to it, and the next record is written over it.
#include <holdfast/base/assertion.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/sites.hpp>

namespace holdfast {
namespace {

namespace site = persist::site;

/// With less room than this a transaction keeps its lines for a segment of their own.
constexpr std::uint64_t smallest_early_room = 1024;

}  // namespace

lane_log::lane* lane_log::lane_with(const early_lines& early) noexcept {
    lane* const own = last_instance_ == instance_ ? last_lane_ : find_lane_to_own();
    return own != nullptr && early.claim_ != 0 && own->claim_ == early.claim_ ? own : nullptr;
}

bool lane_log::claim_early(early_lines& early) noexcept {
    if (!options_.persists) return false;
    lane* const own = last_instance_ == instance_ ? last_lane_ : find_lane_to_own();
    if (own == nullptr || own->segment_ == no_segment || own->claim_ != 0) return false;
    if (own->position_ + smallest_early_room > segments_.geometry().segment_bytes) return false;
    early.clear();
    early.claim_ = own->claim_ = next_claim_.fetch_add(1, std::memory_order_relaxed);
    early.sent_ = 1;
    return true;
}

bool lane_log::send_early(early_lines& early, const std::uint64_t* record,
                          std::uint64_t record_words) noexcept(persist::noexcept_seam) {
    lane* const own = lane_with(early);
    const std::uint64_t whole = record_words / 8;
    if (own == nullptr || own->position_ + (whole + 1) * format::record_alignment > segments_.geometry().segment_bytes)
        return false;
    std::byte* const place = own->segment_begin_ + own->position_;
    HOLDFAST_ASSERT(early.sent_ >= 1, "the first line of a record goes last");
    put(place + early.sent_ * format::record_alignment, record + early.sent_ * 8,
        (whole - early.sent_) * format::record_alignment, site::log_early);
    early.sent_ = whole;
    return true;
}

void lane_log::append_early(lane& held, std::uint64_t* record, std::uint64_t payload_words, std::uint64_t sequence,
                            early_lines& early) {
    if (lane_with(early) != &held) return append(held, record, payload_words, sequence, format::record_kind::redo);
    seal_record(record, payload_words, sequence, 0, 1, format::record_kind::redo, held.seed_);
    std::byte* const segment = held.segment_begin_;
    if (held.salt_owed_) send_salt(held, segment);
    std::byte* const place = segment + held.position_;
    const auto again = [&](std::uint64_t line) {
        constexpr std::uint64_t bytes = format::record_alignment;
        put(place + line * bytes, record + line * 8, bytes, site::log_record);
    };
    const std::size_t changed = is_planted(planted::early_line_not_renewed) ? 0 : early.changed_.size();
    for (std::size_t word = 0; word < changed; ++word)
        for (std::uint64_t bits = early.changed_[word]; bits != 0; bits &= bits - 1)
            again(word * 64 + static_cast<std::uint64_t>(__builtin_ctzll(bits)));
    again(0);
    const std::uint64_t rest = early.sent_ * format::record_alignment;
    const std::uint64_t bytes = format::record_bytes(payload_words);
    HOLDFAST_ASSERT(rest <= bytes, "lines that were sent early are lines of the record");
    if (rest < bytes) put(place + rest, record + early.sent_ * 8, bytes - rest, site::log_record);
    note_sent(held, sequence, held.position_ + bytes, true);
}

void lane_log::give_up_early(early_lines& early) noexcept {
    if (lane* const own = lane_with(early)) own->claim_ = 0;
    early.clear();
}

}  // namespace holdfast
