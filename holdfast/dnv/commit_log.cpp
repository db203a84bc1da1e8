// A commit's record, as redo has it (engine/redo.cpp), for words that an algorithm of stm/ stores. What it calls is in
// stm/home.hpp: prepare_commit (1 and 2), log_commit (3), retire_commit (4) and settle_commit, in this order.
//
//   0. The algorithm has taken its locks, and validated what the transaction read.
//   1. The words that the pool keeps, each with its code, become runs of a record. Words that follow each other in the
//      window are one run, since their codes lie between them.
//   2. A lane is taken and room made: the last step that can fail. It is taken once the commit is certain, never while
//      waiting for another commit: a lane in flight holds truncation back, which others may wait for.
//   3. The sequence is drawn, the record sealed and sent, and a FENCE passed: a home line may be evicted at any time,
//      and were it durable without its record, a cut would tear the transaction.
//   4. The algorithm stores the words; the lane is given back, before others may commit.
// On a file at `power` the record joins the open group instead, as redo's does (engine/group_commit.cpp): from there on
// the commit stands. With the algorithm's locks released the thread waits for the group's one sync.
#include <holdfast/dnv/commit_log.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/dnv/attempt.hpp>
#include <holdfast/dnv/damage_handler.hpp>
#include <holdfast/dnv/home.hpp>
#include <holdfast/dnv/placement.hpp>
#include <holdfast/dnv/planted.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/dnv/thread_heap.hpp>
#include <holdfast/log/groups.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/private_pages.hpp>
#include <holdfast/log/run_writer.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/stm/grown_array.hpp>

#include <memory>
#include <new>
#include <utility>

namespace holdfast::dnv {

constinit thread_local std::uint64_t stored_bytes_of_this_thread = 0;

namespace {

/// A record in the making. One for each thread, constant-initialised.
struct record_builder {
    stm::grown_array<std::uint64_t> words;
    log_lane* lane = nullptr;
    std::uint64_t home_words = 0;  ///< that the record names
    std::uint64_t group = 0;  ///< on a file at `power`: the one that the commit joined
    private_pages::storing* gate = nullptr;
    alignas(private_pages::storing) std::byte room_for_gate[sizeof(private_pages::storing)] = {};

