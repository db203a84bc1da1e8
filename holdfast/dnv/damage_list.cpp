#include <holdfast/dnv/damage_list.hpp>

#include <holdfast/dnv/home.hpp>
#include <holdfast/dnv/planted.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/ecc/repair.hpp>

#include <algorithm>
#include <mutex>

namespace holdfast::dnv {
namespace {

using kept = damages::kept;

/// The list in memory, its flipped bits corrected.
struct image {
    std::uint64_t words[kept::count] = {};
    unsigned lost = 0;

    explicit image(const damages& in_pool) {
        for (unsigned each = 0; each < kept::count; ++each) {
            const ecc::repair_result read = ecc::repair(in_pool.words[each].get());
            words[each] = read ? read.right.word : 0;
            if (!read) ++lost;
        }
    }
    static std::uint64_t entry_of(const void* word) noexcept { return reinterpret_cast<std::uint64_t>(word); }
    std::uint64_t* begin() noexcept { return words + kept::first_entry; }
    std::uint64_t* end() noexcept { return words + kept::count; }

    bool has(const void* word) noexcept { return std::find(begin(), end(), entry_of(word)) != end(); }
    /// Whether there was room for it.
    bool enter(const void* word) noexcept {
        std::uint64_t* const free = std::find(begin(), end(), 0);
        if (free == end()) return false;
        *free = entry_of(word);
        return true;
    }
    /// A word counts once among those without an entry, however often it is met.
    void add(const void* word) {
        if (!has(word) && !enter(word)) the_space.unlisted.insert(word);
        count_unlisted();
    }
    void remove(const void* word) noexcept {
        std::replace(begin(), end(), entry_of(word), std::uint64_t{0});
        if (the_space.unlisted.erase(word) != 0) forget_unlisted(1);
        count_unlisted();
    }
    /// Which words an earlier life counted is not known: those of this one are taken for some of them.
    static void forget_unlisted(std::uint64_t count) noexcept {
        the_space.unlisted_before -= std::min(count, the_space.unlisted_before);
    }
    void count_unlisted() noexcept {
        words[kept::further] = std::max<std::uint64_t>(the_space.unlisted.size(), the_space.unlisted_before);
    }
};

/// Flipped bits may have made an entry anything.
bool is_in_pool(const stm::word* word) noexcept {
    return reinterpret_cast<std::uintptr_t>(word) % sizeof *word == 0 && the_placement.holds(word) &&
           the_space.pool->size() - sizeof(ecc::coded_word) >= the_space.offset_of(word);
}

/// The fault.
result<void> store_without_record(damages& in_pool, const std::uint64_t* words) {
    for (unsigned each = 0; each < kept::count; ++each) {
        const ecc::coded_word now{words[each], ecc::encode(words[each])};
        if (in_pool.words[each].get() != now)
            persist::copy(&in_pool.words[each], &now, sizeof now, persist::site::dnv_home);
    }
    return {};
}

/// What the list is changed by is `change`. Nothing is stored where nothing differs.
template <class F>
result<void> update(engine::pool& handle, F&& change) {
    const std::lock_guard guard(the_space.listing);
    damages& in_pool = the_space.in_pool->life;
    image now(in_pool);
    const std::uint64_t mended_words = the_space.mended_words.load(std::memory_order_relaxed);
    const std::uint64_t mended_bits = the_space.mended_bits.load(std::memory_order_relaxed);
    now.words[kept::mended_words] += mended_words - the_space.recorded_words;
    now.words[kept::mended_bits] += mended_bits - the_space.recorded_bits;
    change(now);
    const auto differs = [&](unsigned each) {
        return in_pool.words[each].get() != ecc::coded_word{now.words[each], ecc::encode(now.words[each])};
    };
    bool is_same = true;
    for (unsigned each = 0; each < kept::count; ++each) is_same = is_same && !differs(each);
    if (is_same) return {};
    if (is_planted(planted::damage_entered_without_record)) return store_without_record(in_pool, now.words);
    auto stored = handle.atomically([&] {
        for (unsigned each = 0; each < kept::count; ++each)
            if (differs(each)) in_pool.words[each].set(now.words[each]);
    });
    if (stored) {
        the_space.recorded_words = mended_words;
        the_space.recorded_bits = mended_bits;
    }
    return stored;
}

}  // namespace

damage_listing read_damages(const root& in_pool) {
    image now(in_pool.life);
    damage_listing found{now.words[kept::mended_words], now.words[kept::mended_bits], {}, now.words[kept::further],
                         now.lost};
    for (const std::uint64_t each : now)
        if (each != 0) found.words.push_back(reinterpret_cast<const void*>(each));
    return found;
}

result<void> note_damage(engine::pool& handle, const void* word) {
    return update(handle, [&](image& list) { list.add(word); });
}

result<void> forget_damage(engine::pool& handle, const void* word) {
    return update(handle, [&](image& list) { list.remove(word); });
}

result<void> list_damages(engine::pool& handle, const std::vector<const void*>& words) {
    return update(handle, [&](image& list) {
        std::fill(list.begin(), list.end(), 0);
        the_space.unlisted.clear();
        the_space.unlisted_before = 0;
        for (const void* each : words) list.add(each);
        list.count_unlisted();
    });
}

result<void> review_damages(engine::pool& handle) {
    return update(handle, [](image& list) {
        for (std::uint64_t& each : list) {
            const auto* const word = reinterpret_cast<const stm::word*>(each);
            if (!is_in_pool(word) || home::look(word).sound) each = 0;
        }
        image::forget_unlisted(std::erase_if(the_space.unlisted, [&](const void* word) {
            return home::look(static_cast<const stm::word*>(word)).sound || list.enter(word);
        }));
        list.count_unlisted();
    });
}

result<void> record_mended(engine::pool& handle) {
    return update(handle, [](image&) {});
}

}  // namespace holdfast::dnv
