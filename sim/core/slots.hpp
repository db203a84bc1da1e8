// What a core has a fixed number of in each cycle: slots of its issue stage, ports of its DL1.
#pragma once

#include <sim/core/core_config.hpp>

#include <vector>

namespace holdfast::sim {

/// Requests need not come in the order of time: an instruction whose operands are there takes a slot that older ones,
/// which wait, have left. Remembers the last `remembered` cycles; what lies further apart does not meet.
class slots {
public:
    explicit slots(std::uint32_t in_cycle) : in_cycle_(in_cycle), used_(remembered) {}

    /// The first cycle from `at` on with a free slot, which it takes.
    cycle take(cycle at) noexcept {
        while (true) {
            usage& now = used_[at % remembered];
            if (now.at != at) now = {at, 0};
            if (now.count < in_cycle_) {
                now.count += 1;
                return at;
            }
            ++at;
        }
    }

private:
    static constexpr cycle remembered = 4096;
    struct usage {
        cycle at = 0;
        std::uint32_t count = 0;
    };
    std::uint32_t in_cycle_;
    std::vector<usage> used_;
};

/// Registers for lines that a cache waits for. A miss that finds all of them taken waits for the first.
class miss_registers {
public:
    explicit miss_registers(std::uint32_t count) : free_at_(count) {}

    /// One of them, and from when on it may be had.
    struct choice {
        std::uint32_t which;
        cycle from;
    };
    choice choose(cycle at) const noexcept {
        std::uint32_t first = 0;
        for (std::uint32_t each = 0; each < free_at_.size(); ++each) {
            if (free_at_[each] <= at) return {each, at};
            if (free_at_[each] < free_at_[first]) first = each;
        }
        return {first, free_at_[first]};
    }
    void hold(std::uint32_t which, cycle until) noexcept { free_at_[which] = until; }

private:
    std::vector<cycle> free_at_;
};

/// A queue of fixed length through which instructions go in order: the next one may enter when the one that was that
/// many before it has left.
class window {
public:
    explicit window(std::uint32_t length) : left_at_(length) {}
    cycle room_at() const noexcept { return left_at_[next_]; }
    void enter(cycle leaves_at) noexcept {
        left_at_[next_] = leaves_at;
        next_ = next_ + 1 == left_at_.size() ? 0 : next_ + 1;
    }

private:
    std::vector<cycle> left_at_;
    std::size_t next_ = 0;
};

}  // namespace holdfast::sim