    void begin() {
        if (words.data() == nullptr) release_record_at_end_of_thread();
        words.clear();
        words.room_for(format::record_header_words);
        words.taken(format::record_header_words);
    }
    std::uint64_t payload_words() const noexcept { return words.size() - format::record_header_words; }
    const std::uint64_t* payload() const noexcept { return words.begin() + format::record_header_words; }
    bool empty() const noexcept { return payload_words() == 0; }
};
constinit thread_local record_builder making;

/// What a record has of a word.
std::uint64_t logged_value(const stm::write_log::entry& each) noexcept {
    if (is_planted(planted::stale_rest_logged)) return merged(home::look(each.home()).value, each.value, 0x0F);
    return each.value;
}

/// What the pool keeps of the stores, as the payload of a record.
void make_record(const stm::write_log& writes) {
    constexpr std::size_t most_words_of_a_store = 3;  // tag, word and code
    making.begin();
    // A record is sent in whole lines.
    constexpr std::size_t line_words = 8;
    std::uint64_t* const first = making.words.room_for(writes.size() * most_words_of_a_store + line_words);
    // A copy: it is not what the record's words are stored to.
    const placement where = the_placement;
    const auto base = reinterpret_cast<std::uintptr_t>(the_space.pool->base());
    const bool logs_codes = !is_planted(planted::code_not_logged);
    run_writer runs(first);
    for (const stm::write_log::entry& each : writes) {
        const auto [place, has_code] = where.find(each.home());
        if (place == nullptr) continue;
        HOLDFAST_ASSERT(each.mask() == 0xFF, "a word that the pool keeps is stored to whole");
        const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(place) - base;
        const std::uint64_t value = logged_value(each);
        runs.add(offset, value);
        if (has_code && logs_codes) runs.add(offset + sizeof value, ecc::encode(value));
    }
    const auto words = static_cast<std::size_t>(runs.finish_run() - first);
    making.words.taken(words);
    making.home_words = words - runs.runs();
}

result<void> take_lane() {
    result<void> reserved;
    making.lane = the_space.pool->lanes()->acquire_with_room(making, reserved);
    return reserved;
}

/// As engine/group_commit.cpp, whose steps these are.
result<void> join_group() {
    const cancellation_held uncancelled;
    group_log& log = *the_space.pool->groups();
    if (auto admitted = log.admit(making.payload_words()); !admitted) return admitted;
    private_pages* const pages = the_space.pool->pages_of_homes();
    const std::uint64_t new_pages = pages != nullptr ? pages->prepare(making.payload(), making.payload_words()) : 0;
    making.group = log.append(making.payload(), making.payload_words(), false, new_pages).group;
    return {};
}

/// Into the log, and durable where the pool is to be.
void send_record() noexcept {
    open_pool& pool = *the_space.pool;
    lane_log& log = *pool.lanes();
    const std::uint64_t sequence = log.draw_sequence(*making.lane);
    log.append(*making.lane, making.words.begin(), making.payload_words(), sequence, format::record_kind::redo);
    persist::fence_or_order(pool.persists_lines(), pool.lines(), persist::site::log_commit_fence);
    HOLDFAST_ASSERT(log.is_durable(*making.lane, sequence), "a home is stored after its record is durable");
}

/// The lane is free, and the log empty.
void take_record_back() noexcept {
    the_space.pool->lanes()->release(*making.lane);
    making.lane = nullptr;
    static_cast<void>(the_space.pool->checkpoint());
}

/// No page of homes is given back until the gate is opened again.
void close_gate() noexcept {
    private_pages* const pages = the_space.pool->pages_of_homes();
    if (pages == nullptr) return;
    making.gate = new (making.room_for_gate) private_pages::storing(*pages);
    making.gate->note_all(making.payload(), making.payload_words(), making.group);
}

}  // namespace

bool prepare_commit(const stm::write_log& writes) noexcept {
    attempt& mine = this_attempt();
    try {
        make_record(writes);  // 1
        if (making.empty()) return true;
        auto ready = the_space.pool->homes_are_private() ? join_group() : take_lane();  // 2
        if (ready) return true;
        mine.problem = std::move(ready).give_error().release();
    } catch (const std::bad_alloc&) {
        mine.problem = holdfast::detail::keep_lasting(bare_error(errc::out_of_space)).release();
    }
    return false;
}

void log_commit() noexcept {
    if (making.group != 0) return close_gate();
    if (making.lane == nullptr || is_planted(planted::homes_before_record)) return;
    send_record();  // 3
    if (is_planted(planted::record_taken_back)) take_record_back();
}

void retire_commit() noexcept {
    stored_bytes_of_this_thread += std::exchange(making.home_words, 0) * sizeof(stm::word);
    if (making.gate != nullptr) std::destroy_at(std::exchange(making.gate, nullptr));
    if (making.lane == nullptr) return;
    if (is_planted(planted::homes_before_record)) send_record();
    the_space.pool->lanes()->release(*making.lane);  // 4
    making.lane = nullptr;
}

void settle_commit() noexcept {
    if (making.group == 0) return;
    const cancellation_held uncancelled;
    attempt& mine = this_attempt();
    const std::uint64_t group = std::exchange(making.group, 0);
    try {
        auto durable = the_space.pool->groups()->wait({group});
        if (durable) return;
        mine.problem = std::move(durable).give_error().release();
    } catch (const std::bad_alloc&) {
        mine.problem = holdfast::detail::keep_lasting(bare_error(errc::outcome_unknown)).release();
    }
    if (!mine.leaves) end_for(*mine.problem);
}

void release_commit_record() noexcept { making.words.release(); }

}  // namespace holdfast::dnv
