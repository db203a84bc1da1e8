// Many words at once in `versioned`: a look at the lock for all of a line.
#pragma once

#include <holdfast/stm/ranges.hpp>
#include <holdfast/stm/versioned.hpp>

#include <cstring>

namespace holdfast::stm {

template <class Home>
void basic_versioned<Home>::load_line(const word* first, unsigned count, pool_word* out) {
    const lock& of_line = lock_of(first);
    const std::uint64_t version = of_line.load(std::memory_order_acquire);
    if (version <= snapshot_) [[likely]] {
        const bool sound = Home::look_at_many(first, count, out);
        let_others_run();
        if (of_line.load(std::memory_order_relaxed) == version && sound) [[likely]] {
            note(of_line, version);
            return;
        }
    }
    for (unsigned i = 0; i < count; ++i) out[i] = load(first + i);
}

template <class Home>
void basic_versioned<Home>::store_line(const detail::line_piece& piece, const word* values) {
    auto* home = reinterpret_cast<word*>(piece.first_word);
    const bool whole = (piece.skipped_bytes | piece.bytes) % sizeof(word) == 0;
    if (whole && !some_go_home_) {
        lock_line_of(home);
        if (!active_) return;
        if (writes_.put_words_at_once(home, values, piece.words)) return;
    }
    for (unsigned i = 0; i < piece.words; ++i) store(home + i, values[i], piece.mask_of(i));
}

template <class Home>
bool basic_versioned<Home>::is_private(const void* from, std::size_t bytes) const noexcept {
    if (Home::keeps(from)) return false;
    return !active_ || blocks_.fresh().last_holds(from, bytes) || detail::is_own_frame(from, frames_below_);
}

template <class Home>
void basic_versioned<Home>::read_range(void* to, const void* from, std::size_t bytes) {
    if ((keeps_old_values_ || irrevocable_) && !Home::keeps(from)) {
        std::memcpy(to, from, bytes);
        return;
    }
    detail::read_range(*this, to, from, bytes);
}
template <class Home>
void basic_versioned<Home>::write_range(void* to, const void* from, std::size_t bytes) {
    if (active_ && blocks_.fresh().last_holds(to, bytes) && Home::keeps(to)) return Home::store_range(to, from, bytes);
    detail::write_range(*this, to, from, bytes);
}
template <class Home>
void basic_versioned<Home>::copy_range(void* to, const void* from, std::size_t bytes) {
    detail::copy_range(*this, to, from, bytes);
}
template <class Home>
void basic_versioned<Home>::fill_range(void* to, int byte, std::size_t bytes) {
    detail::fill_range(*this, to, byte, bytes);
}

}  // namespace holdfast::stm
