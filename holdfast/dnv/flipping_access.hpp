// An Access of dnv pools that flips bits of words right before it loads them, for measurements and tests of programs:
// what they do must be what they do without flips, and each flip must be repaired.
//
//   1. A thread counts the words that it loads. When it is time for a flip, the next word is chosen that has a code.
//   2. From 1 to 6 bits of word and code are flipped by one instruction: no store of another thread is lost.
//   3. The word is loaded. A transaction that has stored to it loads its own value, and the word is still as flipped:
//      then it is as it was again, and the next word is chosen.
// So with one thread as many words are repaired as were flipped; with several, not more: another one may store to the
// word first.
#pragma once

#include <holdfast/dnv/access.hpp>
#include <holdfast/dnv/placement.hpp>
#include <holdfast/ecc/word_code.hpp>
#include <holdfast/persist/replace_pair.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/stm/home.hpp>

#include <workload/random.hpp>

#include <atomic>
#include <bit>
#include <cstdint>

namespace holdfast::dnv {

/// Of all threads. Thread-safe.
struct flipping {
    static constexpr unsigned most_bits = 6;

    std::atomic<std::uint64_t> words_between{0};  ///< that a thread loads between two flips; 0: it flips none
    std::atomic<std::uint64_t> flipped_words{0};
};
inline constinit flipping flipping_now;

/// What a thread flips.
class flipper {
public:
    /// Before a load. Returns whether a word was flipped.
    bool step(const void* home) noexcept { return --left_ == 0 && flip(home); }

    /// After the load of a flipped word. (Not if the transaction was taken back in it: the word stays as it is.)
    [[gnu::noinline]] void settle() noexcept {
        if (!replace(flipped_, before_)) return;
        flipping_now.flipped_words.fetch_sub(1, std::memory_order_relaxed);
        left_ = 1;
    }

private:
    static constexpr std::uint64_t loads_until_asked_again = 256;

    [[gnu::noinline]] bool flip(const void* home) noexcept {
        if (flipping_now.words_between.load(std::memory_order_relaxed) == 0)
            return left_ = loads_until_asked_again, false;
        left_ = 1;
        const auto address = reinterpret_cast<std::uintptr_t>(home) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
        const auto [place, has_code] = the_placement.find(reinterpret_cast<const void*>(address));
        if (!has_code) return false;
        place_ = place;
        before_ = {stm::detail::load_home(&place->word), stm::detail::load_home(&place->code)};
        if (!ecc::is_valid(before_)) return false;
        const ecc::coded_word bits = draw_bits();
        flipped_ = {before_.word ^ bits.word, before_.code ^ bits.code};
        if (!replace(before_, flipped_)) return false;
        flipping_now.flipped_words.fetch_add(1, std::memory_order_relaxed);
        left_ = flipping_now.words_between.load(std::memory_order_relaxed);
        return true;
    }
    bool replace(const ecc::coded_word& from, const ecc::coded_word& to) noexcept {
        return persist::replace_pair(&place_->word, {from.word, from.code}, {to.word, to.code},
                                     persist::site::measure);
    }
    ecc::coded_word draw_bits() noexcept {
        ecc::coded_word drawn{};
        for (auto more = 1 + random_.below(flipping::most_bits); more > 0;) {
            const std::uint64_t bit = random_.below(128);
            std::uint64_t& half = bit < 64 ? drawn.word : drawn.code;
            const std::uint64_t mask = std::uint64_t{1} << bit % 64;
            if ((half & mask) != 0) continue;
            half |= mask;
            --more;
        }
        return drawn;
    }

    std::uint64_t left_ = 1;  ///< words until something is to be done
    ecc::coded_word* place_ = nullptr;
    ecc::coded_word before_{};
    ecc::coded_word flipped_{};
    workload::random random_{7};
};
inline constinit thread_local flipper flipper_of_this_thread;

/// Calls that no transaction takes back.
HOLDFAST_DNV_PURE [[gnu::noinline]] inline bool flip_before_load(const void* home) noexcept {
    return flipper_of_this_thread.step(home);
}
HOLDFAST_DNV_PURE [[gnu::noinline]] inline void settle_flip() noexcept { flipper_of_this_thread.settle(); }

/// As dnv_access.
class flipping_access : public dnv_access {
public:
    template <class T>
    T load(const T* home) const {
        const bool is_flipped = flip_before_load(home);
        const T value = dnv_access::load(home);
        if (is_flipped) settle_flip();
        return value;
    }
};

}  // namespace holdfast::dnv
