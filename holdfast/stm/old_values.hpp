// What a transaction that stores home at once has replaced there.
#pragma once

#include <holdfast/stm/grown_array.hpp>
#include <holdfast/stm/write_log.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace holdfast::stm {

/// Bytes as they were before stores, for a roll-back. One thread. Where there is no memory it throws std::bad_alloc.
/// Constant-initialised and trivially destructible.
///
/// Every store is noted, also one to a word that was stored to before. Of a million notes only the oldest value of each
/// byte is kept: so the memory is bounded by the words that are stored to.
class old_values {
public:
    /// Room for that many notes, so that they do not throw. False: there is no memory, or they are too many at once.
    bool make_room(std::size_t notes) noexcept {
        if (replaced_.size() + notes > most_notes) return false;
        try {
            replaced_.room_for(notes);
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }
    /// Requires: what the mask names is stored to next.
    void note(word* home, std::uint8_t mask) {
        if (replaced_.size() >= most_notes) fold();
        replaced_.push(write_log::entry(home, detail::load_home(home), mask));
    }
    /// note(), where there is room. False: nothing was done.
    [[gnu::always_inline]] bool note_at_once(word* home, std::uint8_t mask) noexcept {
        if (replaced_.is_full()) [[unlikely]]
            return false;
        replaced_.push_without_growing(write_log::entry(home, detail::load_home(home), mask));
        return true;
    }
    /// All of it is at home again. Requires: nobody believes what he reads there meanwhile.
    void put_back() noexcept;
    /// From now on put_back() leaves out the stack of this thread, which is at its end: frames that were stored to are
    /// gone, and those that run now are where they were.
    void forget_own_stack() noexcept;
    void clear() noexcept {
        replaced_.clear();
        oldest_.clear();
    }
    void release() noexcept {
        replaced_.release();
        oldest_.release();
        gone_bytes_ = 0;
    }

private:
    /// A power of two: the list, which doubles from 256, is mostly full then.
    static constexpr std::size_t most_notes = std::size_t{1} << 20;

    void fold();
    void store_back(const write_log::entry& each) noexcept;

    grown_array<write_log::entry> replaced_;
    write_log oldest_;
    std::uintptr_t gone_from_ = 0;  ///< what put_back() leaves out
    std::uintptr_t gone_bytes_ = 0;
};

}  // namespace holdfast::stm
