// What stm/ asks of the words of a dnv pool (stm/home.hpp): where they are, their codes, and the log of a commit.
//
// Reliable transactions
//   1. A load of a word computes its code and compares it with the one beside it.
//   2. Where they differ and no commit was in between, bits were flipped: `mend` corrects them, alone (mend.cpp).
//   3. A store is of a whole word: what is left of it was read, and compared, before. Its code is made when its home is
//      stored, and both are stored by one instruction where the processor has it.
// Source: DNV Memory, section 3.2.
#pragma once

#include <holdfast/dnv/commit_log.hpp>
#include <holdfast/dnv/placement.hpp>
#include <holdfast/dnv/planted.hpp>
#include <holdfast/dnv/sites.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/stm/home.hpp>

#include <span>

namespace holdfast::dnv {

/// A home of stm/. Words outside the window are ordinary memory.
struct home {
    static constexpr bool keeps_words = true;
    static constexpr bool stores_early = true;
    static constexpr bool counts_attempts = true;
    static constexpr bool numbers_commits = false;
    static constexpr bool privatises = true;
    struct found {
        stm::word value;
        bool sound;
    };

    [[gnu::always_inline]] static bool keeps(const void* at) noexcept { return the_placement.holds(at); }

    [[gnu::always_inline]] static found look(const stm::word* at) noexcept { return look_by<&ecc::is_valid>(at); }
    /// Without a call on any path: the barrier saves no register.
    [[gnu::always_inline]] static found peek(const stm::word* at) noexcept {
        return look_by<&ecc::is_valid_at_first_sight>(at);
    }
    static bool look_at_many(const stm::word* first, std::size_t count, void* to) noexcept;

    [[gnu::always_inline]] static void store(stm::word* at, stm::word value, std::uint8_t mask) noexcept {
        const auto [place, has_code] = the_placement.find(at);
        if (place == nullptr) return stm::detail::store_home(at, value, mask);
        if (mask != 0xFF) value = merged(word_of_fresh(at), value, mask);
        if (has_code && !is_planted(planted::code_not_stored)) {
            persist::store_pair(&place->word, value, ecc::encode(value), persist::site::dnv_home);
        } else {
            persist::store_word(&place->word, value, 0xFF, persist::site::dnv_home);
        }
    }
    static void store_fresh(stm::word* at, stm::word value, std::uint8_t mask) noexcept {
        count_stored(at, 1);
        store(at, value, mask);
    }
    /// Stores to a block of the open transaction, of any size and alignment.
    static void store_range(void* to, const void* from, std::size_t bytes) noexcept;

    [[noreturn]] static void refuse_store(const void* at) noexcept;
    static bool mend(const stm::word* at) noexcept;
    [[noreturn]] static void end_for_damage() noexcept;
    static stm::word mend_fresh(const stm::word* at) noexcept;

    static bool draw_number(const stm::write_log&) noexcept { return true; }
    static bool prepare(const stm::write_log& writes) noexcept { return prepare_commit(writes); }
    static void log() noexcept { log_commit(); }
    static void retire() noexcept { retire_commit(); }
    static void settle() noexcept { settle_commit(); }

    static bool between_attempts() noexcept;
    /// Returns when every transaction that is open now has ended. Requires: none of this thread is.
    static void wait_for_others() noexcept;
    /// Stores words again as they are, in a transaction, so that the log has them. What nothing corrects is left as it
    /// is, and nobody is asked. Returns whether they are durable: not where the log fails, or a transaction of this
    /// thread is open.
    static bool rewrite(std::span<const stm::word* const> words) noexcept;

private:
    static void count_stored(const void* first, std::size_t words) noexcept {
        const auto [place, has_code] = the_placement.find(first);
        if (place != nullptr) stored_bytes_of_this_thread += words * (has_code ? sizeof *place : sizeof place->word);
    }
    static stm::word word_of_fresh(const stm::word* at) noexcept {
        const found there = look(at);
        return there.sound ? there.value : mend_fresh(at);
    }
    template <bool (*IsValid)(ecc::coded_word) noexcept>
    [[gnu::always_inline]] static found look_by(const stm::word* at) noexcept {
        const auto checked = [](const ecc::coded_word& both) { return found{both.word, IsValid(both)}; };
        // A load of a word of the heap is asked one question, or two.
        if (the_placement.coded_heap_holds(at)) [[likely]]
            return checked(load(placement::doubled(at)));
        if (the_placement.heap_holds(at)) [[likely]]
            return {stm::detail::load_home(&the_placement.uncoded(at)->word), true};
        const auto [place, has_code] = the_placement.find(at);
        if (has_code) return checked(load(place));
        return {stm::detail::load_home(place != nullptr ? &place->word : at), true};
    }
    [[gnu::always_inline]] static ecc::coded_word load(const ecc::coded_word* place) noexcept {
        return {stm::detail::load_home(&place->word), stm::detail::load_home(&place->code)};
    }
};

}  // namespace holdfast::dnv
