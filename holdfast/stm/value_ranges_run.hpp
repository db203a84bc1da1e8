// Many words at once in `value`: a look at the counter for all of them, and one entry of the read set.
#pragma once

#include <holdfast/stm/ranges.hpp>
#include <holdfast/stm/value.hpp>

#include <cstring>

namespace holdfast::stm {

template <class Home>
void basic_value<Home>::load_line(const word* first, unsigned count, pool_word* out) {
    bool sound;
    for (;;) {
        sound = Home::look_at_many(first, count, out);
        let_others_run();
        if (sequence_.now.load(std::memory_order_acquire) == snapshot_) [[likely]]
            break;
        if (!validate()) {
            std::memset(out, 0, count * sizeof(word));
            return conflict();
        }
    }
    if (!sound) [[unlikely]] {
        // Each is kept before the next one is mended.
        for (unsigned i = 0; i < count; ++i) out[i] = load_and_keep(first + i);
    } else if (keeps_reads_) {
        seen* const room = reads_.room_for(count);
        for (unsigned i = 0; i < count; ++i) room[i] = {first + i, out[i]};
        reads_.taken(count);
    }
    if (loads_ != loads::own || !writes_.may_hold_of_line(first)) return;
    for (unsigned i = 0; i < count; ++i)
        if (const write_log::entry* stored = writes_.find(first + i))
            out[i] = merged(out[i], stored->value, stored->mask());
}

template <class Home>
void basic_value<Home>::store_line(const detail::line_piece& piece, const word* values) {
    auto* home = reinterpret_cast<word*>(piece.first_word);
    const bool whole = (piece.skipped_bytes | piece.bytes) % sizeof(word) == 0;
    if (whole && !some_go_home_ && writes_.put_words_at_once(home, values, piece.words)) {
        loads_ = loads::own;
        return;
    }
    for (unsigned i = 0; i < piece.words; ++i) store(home + i, values[i], piece.mask_of(i));
}

/// Whether one of these words may have been stored to.
template <class Home>
bool basic_value<Home>::may_hold_some(const word* first, std::size_t count) const noexcept {
    if (loads_ != loads::own) return false;
    if (writes_.size() < count / detail::line_words) {
        for (const write_log::entry& each : writes_)
            if (each.home() >= first && each.home() < first + count) return true;
        return false;
    }
    for (std::size_t at = 0; at < count; at += detail::line_words)
        if (writes_.may_hold_of_line(first + at)) return true;
    return count != 0 && writes_.may_hold_of_line(first + count - 1);
}

/// As a run of the read set: one look at the counter and one entry for many words. Requires: none was stored to.
template <class Home>
void basic_value<Home>::read_words(void* to, const word* from, std::size_t count) {
    constexpr std::size_t words_at_once = 512;
    while (count != 0) {
        const std::size_t now = count < words_at_once ? count : words_at_once;
        void* const first = keeps_reads_ ? words_of_runs_.room_for(now) : to;
        bool sound;
        for (;;) {
            sound = Home::look_at_many(from, now, first);
            let_others_run();
            if (!has_moved()) [[likely]]
                break;
            if (!validate()) {
                std::memset(to, 0, count * sizeof(word));
                return conflict();
            }
        }
        if (!sound) [[unlikely]] {
            detail::read_range(*this, to, from, now * sizeof(word));
        } else if (keeps_reads_) {
            words_of_runs_.taken(now);
            runs_.push({from, now});
            std::memcpy(to, first, now * sizeof(word));
        }
        to = static_cast<unsigned char*>(to) + now * sizeof(word);
        from += now;
        count -= now;
    }
}

template <class Home>
bool basic_value<Home>::is_private(const void* from, std::size_t bytes) const noexcept {
    if (Home::keeps(from)) return false;
    return !active_ || blocks_.fresh().last_holds(from, bytes) || detail::is_own_frame(from, frames_below_);
}

template <class Home>
void basic_value<Home>::read_range(void* to, const void* from, std::size_t bytes) {
    if ((keeps_old_values_ || irrevocable_) && !Home::keeps(from)) {
        std::memcpy(to, from, bytes);
        return;
    }
    const bool whole = (reinterpret_cast<std::uintptr_t>(from) | bytes) % sizeof(word) == 0;
    const auto* const first = static_cast<const word*>(from);
    if (!whole || bytes < 2 * detail::line_bytes || is_private(from, bytes) ||
        may_hold_some(first, bytes / sizeof(word)))
        return detail::read_range(*this, to, from, bytes);
    // Who has stored makes the counter odd in any case. Earlier, a large run need not be kept.
    if (Home::stores_early && loads_ == loads::own && bytes / sizeof(word) >= large_write_set && !Home::keeps(from) &&
        store_home_at_once()) {
        std::memcpy(to, from, bytes);
        return;
    }
    read_words(to, first, bytes / sizeof(word));
}
template <class Home>
void basic_value<Home>::write_range(void* to, const void* from, std::size_t bytes) {
    if (active_ && blocks_.fresh().last_holds(to, bytes) && Home::keeps(to)) return Home::store_range(to, from, bytes);
    detail::write_range(*this, to, from, bytes);
}
template <class Home>
void basic_value<Home>::copy_range(void* to, const void* from, std::size_t bytes) {
    detail::copy_range(*this, to, from, bytes);
}
template <class Home>
void basic_value<Home>::fill_range(void* to, int byte, std::size_t bytes) {
    detail::fill_range(*this, to, byte, bytes);
}

}  // namespace holdfast::stm
