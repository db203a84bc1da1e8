// Histories of transactions, and whether they are opaque: whether one serial order, which respects real time, explains
// every value that was loaded, also in attempts that came to nothing (Guerraoui, Kapalka, On the correctness of
// transactional memory, PPoPP 2008). By search over orders; histories are small. Every stored value is unique, so that
// a load says whose store it saw.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::stm::test {

inline constexpr unsigned history_words = 6;
using memory_state = std::array<std::uint64_t, history_words>;

struct operation {
    bool is_store;
    unsigned word;
    std::uint64_t value;
};

/// A transaction from its beginning to commit, roll-back or conflict. Times are steps of one clock.
struct attempt {
    unsigned thread = 0;
    std::uint64_t began = 0;
    std::uint64_t ended = 0;
    bool committed = false;
    std::vector<operation> operations{};
    std::uint64_t number = 0;  ///< of a commit that stored, where the home numbers them

    /// Whether its loads are explained by `state` and its own stores; its stores are applied to `state`.
    bool explained_by(memory_state& state) const {
        for (const operation& each : operations) {
            if (each.is_store)
                state[each.word] = each.value;
            else if (state[each.word] != each.value)
                return false;
        }
        return true;
    }
};

using history = std::vector<attempt>;

class opacity_checker {
public:
    opacity_checker(const history& all, const memory_state& before) : states_{before} {
        for (const attempt& each : all) (each.committed ? committed_ : others_).push_back(&each);
        // Where positions are given out greedily: by time of the end, each as early as it can be.
        std::sort(others_.begin(), others_.end(),
                  [](const attempt* one, const attempt* other) { return one->ended < other->ended; });
        placed_.resize(committed_.size(), false);
    }

    bool is_opaque() { return order_.size() == committed_.size() ? others_fit() : place_next(); }

private:
    /// Tries every committed transaction that may come next.
    bool place_next() {
        for (std::size_t at = 0; at < committed_.size(); ++at) {
            if (placed_[at] || !may_come_next(at)) continue;
            memory_state state = states_.back();
            if (!committed_[at]->explained_by(state)) continue;
            placed_[at] = true;
            order_.push_back(committed_[at]);
            states_.push_back(state);
            const bool found = is_opaque();
            placed_[at] = false;
            order_.pop_back();
            states_.pop_back();
            if (found) return true;
        }
        return false;
    }
    bool may_come_next(std::size_t which) const {
        for (std::size_t at = 0; at < committed_.size(); ++at)
            if (!placed_[at] && committed_[at]->ended < committed_[which]->began) return false;
        return true;
    }

    /// Whether each attempt that came to nothing has a place between the committed ones: behind those that ended before
    /// it began, before those that began after it ended, not before the place of an attempt that ended before it began.
    bool others_fit() const {
        std::vector<std::size_t> places;
        for (const attempt* each : others_) {
            std::size_t lowest = 0;
            std::size_t highest = order_.size();
            for (std::size_t at = 0; at < order_.size(); ++at) {
                if (order_[at]->ended < each->began) lowest = std::max(lowest, at + 1);
                if (order_[at]->began > each->ended) highest = std::min(highest, at);
            }
            for (std::size_t at = 0; at < places.size(); ++at)
                if (others_[at]->ended < each->began) lowest = std::max(lowest, places[at]);
            std::size_t place = lowest;
            for (; place <= highest; ++place) {
                memory_state state = states_[place];
                if (each->explained_by(state)) break;
            }
            if (place > highest) return false;
            places.push_back(place);
        }
        return true;
    }

    std::vector<const attempt*> committed_;
    std::vector<const attempt*> others_;
    std::vector<bool> placed_;
    std::vector<const attempt*> order_;
    std::vector<memory_state> states_;  ///< before each of order_, and after all
};

inline std::string text_of(const history& all) {
    std::string text;
    for (const attempt& each : all) {
        text += "  thread " + std::to_string(each.thread) + " [" + std::to_string(each.began) + ", " +
                std::to_string(each.ended) + (each.committed ? "] committed:" : "] came to nothing:");
        for (const operation& one : each.operations)
            text += std::string(one.is_store ? " store " : " load ") + std::to_string(one.word) + "=" +
                    std::to_string(one.value);
        text += "\n";
    }
    return text;
}

}  // namespace holdfast::stm::test
