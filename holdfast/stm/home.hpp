// Where the words of a transaction are. An algorithm is written once; a home says how a word is looked at and stored,
// and what a commit does besides.
#pragma once

#include <holdfast/stm/algorithm.hpp>

namespace holdfast::stm {

class write_log;

/// Ordinary memory: a word is where its address says, whatever is there is right, and nothing outlives the process.
///
/// What an algorithm asks of a home:
///   look(home)                {value, sound}. Not sound: bits were flipped, or somebody stores there just now
///   peek(home)                the same in the fewest instructions. Not sound may also mean that only `look` knows
///   look_at_many(first, count, to)   the same for words that follow each other; returns whether all are sound
///   store(home, value, mask)  at the commit; the mask of a word that it keeps is 0xFF then
///   keeps(home)               the word outlives the process: it is stored to whole, and only by a commit, also where
///                             the transaction is irrevocable
///   refuse_store(home)        a store to a word that it keeps, outside of transactions. Ends the program
///   mend(home)                corrects flipped bits. Requires: nobody else looks or stores. False: it cannot; the
///                             attempt is over
///   end_for_damage()          behind a mend that failed, where the transaction can neither go on nor be rolled back:
///                             lists the word, and ends the program
///   mend_fresh(home)          the same in a block of the open transaction; returns the word
///   prepare(writes), log(), retire()   in this order at a commit, which nothing but prepare can still end: all that
///                             can fail (false: it did, and the attempt is over); what must be there before words are
///                             stored; what follows when they are
///   privatises                whether code outside of transactions may store to what a transaction took out of reach,
///                             or memory go that transactions load from
///   numbers_commits           whether commits with stores have numbers. Then commit() leaves the write set as it is,
///                             for the caller, who calls conclude() when he has read it
///   draw_number(writes)       with the locks of the commit held, and before what was read is validated for the last
///                             time: two commits of which one reads or stores what the other stores have their numbers
///                             in the order of their effects. False: there is none to be had, and the attempt is over
///   settle()                  behind all that, with the transaction over and nothing held: waits until the commit is
///                             durable
///   store_fresh(home, value, mask)   stores at once: to a block of the open transaction, or where it is irrevocable to
///                             what the home does not keep
///   store_range(to, from, bytes)   the same for a block that it keeps, in whatever bytes
///   between_attempts()        optional: what happens between two attempts, with nothing open. False: there is no
///                             other attempt, and the transaction is left as if it had been cancelled
///   keeps_words               whether there are words that it keeps
///   stores_early              whether a large transaction may store before its commit what the home does not keep
///   counts_attempts           whether attempts have numbers
struct plain_home {
    static constexpr bool keeps_words = false;
    static constexpr bool stores_early = true;
    static constexpr bool counts_attempts = false;
    static constexpr bool numbers_commits = false;
    static constexpr bool privatises = true;
    struct found {
        word value;
        static constexpr bool sound = true;
    };

    static found look(const word* home) noexcept { return {detail::load_home(home)}; }
    static found peek(const word* home) noexcept { return look(home); }
    static bool look_at_many(const word* first, std::size_t count, void* to) noexcept {
        detail::load_homes(first, count, to);
        return true;
    }
    static void store(word* home, word value, std::uint8_t mask) noexcept { detail::store_home(home, value, mask); }
    static void store_fresh(word* home, word value, std::uint8_t mask) noexcept { store(home, value, mask); }
    static constexpr bool keeps(const void*) noexcept { return false; }
    static void refuse_store(const void*) noexcept {}
    static bool mend(const word*) noexcept { return true; }
    static void end_for_damage() noexcept {}
    static word mend_fresh(const word* home) noexcept { return look(home).value; }
    static bool draw_number(const write_log&) noexcept { return true; }
    static bool prepare(const write_log&) noexcept { return true; }
    static void log() noexcept {}
    static void retire() noexcept {}
    static void settle() noexcept {}
    static void store_range(void*, const void*, std::size_t) noexcept {}
};

}  // namespace holdfast::stm
