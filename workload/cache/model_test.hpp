// The rules of the cache again, in standard containers and without a thought for speed.
#pragma once

#include <workload/cache/commands_test.hpp>

namespace holdfast::workload::test {

class cache_model {
public:
    explicit cache_model(const cache_settings& settings) : settings_(settings), parts_(settings.partitions) {
        for (std::uint64_t i = 0; i < parts_.size(); ++i) parts_[i].unique = i;
    }

    cache_outcome run(const cache_command& one) {
        if (one.verb == cache_verb::flush) return flush(one);
        if (!is_good_key(one.key)) return {cache_answer::bad_key};
        if (one.text.size() > settings_.value_bytes_max) return {cache_answer::too_large};
        part& here = parts_[cache_key(one.key.data(), one.key.size()).hash() % parts_.size()];
        const auto at = find(here, one);
        const bool is_there = at != here.items.end();
        switch (one.verb) {
            case cache_verb::get: return get(here, at, one);
            case cache_verb::set: return put(here, at, one, one.text, nullptr);
            case cache_verb::add:
                if (is_there) use(here, at, one.now_s);
                return is_there ? cache_outcome{cache_answer::not_stored} : put(here, at, one, one.text, nullptr);
            case cache_verb::replace:
                return is_there ? put(here, at, one, one.text, nullptr) : cache_outcome{cache_answer::not_stored};
            case cache_verb::append:
                if (!is_there) return {cache_answer::not_stored};
                return put(here, at, one, at->text + one.text, &*at);
            case cache_verb::prepend:
                if (!is_there) return {cache_answer::not_stored};
                return put(here, at, one, one.text + at->text, &*at);
            case cache_verb::cas: return cas(here, at, one);
            case cache_verb::increment:
            case cache_verb::decrement: return calculate(here, at, one);
            case cache_verb::remove:
                ++(is_there ? counts_.deletes : counts_.delete_misses);
                if (is_there) erase(here, at);
                return {is_there ? cache_answer::deleted : cache_answer::not_found};
            case cache_verb::touch: return touch(here, at, one);
            case cache_verb::flush: break;
        }
        return {};
    }

    const cache_statistics& statistics() const { return counts_; }
    std::vector<model_item> items_in(std::uint64_t i) const { return {parts_[i].items.begin(), parts_[i].items.end()}; }
    /// A new process remembers no unique for cas.
    void forget() { last_unique_ = 0; }

private:
    struct part {
        std::list<model_item> items{};
        std::uint64_t unique = 0;
        std::uint64_t flushed_through = 0;
        std::uint64_t flush_at = 0;
        std::uint64_t bytes = 0;
    };
    using place = std::list<model_item>::iterator;

    static std::uint64_t bytes_of(const std::string& key, const std::string& text) {
        return 72 + (key.size() + 7) / 8 * 8 + (text.size() + 7) / 8 * 8;
    }
    static bool is_good_key(const std::string& key) {
        return !key.empty() && key.size() <= 250 && std::all_of(key.begin(), key.end(), [](char each) {
            const auto code = static_cast<unsigned char>(each);
            return code > 32 && code != 127;
        });
    }
    static std::uint64_t expiry(std::int64_t lifetime_s, std::uint64_t now_s) {
        if (lifetime_s == 0) return ~std::uint64_t{0};
        if (lifetime_s < 0) return 0;
        return static_cast<std::uint64_t>(lifetime_s) + (lifetime_s <= 2'592'000 ? now_s : 0);
    }

    void erase(part& here, place at) {
        counts_.items -= 1;
        counts_.bytes -= bytes_of(at->key, at->text);
        here.bytes -= bytes_of(at->key, at->text);
        here.items.erase(at);
    }
    static void front(part& here, place at, std::uint64_t now_s) {
        at->moved_at = now_s;
        here.items.splice(here.items.begin(), here.items, at);
    }
    void use(part& here, place at, std::uint64_t now_s) {
        if (now_s >= at->moved_at + settings_.move_after_s) front(here, at, now_s);
    }
    std::uint64_t* why_gone(const part& here, const model_item& one, std::uint64_t now_s) {
        if (one.unique <= here.flushed_through) return &counts_.flushed;
        return one.expires_at <= now_s ? &counts_.expired : nullptr;
    }
    static void flush_if_due(part& here, std::uint64_t now_s) {
        if (here.flush_at == 0 || here.flush_at > now_s) return;
        here.flushed_through = here.unique;
        here.flush_at = 0;
    }

    place find(part& here, const cache_command& one) {
        flush_if_due(here, one.now_s);
        const place at = std::find_if(here.items.begin(), here.items.end(),
                                      [&](const model_item& each) { return each.key == one.key; });
        if (at == here.items.end()) return at;
        std::uint64_t* const why = why_gone(here, *at, one.now_s);
        if (why == nullptr) return at;
        ++*why;
        erase(here, at);
        return here.items.end();
    }

