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
    struct words_at_home {
        std::uint64_t load(const pool_word* at) { return look(reinterpret_cast<const stm::word*>(at)).value; }
        void store(pool_word* at, std::uint64_t value, std::uint8_t mask) {
            home::store(reinterpret_cast<stm::word*>(at), value, mask);
        }
    } words;
    store_bytes(words, to, from, bytes);
}

bool home::mend(const stm::word* at) noexcept {
    ecc::coded_word* const place = place_of(at);
    const ecc::coded_word found = load(place);
    const ecc::repair_result repaired = ecc::repair(found);
    if (repaired) {
        // Without a record: what a cut leaves of this store is found again, with no more bits flipped than now.
        persist::store_pair(&place->word, repaired.right.word, repaired.right.code, persist::site::dnv_mended);
        if (repaired.flips() != 0) {
            the_space.mended_words.fetch_add(1, std::memory_order_relaxed);
            the_space.mended_bits.fetch_add(repaired.flips(), std::memory_order_relaxed);
        }
        return true;
    }
    attempt& mine = this_attempt();
    mine.is_damaged = true;
    mine.found = {.address = at, .word = found.word, .code = found.code};
    if (const auto in = the_space.chunks.find(at)) {
        const std::size_t bytes = block_bytes(in->which.of_class);
        const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(at) - in->which.begin;
        mine.found.block = reinterpret_cast<const void*>(in->which.begin + offset / bytes * bytes);
        mine.found.block_bytes = bytes;
    }
    return false;
}

void home::refuse_store(const void* at) noexcept { end_for_touch(at, "a store outside of blocks", nullptr); }

}  // namespace holdfast::dnv
