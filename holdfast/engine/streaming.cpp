// Lines of an open wrap's record go to the place behind this thread's last record as soon as `lines_kept` more are
// behind them. No line of an open wrap can be read as a record: the first, with the header, is sent at the close.
#include <holdfast/engine/streaming.hpp>

#include <holdfast/log/lanes.hpp>
#include <holdfast/pool/options.hpp>

#include <algorithm>

namespace holdfast {
namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};
constexpr std::uint64_t line_words = format::record_alignment / 8;

}  // namespace

void streaming_transaction::begin(open_pool& pool) noexcept {
    write_aside_transaction::begin(pool);
    // The first line is not sent early: with two, one is whole.
    next_early_words_ = pool.persists_lines() ? (2 + std::uint64_t{pool.wraps().lines_kept}) * line_words : never;
}

void streaming_transaction::send_early() noexcept(persist::noexcept_seam) {
    lane_log& log = *pool_->lanes();
    early_lines& early = writes_.early();
    const bool has_place = early.sent() != 0 || log.claim_early(early);
    const std::uint64_t kept_words = pool_->wraps().lines_kept * line_words;
    const bool sent = has_place && log.send_early(early, writes_.record(), writes_.record_words() - kept_words);
    // As many at once as are kept: sending one costs a call.
    const std::uint64_t next = early.sent() * line_words + kept_words + std::max(kept_words, line_words);
    next_early_words_ = sent ? next : never;
}

void streaming_transaction::log_and_fence(lane_log::lane& lane) {
    if (!pool_->wraps().logs && !pool_->persists_lines()) return;
    pool_->lanes()->append_early(lane, writes_.record(), writes_.payload_words(), sequence_, writes_.early());
    fence_record();
}

void streaming_transaction::roll_back() noexcept(persist::noexcept_seam) {
    if (writes_.early().sent() != 0) pool_->lanes()->give_up_early(writes_.early());
    write_aside_transaction::roll_back();
}

}  // namespace holdfast
