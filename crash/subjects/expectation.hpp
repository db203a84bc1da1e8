// What a workload must have left behind, whatever the cut.
#pragma once

#include <crash/subjects/subject.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::crash {

/// What a container holds, flattened so that one comparison tells.
using contents = std::vector<std::uint64_t>;

/// What a recovery left of things of which only what they hold counts.
inline recovered_pool recovered_of(const contents& found) {
    const auto bytes = std::as_bytes(std::span(found));
    return {{bytes.begin(), bytes.end()}, {{0, bytes.size()}}};
}

/// The contents after each operation of a workload: of one thing that all threads change in turn, or of
/// one for each thread, which those of the whole are then put together from.
class expectation {
public:
    void begin(contents first) { begin(std::vector<contents>{std::move(first)}); }
    /// One that says itself what may be there after some progress, before any recovery.
    void begin(std::function<std::vector<contents>(const progress&)> may) {
        parts_.clear();
        recoveries_.clear();
        may_ = std::move(may);
    }
    void begin(const std::vector<contents>& first_of_each) {
        may_ = nullptr;
        parts_.clear();
        for (const contents& each : first_of_each) parts_.push_back({each});
        recoveries_.clear();
    }
    void add(contents next, unsigned part = 0) { parts_[part].push_back(std::move(next)); }
    const contents& last(unsigned part = 0) const { return parts_[part].back(); }
    /// How many there are: that of the beginning, and one for each operation.
    std::size_t states(unsigned part = 0) const { return parts_[part].size(); }

    /// A recovery found these contents after that progress, and another operation made them those. Recovery
    /// and operation count as the last thread's. `killed`: what the cut left was still in the caches.
    void enter_recovery(contents found, contents afterwards, const progress& made, bool killed) {
        enter_recovery(std::move(found), made, killed);
        add_afterwards(std::move(afterwards));
    }
    /// The same without an operation. Those that follow are added one by one.
    void enter_recovery(contents found, const progress& made, bool killed) {
        recoveries_.push_back({{std::move(found)}, made, killed});
    }
    void add_afterwards(contents next) { recoveries_.back().states.push_back(std::move(next)); }
    const contents& last_afterwards() const { return recoveries_.back().states.back(); }
    void leave_recovery() { recoveries_.pop_back(); }
    std::size_t recoveries() const { return recoveries_.size(); }
    /// In the recovery so deep, itself and the operations after it: how many have begun, and how many are done.
    std::size_t begun_inside(std::size_t depth, const progress& made) const {
        return made.begun[thread_afterwards] - entered(depth).begun[thread_afterwards];
    }
    std::size_t done_inside(std::size_t depth, const progress& made) const {
        return made.done[thread_afterwards] - entered(depth).done[thread_afterwards];
    }
    /// How far all was when it was entered.
    const progress& entered(std::size_t depth) const { return recoveries_[depth - 1].entered; }

    /// Whether the contents found are what may be there. Returns what is wrong.
    std::optional<std::string> judge(const contents& found, const progress& made) const {
        const std::vector<contents> may = allowed(recoveries_.size(), made);
        if (std::ranges::find(may, found) != may.end()) return {};
        std::string text = "found " + text_of(found) + ", expected ";
        for (std::size_t i = 0; i < may.size(); ++i) text += (i == 0 ? "" : " or ") + text_of(may[i]);
        if (!recoveries_.empty()) return text + " (after a recovery was cut, or an operation after it)";
        for (std::size_t i = 0; parts_.size() == 1 && i < parts_[0].size(); ++i)
            if (found == parts_[0][i])
                return text + (i < count(made.done, 0) ? ": an acknowledged operation is lost" : ": too early");
        return text;
    }

    /// The same for an image with damage: what was there after any operation, or before. Requires: one part.
    std::optional<std::string> judge_damaged(const contents& found, const progress& made) const {
        const auto& states = parts_[0];
        const auto begun = static_cast<std::ptrdiff_t>(std::min(count(made.begun, 0) + 1, states.size()));
        if (std::find(states.begin(), states.begin() + begun, found) != states.begin() + begun) return {};
        return "found " + text_of(found) + ", which was there at no time, and nothing tells of damage";
    }

private:
    struct recovery {
        std::vector<contents> states;  ///< what it found, and after each operation that followed
        progress entered;
        bool killed;
    };

    /// What may be there inside `depth` recoveries.
    std::vector<contents> allowed(std::size_t depth, const progress& made) const {
        if (depth == 0) return may_ ? may_(made) : put_together(made);
        const recovery& innermost = recoveries_[depth - 1];
        const std::size_t begun = begun_inside(depth, made);
        const std::size_t done = done_inside(depth, made);
        std::vector<contents> may;
        // Until recovery is through, another cut may still lose what a kill did not.
        if (done == 0 && innermost.killed) may = allowed(depth - 1, innermost.entered);
        const std::size_t last = std::max<std::size_t>(begun, 1);
        for (std::size_t i = std::max<std::size_t>(done, 1); i <= last && i <= innermost.states.size(); ++i)
            may.push_back(innermost.states[i - 1]);
        return may;
    }
    std::size_t count(const std::array<std::size_t, threads_at_most>& counts, unsigned part) const {
        if (parts_.size() > 1) return counts[part];
        std::size_t sum = 0;
        for (unsigned thread = 0; thread < thread_afterwards; ++thread) sum += counts[thread];
        return sum;
    }
    /// Every part as it is after what was done, or after some of what has begun since, in its order.
    std::vector<contents> put_together(const progress& made) const {
        std::vector<contents> all{{}};
        for (unsigned part = 0; part < parts_.size(); ++part) {
            const std::size_t done = count(made.done, part);
            const std::size_t begun = count(made.begun, part);
            std::vector<contents> longer;
            for (const contents& each : all)
                for (std::size_t state = done; state <= begun; ++state) {
                    longer.push_back(each);
                    longer.back().insert(longer.back().end(), parts_[part][state].begin(), parts_[part][state].end());
                }
            all = std::move(longer);
        }
        return all;
    }
    static std::string text_of(const contents& all) {
        std::string text = "{";
        for (const std::uint64_t each : all) text += (text.size() > 1 ? " " : "") + std::to_string(each);
        return text + "}";
    }

    std::vector<std::vector<contents>> parts_;  ///< each after 0, 1, … operations
    std::vector<recovery> recoveries_;
    std::function<std::vector<contents>(const progress&)> may_;
};

}  // namespace holdfast::crash
