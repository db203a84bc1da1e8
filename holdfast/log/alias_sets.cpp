// The alias table of Giles, Doshi and Varman, "Continuous Checkpointing of HTM Transactions in NVM", section 4.1: a
// table of sets; an entry is a word, its value and the number of the commit that stored it. An entry whose number is
// retired is as good as none: the home has the same. So nothing is evicted, and nobody removes entries.
//
//   1. Before a commit draws its number it takes a place for each word that it stores: the word's own entry, or one
//      that may be taken over. It holds its isolation's locks, so that nobody else takes a place for these words.
//      a. The word's own entry is PINNED: nobody takes it over. Its value counts as before.
//      b. Another entry is pinned first, and looked at then: its number might have changed before. Where it is retired
//         (read anew at each attempt), the entry becomes CLAIMED for the new word. It has no value yet, and neither
//         word is found there: both are home.
//      Where no entry can be had, the commit gives back what it has taken, releases its locks, waits until one is
//      retired and begins again. It has no number, so that it holds nobody back; who helps to retire is its own matter.
//   2. Behind the last validation: value, number, and then the key without flags, which shows them.
//   3. A look finds the key, and then number and value; key and number must be the same afterwards. Where no entry has
//      the word, its home is looked at: what was taken over was home before.
//
// Invariants
//   * A word has one entry at most.
//   * An entry is taken over only while it is pinned, with a number that is retired.
//   * The value of a word is its entry's, else the home's.
//   * An owner waits for a pin of another only within step 1b, in which nobody waits.
#include <holdfast/log/alias_sets.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/log/planted.hpp>

#include <bit>
#include <new>
#include <thread>

namespace holdfast {

alias_sets::alias_sets(const std::byte* pool, std::uint64_t bytes, std::uint32_t ways)
    : pool_(pool),
      ways_(ways),
      mask_(std::bit_floor(bytes / bytes_of_set(ways)) - 1),
      // Zeros that take no memory until they are stored to.
      memory_(std::calloc((mask_ + 1) * ways + 2, entry_bytes)),
      entries_(static_cast<entry*>(memory_.get())) {
    HOLDFAST_ASSERT_ALWAYS(ways > 0 && bytes >= bytes_of_set(ways), "an alias table has room for a set");
    if (memory_ == nullptr) throw std::bad_alloc();
    constexpr std::uintptr_t line_bytes = 64;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.get());
    entries_ = reinterpret_cast<entry*>((begin + line_bytes - 1) / line_bytes * line_bytes);
}

/// Step 1a. None: it has no entry.
alias_sets::place alias_sets::take_own(std::uint64_t word) noexcept {
    place own;
    entry* const end = begin_of(word) + ways_;
    for (entry* each = begin_of(word); each != end;) {
        std::uint64_t key = number(each->key).load(std::memory_order_acquire);
        if ((key & ~pinned) != word + 1) {
            ++each;
        } else if ((key & pinned) != 0) {
            // Another one is about to see whether it may be taken over.
            std::this_thread::yield();
        } else if (number(each->key).compare_exchange_strong(key, key | pinned, std::memory_order_acq_rel)) {
            own.at = each;
            return own;
        }
    }
    return own;
}

/// Step 1b.
bool alias_sets::take_over(entry& each, std::uint64_t word, std::uint64_t retired) noexcept {
    std::uint64_t key = number(each.key).load(std::memory_order_relaxed);
    const auto is_retired = [&] { return key == 0 || number(each.stamp).load(std::memory_order_acquire) <= retired; };
    if ((key & (pinned | claimed)) != 0 || (!is_retired() && !is_planted(planted::entry_taken_early))) return false;
    if (!number(each.key).compare_exchange_strong(key, key | pinned, std::memory_order_acq_rel)) return false;
    if (!is_retired() && !is_planted(planted::entry_taken_early)) {
        number(each.key).store(key, std::memory_order_release);
        return false;
    }
    HOLDFAST_ASSERT(number(each.key).load(std::memory_order_relaxed) == (key | pinned),
                    "an entry is taken over only while it is pinned");
    number(each.key).store((word + 1) | claimed, std::memory_order_release);
    return true;
}

alias_sets::place alias_sets::take(std::uint64_t word, std::uint64_t retired) noexcept {
    place found = take_own(word);
    entry* const begin = begin_of(word);
    for (entry* each = begin; !found && each != begin + ways_; ++each)
        if (take_over(*each, word, retired)) found.at = each;
    HOLDFAST_ASSERT(entries_of(word) == (found ? 1 : 0), "a word has one entry at most, which its owner has taken");
    return found;
}

std::uint64_t alias_sets::entries_of(std::uint64_t word) const noexcept {
    const entry* const begin = begin_of(word);
    std::uint64_t count = 0;
    for (const entry* each = begin; each != begin + ways_; ++each)
        if ((number(each->key).load(std::memory_order_relaxed) & ~(pinned | claimed)) == word + 1) ++count;
    return count;
}

void alias_sets::put(place taken, std::uint64_t value, std::uint64_t stamp) noexcept {
    entry& own = *taken.at;
    const std::uint64_t key = number(own.key).load(std::memory_order_relaxed);
    HOLDFAST_ASSERT((key & (pinned | claimed)) != 0, "a value comes to a place that was taken");
    // Release: who sees the value sees that the entry was claimed before.
    number(own.value).store(value, std::memory_order_release);
    number(own.stamp).store(stamp, std::memory_order_release);
    number(own.key).store(key & ~(pinned | claimed), std::memory_order_release);
}

void alias_sets::give_back(place taken) noexcept {
    entry& own = *taken.at;
    const std::uint64_t key = number(own.key).load(std::memory_order_relaxed);
    number(own.key).store((key & claimed) != 0 ? 0 : key & ~pinned, std::memory_order_release);
}

void alias_sets::drop(std::uint64_t word) noexcept {
    const place own = take_own(word);
    if (own) number(own.at->key).store(0, std::memory_order_release);
}

std::uint64_t alias_sets::next_to_retire_beside(std::uint64_t word, std::uint64_t retired) const noexcept {
    const entry* const begin = begin_of(word);
    std::uint64_t next = 0;
    for (const entry* each = begin; each != begin + ways_; ++each) {
        const std::uint64_t stamp = number(each->stamp).load(std::memory_order_acquire);
        if (stamp > retired && (next == 0 || stamp < next)) next = stamp;
    }
    return next;
}

}  // namespace holdfast