    cache_outcome get(part& here, place at, const cache_command& one) {
        const bool is_there = at != here.items.end();
        if (settings_.counts_gets) ++(is_there ? counts_.get_hits : counts_.get_misses);
        if (!is_there) return {cache_answer::not_found};
        use(here, at, one.now_s);
        last_unique_ = at->unique;
        return {cache_answer::found, at->text, at->flags, at->unique, 0};
    }

    bool store(part& here, place at, const cache_command& one, const std::string& text, const model_item* label) {
        const bool is_there = at != here.items.end();
        const std::uint64_t bytes = bytes_of(one.key, text), limit = settings_.limit_bytes / parts_.size();
        if (text.size() > settings_.value_bytes_max || bytes > limit) return false;
        model_item made{one.key, text, one.flags, 0, expiry(one.lifetime_s, one.now_s), one.now_s};
        if (label != nullptr) made.flags = label->flags, made.expires_at = label->expires_at;
        const std::uint64_t before = is_there ? bytes_of(at->key, at->text) : 0;
        if (is_there) front(here, at, one.now_s);
        while (bytes > before && here.bytes - before + bytes > limit) {
            std::uint64_t* const why = why_gone(here, here.items.back(), one.now_s);
            ++(why != nullptr ? *why : counts_.evictions);
            erase(here, std::prev(here.items.end()));
        }
        if (is_there)
            erase(here, at);
        else
            ++counts_.created;
        made.unique = here.unique += parts_.size();
        here.items.push_front(made);
        here.bytes += bytes;
        counts_.bytes += bytes;
        ++counts_.items;
        return true;
    }
    cache_outcome put(part& here, place at, const cache_command& one, const std::string& text,
                      const model_item* label) {
        if (!store(here, at, one, text, label)) return {cache_answer::too_large};
        ++counts_.stores;
        return {cache_answer::stored};
    }

    cache_outcome cas(part& here, place at, const cache_command& one) {
        if (at == here.items.end()) {
            ++counts_.cas_misses;
            return {cache_answer::not_found};
        }
        if (at->unique != last_unique_) {
            ++counts_.cas_refusals;
            return {cache_answer::exists};
        }
        const cache_outcome said = put(here, at, one, one.text, nullptr);
        if (said.answer == cache_answer::stored) ++counts_.cas_hits;
        return said;
    }

    cache_outcome calculate(part& here, place at, const cache_command& one) {
        const bool down = one.verb == cache_verb::decrement;
        if (at == here.items.end()) {
            ++(down ? counts_.decrement_misses : counts_.increment_misses);
            return {cache_answer::not_found};
        }
        const std::string& text = at->text;
        if (text.empty() || text.size() > 20 || text.find_first_not_of("0123456789") != std::string::npos ||
            (text.size() == 20 && text > "18446744073709551615"))
            return {cache_answer::not_a_number};
        std::uint64_t number = std::stoull(text);
        number = !down ? number + one.number : number - std::min(number, one.number);
        const model_item label = *at;
        if (!store(here, at, one, std::to_string(number), &label)) return {cache_answer::too_large};
        ++(down ? counts_.decrements : counts_.increments);
        return {cache_answer::stored, {}, 0, 0, number};
    }

    cache_outcome touch(part& here, place at, const cache_command& one) {
        const bool is_there = at != here.items.end();
        ++(is_there ? counts_.touches : counts_.touch_misses);
        if (!is_there) return {cache_answer::not_found};
        at->expires_at = expiry(one.lifetime_s, one.now_s);
        use(here, at, one.now_s);
        return {cache_answer::touched};
    }

    cache_outcome flush(const cache_command& one) {
        const std::uint64_t at_s = one.lifetime_s == 0 ? one.now_s : expiry(one.lifetime_s, one.now_s);
        for (part& each : parts_) {
            flush_if_due(each, one.now_s);
            if (at_s <= one.now_s) each.flushed_through = each.unique;
            each.flush_at = at_s <= one.now_s ? 0 : at_s;
        }
        ++counts_.flushes;
        return {cache_answer::stored};
    }

    cache_settings settings_;
    std::vector<part> parts_;
    cache_statistics counts_{};
    std::uint64_t last_unique_ = 0;
};

/// What differs between a cache and the model, or an empty text. Requires: as items_in.
template <access Access>
std::string difference(const Access& memory, const cache<Access>& all, const cache_model& model) {
    if (const check_report found = cache_check<Access>(memory, all).run(); !found.ok()) return found.problem;
    for (std::uint64_t i = 0; i < all.partitions(); ++i)
        if (items_in(memory, all, i) != model.items_in(i)) return "other items, or in another order";
    cache_statistics counts{};
    if (!all.statistics(counts)) return "no statistics";
    if (std::memcmp(&counts, &model.statistics(), sizeof counts) != 0) {
        const auto* const found = reinterpret_cast<const std::uint64_t*>(&counts);
        const auto* const expected = reinterpret_cast<const std::uint64_t*>(&model.statistics());
        for (std::uint64_t i = 0; i < cache_statistics_words; ++i)
            if (found[i] != expected[i])
                return "count " + std::to_string(i) + " is " + std::to_string(found[i]) + ", expected " +
                       std::to_string(expected[i]);
    }
    return {};
}

}  // namespace holdfast::workload::test
