// Commits that are not home yet, in the order of their numbers: the persistence queue of continuous checkpointing.
// The protocol stands in retirement.cpp.
#pragma once

#include <holdfast/base/background_worker.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/late_homes.hpp>
#include <holdfast/log/touched_lines.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace holdfast {

/// How commits are retired; fixed while a pool is open.
struct retirement_options {
    bool persists = true;           ///< homes are written back and fenced. False: stored only
    bool stores_homes = true;       ///< False: alias tables do; what is in the log's prefix counts as retired
    persist::line_path lines;       ///< used when `persists`
    std::uint32_t lag = 0;          ///< commits that may be missing when `wait` returns
    bool waits_for_homes = false;   ///< `wait` counts what is not home, instead of what is not in the log
    std::uint32_t backlog = 128;    ///< commits that wait before somebody retires some; 0: until the log runs short
    bool in_background = false;     ///< a separate thread retires; otherwise commits and callers do
};

/// The record of a commit, in memory: header words, then the payload, with room up to the next line. Reused.
class record_buffer {
public:
    /// Room for that payload. What was there is gone. Throws std::bad_alloc.
    void make_room(std::uint64_t payload_words);
    std::uint64_t* record() noexcept { return words_.get(); }
    std::uint64_t* payload() noexcept { return words_.get() + format::record_header_words; }
    const std::uint64_t* payload() const noexcept { return words_.get() + format::record_header_words; }
    std::uint64_t payload_words = 0;

    void swap(record_buffer& other) noexcept {
        words_.swap(other.words_);
        std::swap(capacity_, other.capacity_);
        std::swap(payload_words, other.payload_words);
    }
    /// What a usual record takes is in the cache soon.
    void prefetch() const noexcept {
        if (words_ == nullptr) return;
        constexpr std::size_t usual_lines = 4;
        for (std::size_t line = 0; line < usual_lines; ++line)
            persist::prefetch_for_store(words_.get() + line * persist::line_bytes / sizeof(std::uint64_t));
    }
    /// Gives the memory of a record back that is longer than usual.
    void trim(std::uint64_t usual_words) noexcept;

private:
    std::unique_ptr<std::uint64_t[]> words_;
    std::uint64_t capacity_ = 0;
};

/// Commits that are not home, in the colours of the paper.
struct pending_commits {
    std::uint64_t blue = 0;  ///< have a number, and are not finished
    std::uint64_t red = 0;   ///< are finished, and wait for their homes
};

class retirement final : public late_homes {
public:
    /// `homes`: the pool's bytes as the medium has them. `lanes` is the log of the commits; both live as long as the
    /// pool is open.
    retirement(std::byte* homes, std::uint64_t pool_bytes, lane_log& lanes, const retirement_options& options);
    retirement(const retirement&) = delete;
    retirement& operator=(const retirement&) = delete;

    /// Step 1: waits until there is a place for the commit's number. Requires: the caller holds a lane, and draws its
    /// number next. Thread-safe.
    void admit();
    /// Step 3: the record of commit `number` is in the log, durable where the pool promises it. Takes what is in
    /// `record`, which gets another buffer. Before the lane is given back. Thread-safe.
    void finished(std::uint64_t number, record_buffer& record) noexcept;
    /// Step 4: returns when at most `lag` commits up to `number` are missing. Then retires some, if too many wait.
    /// Thread-safe.
    void wait(std::uint64_t number);

    /// Returns when the log has the records of all commits up to `number`. Requires: if the caller has a number, it is
    /// finished, or higher. Thread-safe.
    void wait_for_log(std::uint64_t number);
    const retirement_options& options() const noexcept { return options_; }

    /// Whether nothing that has returned may be missing.
    bool is_strict() const noexcept { return options_.lag == 0; }

    /// A batch comes home, if one waits and no other thread is at it. False: nothing was retired. Requires: as
    /// wait_for_log. Thread-safe.
    bool retire_if_free();

    std::uint64_t first_not_home() const noexcept override { return retired_.load(std::memory_order_acquire) + 1; }
    void bring_home() override;
    void note_room(const log_room& now) noexcept override;

    /// The pool has this number of bytes from now on. Returns before a record may name the new ones.
    void grow(std::uint64_t pool_bytes);

    /// Up to here every commit is in the log.
    std::uint64_t prefix() const noexcept { return prefix_.load(std::memory_order_acquire); }
    /// Up to here every commit is home.
    std::uint64_t retired() const noexcept { return retired_.load(std::memory_order_acquire); }
    /// At about this moment. Thread-safe.
    pending_commits pending() noexcept;
    std::uint64_t batches() const noexcept { return batches_.load(std::memory_order_relaxed); }
    /// What retiring has taken so far, in ns of the threads that did it.
    std::uint64_t retiring_ns() const noexcept { return retiring_ns_.load(std::memory_order_relaxed); }
    /// Pages of homes that were stored to since the last `forget_pages`.
    std::uint64_t pages_stored() const noexcept { return pages_stored_.load(std::memory_order_relaxed); }
    /// Requires: no commit is in flight, and all are home.
    void forget_pages();

private:
    struct alignas(128) place {
        std::atomic<std::uint64_t> finished{0};  ///< the number of the commit whose record this is
        record_buffer record;
    };
    place& place_of(std::uint64_t number) noexcept { return ring_[number & mask_]; }
    bool is_finished(std::uint64_t number) noexcept {
        return place_of(number).finished.load(std::memory_order_acquire) == number;
    }
    void advance_prefix() noexcept;
    std::uint64_t may_retire_up_to() noexcept;
    bool retire_some();
    class entries;
    void bring_batch_home(std::uint64_t first, std::uint64_t last);
    void store_homes(std::uint64_t first, std::uint64_t last);
    void note_stored(std::uint64_t offset, std::uint64_t words);

    std::byte* homes_;
    lane_log& lanes_;
    retirement_options options_;
    std::vector<place> ring_;
    std::uint64_t mask_;
    std::uint64_t room_;  ///< commits that may wait at once

    // Each alone in its lines: every commit looks at all of them, and different threads store to them.
    alignas(128) std::atomic<std::uint64_t> prefix_;
    alignas(128) std::atomic<std::uint64_t> retired_;
    std::atomic<std::uint64_t> batches_{0};
    std::atomic<std::uint64_t> retiring_ns_{0};
    std::atomic<std::uint64_t> pages_stored_{0};

    std::mutex retiring_;  ///< one thread retires at a time; guards what follows
    touched_lines touched_;
    std::vector<bool> pages_;

    background_worker worker_;  ///< ends before what it works on
};

}  // namespace holdfast
