// The places that a commit of cc_htm has taken in alias sets. Steps 1 and 2 of log/alias_sets.cpp.
#pragma once

#include <holdfast/log/alias_sets.hpp>
#include <holdfast/stm/write_log.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast {

class retirement;

/// One thread. If the process dies inside, nothing of it is left.
class cc_htm_set_places {
public:
    enum class taken : std::uint8_t {
        all,
        none_now,    ///< a set is full; nothing is taken
        none_ever,  ///< more words of the commit belong to one set than it has ways; nothing is taken
    };

    /// A place for each word. Requires: the isolation's locks held, no place taken. Throws std::bad_alloc, with nothing
    /// taken.
    taken take(alias_sets& sets, const stm::write_log& writes, const retirement& queue);
    /// Behind none_now: once that number is retired, there is a place where there was none.
    std::uint64_t wanted() const noexcept { return wanted_; }
    /// The values of the words, in the order in which they were taken.
    void begin_putting(std::uint64_t number) noexcept {
        number_ = number;
        next_ = 0;
    }
    void put(stm::word* home, stm::word value, std::uint8_t mask) noexcept {
        // A place has whole words. Nobody else stores to this one now.
        if (mask != 0xFF) value = merged(sets_->load(home), value, mask);
        sets_->put(places_[next_++], value, number_);
    }
    void forget() noexcept { places_.clear(); }
    void give_back() noexcept;

private:
    alias_sets* sets_ = nullptr;
    std::vector<alias_sets::place> places_;
    std::size_t next_ = 0;
    std::uint64_t number_ = 0;
    std::uint64_t wanted_ = 0;
};

}  // namespace holdfast
