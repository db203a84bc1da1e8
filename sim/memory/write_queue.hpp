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
    hart_set awaited_by{};
    time accepted{};
    time not_before{};
    time completes = never;  ///< known once it has gone to its bank
    bool held = false;       ///< by the write-back port, until released

    bool waits() const noexcept { return completes == never; }
    bool occupies(time at) const noexcept { return completes > at; }
};

class write_queue {
public:
    /// `entries` is what is expected; writes that are done but not yet settled come on top.
    explicit write_queue(std::uint32_t entries) {
        for (std::uint32_t spare = 0; spare < 4 * entries; ++spare) free_.push_back(add_slot());
        order_.reserve(4 * entries);
        retired_.reserve(4 * entries);
    }

    queued_write& push(const queued_write& write) {
        if (free_.empty()) free_.push_back(add_slot());
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        writes_[slot] = write;
        order_.push_back(slot);
        ++lines_[bucket(write.what.line)];
        return writes_[slot];
    }

    /// Takes out what is complete by `until`, oldest completion first, and calls `done(write)` for each.
    template <class Done>
    void retire(time until, Done&& done) {
        retired_.clear();
        std::size_t kept = 0;
        for (const std::uint32_t slot : order_) {
            if (writes_[slot].completes > until) {
                order_[kept++] = slot;
            } else {
                // By time, then by age. Few at once, and nothing may be allocated here.
                const auto later = [this](time completes, std::uint32_t other) {
                    return completes < writes_[other].completes;
                };
                const time completes = writes_[slot].completes;
                retired_.insert(std::upper_bound(retired_.begin(), retired_.end(), completes, later), slot);
            }
        }
        order_.resize(kept);
        for (const std::uint32_t slot : retired_) {
            --lines_[bucket(writes_[slot].what.line)];
            done(writes_[slot]);
            free_.push_back(slot);
        }
    }

    /// False: certainly not. Most reads are answered by this.
    bool may_have(address line) const noexcept { return lines_[bucket(line)] != 0; }

    std::size_t size() const noexcept { return order_.size(); }
    /// By age, 0 is the oldest.
    queued_write& operator[](std::size_t age) noexcept { return writes_[order_[age]]; }
    const queued_write& operator[](std::size_t age) const noexcept { return writes_[order_[age]]; }

private:
    static std::size_t bucket(address line) noexcept { return line.value / line_bytes % 256; }
    std::uint32_t add_slot() {
        writes_.emplace_back();
        return static_cast<std::uint32_t>(writes_.size() - 1);
    }

    /// A deque, since ports that are told of a write may cause another one.
    std::deque<queued_write> writes_;
    std::vector<std::uint32_t> order_, free_, retired_;
    std::array<std::uint32_t, 256> lines_{};
};

}  // namespace holdfast::sim
