// What a home does with a word whose bits were flipped, and with memory in ranges.
#include <holdfast/dnv/home.hpp>

#include <holdfast/dnv/attempt.hpp>
#include <holdfast/dnv/misuse.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/ecc/repair.hpp>

#include <cstring>

namespace holdfast::dnv {

bool home::look_at_many(const stm::word* first, std::size_t count, void* to) noexcept {
    if (!keeps(first)) {
        stm::detail::load_homes(first, count, to);
        return true;
    }
    if (the_placement.expansion == 1) {
        stm::detail::load_homes(&place_of(first)->word, count, to);
        return true;
    }
    auto* out = static_cast<unsigned char*>(to);
    bool sound = true;
    for (std::size_t i = 0; i < count; ++i) {
        const found each = look(first + i);
        sound &= each.sound;
        std::memcpy(out + i * sizeof each.value, &each.value, sizeof each.value);
    }
    return sound;
}

void home::store_range(void* to, const void* from, std::size_t bytes) noexcept {
    count_stored(to, (bytes + sizeof(stm::word) - 1) / sizeof(stm::word));
    const bool is_whole = (reinterpret_cast<std::uintptr_t>(to) | bytes) % sizeof(stm::word) == 0;
    if (is_whole && the_placement.coded_heap_holds(to)) [[likely]] {
        // Whole words: nothing is read, and nothing asked of each.
        ecc::coded_word* place = place_of(to);
        const auto* in = static_cast<const unsigned char*>(from);
        for (std::size_t at = 0; at < bytes; at += sizeof(stm::word), ++place) {
            stm::word value;
            std::memcpy(&value, in + at, sizeof value);
            persist::store_pair(&place->word, value, ecc::encode(value), persist::site::dnv_home);
        }
        return;
    }
    if (is_whole && the_placement.expansion == 1 && keeps(to)) {
        stm::word* place = &place_of(to)->word;
        const auto* in = static_cast<const unsigned char*>(from);
        for (std::size_t at = 0; at < bytes; at += sizeof(stm::word), ++place) {
            stm::word value;
            std::memcpy(&value, in + at, sizeof value);
            persist::store_word(place, value, 0xFF, persist::site::dnv_home);
        }
        return;
    }
    struct words_at_home {
        std::uint64_t load(const pool_word* at) { return word_of_fresh(reinterpret_cast<const stm::word*>(at)); }
        void store(pool_word* at, std::uint64_t value, std::uint8_t mask) {
            home::store(reinterpret_cast<stm::word*>(at), value, mask);
        }
    } words;
    store_bytes(words, to, from, bytes);
}

namespace {

/// Whether the word can be corrected, and is now.
bool correct(const stm::word* at, const ecc::coded_word& found) noexcept {
    ecc::coded_word* const place = place_of(at);
    const ecc::repair_result repaired = ecc::repair(found);
    if (!repaired) return false;
    if (is_planted(planted::mended_code_first))
        persist::store_word(&place->code, ecc::encode(found.word), 0xFF, persist::site::dnv_mended);
    // Without a record: what a cut leaves of this store is found again, with no more bits flipped than now.
    persist::store_pair(&place->word, repaired.right.word, repaired.right.code, persist::site::dnv_mended);
    if (repaired.flips() != 0) {
        the_space.mended_words.fetch_add(1, std::memory_order_relaxed);
        the_space.mended_bits.fetch_add(repaired.flips(), std::memory_order_relaxed);
        the_space.corrected.note(at);
    }
    return true;
}

}  // namespace

stm::word home::mend_fresh(const stm::word* at) noexcept {
    correct(at, load(place_of(at)));
    return load(place_of(at)).word;
}

bool home::mend(const stm::word* at) noexcept {
    const ecc::coded_word found = load(place_of(at));
    if (correct(at, found)) return true;
    attempt& mine = this_attempt();
    mine.is_damaged = true;
    mine.found = {.address = at, .word = found.word, .code = found.code, .is_of_heap = mine.is_in_heap};
    if (const auto in = the_space.chunks.find(at); in && in->holds_in_block(at)) {
        mine.found.block = reinterpret_cast<const void*>(in->block_of(at));
        mine.found.block_bytes = block_bytes(in->which.of_class);
    }
    return false;
}

void home::refuse_store(const void* at) noexcept { end_for_touch(at, "a store outside of blocks"); }

}  // namespace holdfast::dnv
