// Commands of a cache as data, drawn at random, and what runs them: the cache, and a model in standard containers.
#pragma once

#include <workload/cache/cache.hpp>
#include <workload/cache/check.hpp>

#include <algorithm>
#include <cstring>
#include <list>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::workload::test {

enum class cache_verb { get, set, add, replace, append, prepend, cas, increment, decrement, remove, touch, flush };
inline constexpr const char* verb_names[] = {"get", "set", "add", "replace", "append", "prepend", "cas", "increment",
                                             "decrement", "remove", "touch", "flush"};

struct cache_command {
    cache_verb verb = cache_verb::get;
    std::string key{};
    std::string text{};
    std::uint32_t flags = 0;
    std::int64_t lifetime_s = 0;  ///< of flush: the delay
    std::uint64_t number = 0;     ///< added, subtracted
    std::uint64_t now_s = 0;
};

inline std::ostream& operator<<(std::ostream& to, const cache_command& one) {
    return to << verb_names[static_cast<int>(one.verb)] << " \"" << one.key << "\" \"" << one.text << "\" flags "
              << one.flags << " lifetime " << one.lifetime_s << " number " << one.number << " now " << one.now_s;
}

struct cache_outcome {
    cache_answer answer = cache_answer::failed;
    std::string text{};
    std::uint32_t flags = 0;
    std::uint64_t unique = 0;
    std::uint64_t number = 0;
    bool operator==(const cache_outcome&) const = default;
};

inline std::ostream& operator<<(std::ostream& to, const cache_outcome& one) {
    return to << "answer " << static_cast<int>(one.answer) << " \"" << one.text << "\" flags " << one.flags
              << " unique " << one.unique << " number " << one.number;
}

inline constexpr std::uint64_t begin_s = 50 * 24 * 60 * 60;  ///< above 30 days, so that there are times in the past

/// What commands are drawn from. The same seed, number and mix draw the same command.
struct cache_mix {
    std::uint64_t keys = 60;
    std::uint64_t longest_text = 160;
    bool flushes = true;
    bool lifetimes = true;
    std::string prefix{};
};

inline std::string drawn_key(std::uint64_t i, const std::string& prefix) {
    std::string key = prefix + "key" + std::to_string(i);
    if (i % 7 == 3) key.resize(key.size() + i % 60, 'x');
    if (i % 31 == 30) key.resize(250, 'y');
    return key;
}

inline std::string drawn_text(random& numbers, std::uint64_t longest) {
    if (numbers.below(4) == 0) return std::to_string(numbers.next() >> numbers.below(64));
    std::string text(numbers.below(longest + 1), ' ');
    for (char& each : text) each = static_cast<char>(numbers.below(256));
    return text;
}

inline std::int64_t drawn_lifetime(random& numbers, std::uint64_t now_s) {
    const auto kind = numbers.below(16);
    if (kind < 8) return 0;
    if (kind < 13) return static_cast<std::int64_t>(1 + numbers.below(60));
    if (kind == 13) return -1;
    return static_cast<std::int64_t>(now_s - 20 + numbers.below(100));
}

inline cache_command drawn_command(std::uint64_t seed, std::uint64_t number, const cache_mix& mix = {}) {
    std::uint64_t state = seed ^ number * 0x2545F4914F6CDD1Dull;
    random numbers(splitmix(state));
    static constexpr cache_verb verbs[] = {
        cache_verb::get, cache_verb::get, cache_verb::get, cache_verb::get, cache_verb::set, cache_verb::set,
        cache_verb::set, cache_verb::add, cache_verb::replace, cache_verb::append, cache_verb::prepend,
        cache_verb::cas, cache_verb::increment, cache_verb::decrement, cache_verb::remove, cache_verb::touch};
    cache_command drawn;
    drawn.now_s = begin_s + number / 8;
    drawn.verb = verbs[numbers.below(std::size(verbs))];
    if (mix.flushes && numbers.below(400) == 0) drawn.verb = cache_verb::flush;
    drawn.key = drawn_key(numbers.below(mix.keys), mix.prefix);
    if (drawn.verb >= cache_verb::set && drawn.verb <= cache_verb::cas)
        drawn.text = drawn_text(numbers, mix.longest_text);
    if (drawn.verb == cache_verb::increment || drawn.verb == cache_verb::decrement)
        drawn.number = numbers.next() >> numbers.below(64);
    drawn.flags = static_cast<std::uint32_t>(numbers.next() >> numbers.below(64));
    const std::int64_t lifetime_s = drawn_lifetime(numbers, drawn.now_s);
    drawn.lifetime_s = mix.lifetimes ? lifetime_s : 0;
    return drawn;
}

