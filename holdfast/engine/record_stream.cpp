// Lines of an open wrap's record go to the place behind this thread's last record as soon as `lines_kept` more are
// behind them. No line of an open wrap can be read as a record: the first, with the header, is sent at the close.
#include <holdfast/engine/record_stream.hpp>

#include <holdfast/log/lanes.hpp>
#include <holdfast/pool/options.hpp>

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};
constexpr std::uint64_t line_words = format::record_alignment / 8;

}  // namespace

void record_stream::begin(const open_pool& pool) noexcept {
    // The first line is not sent early: with two, one is whole.
    next_early_words_ = pool.persists_lines() ? (2 + std::uint64_t{pool.wraps().lines_kept}) * line_words : never;
}

void record_stream::send_early(open_pool& pool, write_set& writes) noexcept(persist::noexcept_seam) {
    lane_log& log = *pool.lanes();
    early_lines& early = writes.early();
    const bool has_place = early.sent() != 0 || log.claim_early(early);
    const std::uint64_t kept_words = pool.wraps().lines_kept * line_words;
    const bool sent = has_place && log.send_early(early, writes.record(), writes.record_words() - kept_words);
    // As many at once as are kept: sending one costs a call.
    const std::uint64_t next = early.sent() * line_words + kept_words + std::max(kept_words, line_words);
    next_early_words_ = sent ? next : never;
}

void record_stream::give_up(open_pool& pool, write_set& writes) noexcept {
    if (writes.early().sent() != 0) pool.lanes()->give_up_early(writes.early());
}

}  // namespace holdfast
