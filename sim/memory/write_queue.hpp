// The controller's write queue as a container: writes in the order of their arrival, until the array has them.
#pragma once

#include <sim/memory/nvram_dimm.hpp>
#include <sim/port/memory_below.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

namespace holdfast::sim {

struct queued_write {
    line_write what{};
    nvram_place place{};
    port::source from = port::source::data;
    bool bypasses = false;   ///< never was in a cache
    hart_set awaited_by{};
    time asked{};  ///< when its sender began to wait until it is accepted
    time accepted{};
    time not_before{};
    time completes = never;  ///< known once it has gone to its bank
    bool held = false;       ///< by the write-back port, until released
    std::uint32_t log = 0;   ///< which one, if it is from the log source

    bool waits() const noexcept { return completes == never; }
    bool occupies(time at) const noexcept { return completes > at; }
};

class write_queue {
public:
    /// `entries` is what is expected; writes that are done but not yet settled come on top.
    explicit write_queue(std::uint32_t entries) {
        const std::size_t expected = 4 * std::size_t{entries};
        for (std::size_t spare = 0; spare < expected; ++spare) free_.push_back(&writes_.emplace_back());
        order_.reserve(expected);
        sent_.reserve(expected);
    }

    queued_write& push(const queued_write& write) {
        if (free_.empty()) free_.push_back(&writes_.emplace_back());
        queued_write* const added = free_.back();
        free_.pop_back();
        *added = write;
        order_.push_back(added);
        ++lines_[bucket(write.what.line)];
        return *added;
    }

    /// To be called when `write` has gone to its bank and `completes` is known.
    void sent(queued_write& write) {
        const auto later = [](time completes, const queued_write* other) { return completes < other->completes; };
        sent_.insert(std::upper_bound(sent_.begin(), sent_.end(), write.completes, later), &write);
    }
    time next_completion() const noexcept { return sent_.empty() ? never : sent_.front()->completes; }

    /// Takes out what is complete by `until`, in the order of completion, and calls `done(write)` for each.
    template <class Done>
    void retire(time until, Done&& done) {
        while (next_completion() <= until && !sent_.empty()) {
            queued_write* const write = sent_.front();
            sent_.erase(sent_.begin());
            order_.erase(std::find(order_.begin(), order_.end(), write));
            --lines_[bucket(write->what.line)];
            done(*write);
            free_.push_back(write);
        }
    }

    /// False: certainly not. Most reads are answered by this.
    bool may_have(address line) const noexcept { return lines_[bucket(line)] != 0; }
    /// For a line that is there: whether another write of it may be.
    bool may_have_another(address line) const noexcept { return lines_[bucket(line)] > 1; }

    std::size_t size() const noexcept { return order_.size(); }
    /// By age, 0 is the oldest.
    queued_write& operator[](std::size_t age) noexcept { return *order_[age]; }
    const queued_write& operator[](std::size_t age) const noexcept { return *order_[age]; }

private:
    static std::size_t bucket(address line) noexcept { return line.value / line_bytes % 256; }

    /// A deque, since ports that are told of a write may cause another one.
    std::deque<queued_write> writes_;
    std::vector<queued_write*> order_, sent_, free_;
    std::array<std::uint32_t, 256> lines_{};
};

}  // namespace holdfast::sim