/// Runs commands on a cache. A cas names what its last get found: half of them the same key's.
template <access Access>
class cache_runner {
public:
    explicit cache_runner(cache<Access> all) : all_(all) {}

    cache_outcome run(const cache_command& one) {
        cache_outcome said;
        const cache_key key(one.key.data(), one.key.size());
        const cache_entry entry{one.text.data(), one.text.size(), one.flags, one.lifetime_s};
        switch (one.verb) {
            case cache_verb::get: return get(key, one.now_s);
            case cache_verb::set: said.answer = all_.set(key, entry, one.now_s); break;
            case cache_verb::add: said.answer = all_.add(key, entry, one.now_s); break;
            case cache_verb::replace: said.answer = all_.replace(key, entry, one.now_s); break;
            case cache_verb::append: said.answer = all_.append(key, entry, one.now_s); break;
            case cache_verb::prepend: said.answer = all_.prepend(key, entry, one.now_s); break;
            case cache_verb::cas: said.answer = all_.cas(key, entry, last_unique_, one.now_s); break;
            case cache_verb::increment: said.answer = all_.increment(key, one.number, one.now_s, said.number); break;
            case cache_verb::decrement: said.answer = all_.decrement(key, one.number, one.now_s, said.number); break;
            case cache_verb::remove: said.answer = all_.remove(key, one.now_s); break;
            case cache_verb::touch: said.answer = all_.touch(key, one.lifetime_s, one.now_s); break;
            case cache_verb::flush:
                said.answer = all_.flush_all(one.lifetime_s, one.now_s) ? cache_answer::stored : cache_answer::failed;
                break;
        }
        return said;
    }

private:
    cache_outcome get(const cache_key& key, std::uint64_t now_s) {
        cache_outcome said;
        char room[1024];
        cache_found found{room, sizeof room};
        said.answer = all_.get(key, now_s, found);
        if (said.answer != cache_answer::found) return said;
        said.text.assign(room, std::min<std::uint64_t>(found.bytes, sizeof room));
        said.flags = found.flags;
        said.unique = last_unique_ = found.unique;
        return said;
    }

    cache<Access> all_;
    std::uint64_t last_unique_ = 0;
};

/// An item as the model has it, and as it is found in a cache.
struct model_item {
    std::string key{};
    std::string text{};
    std::uint32_t flags = 0;
    std::uint64_t unique = 0;
    std::uint64_t expires_at = 0;
    std::uint64_t moved_at = 0;
    bool operator==(const model_item&) const = default;
};

inline std::ostream& operator<<(std::ostream& to, const model_item& one) {
    return to << "{" << one.key << " \"" << one.text << "\" " << one.flags << " unique " << one.unique << " expires "
              << one.expires_at << " moved " << one.moved_at << "}";
}

/// The items of a partition from the newest to the oldest. Requires: loads outside transactions, no other thread.
template <access Access>
std::vector<model_item> items_in(const Access& memory, const cache<Access>& all, std::uint64_t partition) {
    std::vector<model_item> found;
    const auto text_at = [&](const std::uint64_t* words, std::uint64_t bytes) {
        std::string text(bytes, ' ');
        for (std::uint64_t i = 0; i < bytes; ++i) {
            const std::uint64_t word = memory.load(words + i / 8);
            text[i] = static_cast<char>(word >> (8 * (i % 8)));
        }
        return text;
    };
    const auto* at = memory.load(&all.partition(partition)->newest);
    for (; at != nullptr; at = memory.load(&at->older)) {
        const std::uint64_t key_bytes = memory.load(&at->key_bytes);
        const auto* const words = reinterpret_cast<const std::uint64_t*>(at + 1);
        found.push_back({text_at(words, key_bytes), text_at(words + (key_bytes + 7) / 8, memory.load(&at->value_bytes)),
                         memory.load(&at->flags), memory.load(&at->unique), memory.load(&at->expires_at),
                         memory.load(&at->moved_at)});
    }
    return found;
}

}  // namespace holdfast::workload::test
