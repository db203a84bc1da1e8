// Lines that commits left dirty are written back little by little, so that no commit waits for a long truncation. The
// protocol stands in pacer.cpp.
#pragma once

#include <holdfast/base/background_worker.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/late_homes.hpp>
#include <holdfast/log/touched_lines.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace holdfast {

/// How a pacer works; fixed while a pool is open.
struct pacer_options {
    persist::line_path lines{};
    std::uint32_t percent = 50;      ///< of the log that is in use when a round begins; 0: any
    std::uint64_t least_share = 64;  ///< lines that a commit sees to, at least, when it takes a step
    bool in_background = false;      ///< a separate thread takes all steps; otherwise commits do, in turn
};

/// Of a pool at `power` on byte-addressable media whose commits store their homes and write nothing back. Destroyed, it
/// ends its thread; what is not home stays in the log.
class pacer final : public late_homes {
public:
    /// `homes`: the pool's bytes. `lanes` is the log of the commits; both live as long as the pool is open. Throws
    /// std::bad_alloc.
    pacer(const std::byte* homes, std::uint64_t pool_bytes, lane_log& lanes, const pacer_options& options);
    pacer(const pacer&) = delete;
    pacer& operator=(const pacer&) = delete;

    /// Whether a commit that has let its locks go should take a step; never, where a thread does. Thread-safe.
    bool is_due() const noexcept { return is_due_.load(std::memory_order_relaxed); }
    /// A share of a round, unless another thread is at it. What holds if the process dies inside: all records of the
    /// round are still in the log, until it has ended. Thread-safe.
    void step_if_free();

    std::uint64_t first_not_home() const noexcept override { return home_.load(std::memory_order_acquire) + 1; }
    void bring_home() override;
    void bring_some_home() override;
    void note_room(const log_room& now) noexcept override;

    /// Rounds that have ended, and steps that were taken for them.
    std::uint64_t rounds() const noexcept { return rounds_.load(std::memory_order_relaxed); }
    std::uint64_t steps() const noexcept { return steps_.load(std::memory_order_relaxed); }

private:
    bool needs_round(const log_room& now) const noexcept;
    bool begin_round();
    std::uint64_t share(const log_room& now) const noexcept;
    bool step(std::uint64_t lines);
    void gather(std::uint64_t& lines);
    void end_round();
    void pass();
    bool finish_round();

    lane_log& lanes_;
    pacer_options options_;
    alignas(128) std::atomic<std::uint64_t> home_;  ///< up to here every commit's homes are durable
    std::atomic<std::uint64_t> rounds_{0};
    std::atomic<std::uint64_t> steps_{0};
    std::atomic<bool> is_due_{false};
    std::atomic<bool> in_round_{false};

    std::mutex pacing_;  ///< one thread takes a step at a time; guards what follows
    std::uint64_t target_ = 0;  ///< of the round
    std::vector<lane_log::stretch> records_;
    std::size_t next_ = 0;  ///< the first of them that was not read to the end
    touched_lines touched_;

    background_worker worker_;  ///< ends before what it works on
};

}  // namespace holdfast
