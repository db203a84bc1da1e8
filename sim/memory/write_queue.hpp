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
    std::uint64_t number = 0;  ///< of arrival; the queue gives it

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
        added->number = arrived_++;
        order_.push_back(added);
        unsent_.push_back(added);
        unsent_of_[index(write.from)] += 1;
        of_line(write.what.line).push_back(added);
        insert(asked_, write.asked);
        insert(accepted_, write.accepted);
        return *added;
    }

    /// To be called when `write` has gone to its bank and `completes` is known.
    void sent(queued_write& write) {
        const auto later = [](time completes, const queued_write* other) { return completes < other->completes; };
        sent_.insert(std::upper_bound(sent_.begin(), sent_.end(), write.completes, later), &write);
        insert(completions_of_[index(write.from)], write.completes);
        unsent_.erase(first_unsent(write.number));
        unsent_of_[index(write.from)] -= 1;
    }

    /// Of one source, those that the array does not have at `at`.
    std::size_t occupied(port::source from, time at) const noexcept {
        const std::vector<time>& completions = completions_of_[index(from)];
        return unsent_of_[index(from)] + completions.size() - count_until(completions, at);
    }
    /// Of all sources, those whose senders wait at `at` until they are accepted.
    std::size_t not_accepted(time at) const noexcept { return count_until(asked_, at) - count_until(accepted_, at); }

    /// When at most `most` of these are left, or as few as those that have not been sent.
    time occupied_at_most(port::source from, std::size_t most, time at) const noexcept {
        const std::size_t now = occupied(from, at);
        if (now <= most) return at;
        const std::size_t sent = now - unsent_of_[index(from)];
        const std::vector<time>& completions = completions_of_[index(from)];
        if (sent == 0) return at;
        return completions[completions.size() - sent + std::min(sent, now - most) - 1];
    }

    /// Those that have not gone to a bank, by age.
    const std::vector<queued_write*>& unsent() const noexcept { return unsent_; }
    /// The oldest of them that is not older than the write with this number, or nullptr. For loops that send.
    queued_write* unsent_since(std::uint64_t number) const noexcept {
        const auto found = first_unsent(number);
        return found == unsent_.end() ? nullptr : *found;
    }

    time next_completion() const noexcept { return sent_.empty() ? never : sent_.front()->completes; }

    /// Takes out what is complete by `until`, in the order of completion, and calls `done(write)` for each.
    template <class Done>
    void retire(time until, Done&& done) {
        while (next_completion() <= until && !sent_.empty()) {
            queued_write* const write = sent_.front();
            sent_.erase(sent_.begin());
            std::vector<time>& completions = completions_of_[index(write->from)];
            completions.erase(completions.begin());
            order_.erase(std::find(order_.begin(), order_.end(), write));
            std::vector<queued_write*>& same = of_line(write->what.line);
            same.erase(std::find(same.begin(), same.end(), write));
            erase(asked_, write->asked);
            erase(accepted_, write->accepted);
            done(*write);
            free_.push_back(write);
        }
    }

    /// The writes of a line, by age, and some of other lines among them.
    const std::vector<queued_write*>& near(address line) const noexcept { return lines_[bucket(line)]; }
    bool has_older_of_line(const queued_write& write) const noexcept {
        const std::vector<queued_write*>& same = near(write.what.line);
        return std::any_of(same.begin(), same.end(), [&write](const queued_write* each) {
            return each->what.line == write.what.line && each->number < write.number;
        });
    }

    std::size_t size() const noexcept { return order_.size(); }
    /// By age, 0 is the oldest.
    queued_write& operator[](std::size_t age) noexcept { return *order_[age]; }
    const queued_write& operator[](std::size_t age) const noexcept { return *order_[age]; }

private:
    static constexpr std::size_t buckets = 1024;
    static std::size_t bucket(address line) noexcept { return line.value / line_bytes % buckets; }
    std::vector<queued_write*>& of_line(address line) noexcept { return lines_[bucket(line)]; }
    static std::size_t index(port::source from) noexcept { return from == port::source::log ? 1 : 0; }
    std::vector<queued_write*>::const_iterator first_unsent(std::uint64_t number) const noexcept {
        const auto older = [](const queued_write* each, std::uint64_t than) { return each->number < than; };
        return std::lower_bound(unsent_.begin(), unsent_.end(), number, older);
    }

    /// In a sorted list of times.
    static std::size_t count_until(const std::vector<time>& times, time at) noexcept {
        return static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), at) - times.begin());
    }
    static void insert(std::vector<time>& times, time at) {
        times.insert(std::upper_bound(times.begin(), times.end(), at), at);
    }
    static void erase(std::vector<time>& times, time at) {
        times.erase(std::lower_bound(times.begin(), times.end(), at));
    }

    /// A deque, since ports that are told of a write may cause another one.
    std::deque<queued_write> writes_;
    std::vector<queued_write*> order_, unsent_, sent_, free_;
    std::array<std::vector<time>, 2> completions_of_{};  ///< of those sent, by source
    std::array<std::size_t, 2> unsent_of_{};
    std::uint64_t arrived_ = 0;
    std::array<std::vector<queued_write*>, buckets> lines_{};
    std::vector<time> asked_, accepted_;
};

}  // namespace holdfast::sim
