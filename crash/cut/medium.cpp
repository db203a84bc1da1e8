#include <crash/cut/medium.hpp>

#include <algorithm>
#include <iterator>
#include <unordered_set>

namespace holdfast::crash {
namespace {

constexpr std::uint64_t words_of_line = 8;
/// Beyond, a granule's contents are not all listed, and `complete` says so.
constexpr std::size_t versions_at_most = 1024;
constexpr std::size_t products_at_most = 8192;
constexpr std::size_t decisions_at_most = 1 << 16;

/// Adds a version unless the unit has it.
void add_version(unit& to, const std::uint64_t* words) {
    const unsigned count = to.words();
    for (std::size_t at = 0; at < to.versions.size(); at += count)
        if (std::equal(words, words + count, to.versions.data() + at)) return;
    to.versions.insert(to.versions.end(), words, words + count);
}

void add_if_uncertain(std::vector<unit>& units, unit&& made) {
    if (made.count() > 1) units.push_back(std::move(made));
}

}  // namespace

medium::medium(const model& how, const std::vector<std::uint64_t>& durable)
    : how_(how), durable_(durable), visible_(durable), sizes_{durable.size() * 8} {
    for (std::uint64_t word = 0; word < durable_.size(); ++word) hash_ += hash_of_word(word, durable_[word]);
}

medium::medium(const model& how, const trace& recorded) : medium(how, recorded.before) {
    if (recorded.bytes_before != 0 || !recorded.named_before) sizes_ = {recorded.bytes_before};
    named_ = name_durable_ = recorded.named_before;
}

void medium::make_durable(std::uint64_t word, std::uint64_t value) {
    hash_ += hash_of_word(word, value) - hash_of_word(word, durable_[word]);
    durable_[word] = value;
}

void medium::make_durable(std::uint64_t granule, const std::vector<std::uint64_t>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) make_durable(granule * how_.granule_words + i, words[i]);
}

/// A stream of before that comes to rest only now does not replace it.
void medium::make_store_durable(std::uint64_t word, std::uint64_t value, std::uint64_t order) {
    make_durable(word, value);
    if (const auto streamed = streams_.find(word); streamed != streams_.end())
        for (streamed_word& each : streamed->second) each.is_overtaken |= each.order < order;
}

void medium::apply(const event& next) {
    ++order_;
    const bool stores = next.kind == event_kind::store || next.kind == event_kind::stream;
    if (next.kind == event_kind::file_word || (stores && !how_.is_file)) visible_[next.place] = next.value;
    switch (next.kind) {
        case event_kind::store:
            if (how_.is_file) break;
            if (how_.stores_are_durable) {
                make_store_durable(next.place, next.value, order_);
            } else {
                auto& to = cached_[next.place / how_.granule_words];
                to.stores.push_back({next.place, next.value, next.thread, epochs_[next.thread], life_, order_});
            }
            break;
        case event_kind::stream:
            if (how_.is_file) break;
            if (how_.streams_are_durable) {
                make_durable(next.place, next.value);
            } else {
                streams_[next.place].push_back({next.value, next.thread, order_});
            }
            break;
        case event_kind::write_back:
            for (auto& [granule, cached] : cached_)
                if (granule * how_.granule_words / words_of_line - next.place < next.value)
                    cached.written_back[next.thread] = cached.stores.size();
            break;
        case event_kind::fence: complete_fence(next.thread); break;
        case event_kind::order: ++epochs_[next.thread]; break;
        case event_kind::file_word: write_word(next.place, next.value); break;
        case event_kind::file_write: end_write(); break;
        case event_kind::file_range_sync: sync_range(next.place, next.value); break;
        case event_kind::file_sync:
            // On media that are mapped directly the kernel writes back what was stored to the mapping.
            for (auto& [granule, cached] : cached_) cached.written_back[next.thread] = cached.stores.size();
            complete_fence(next.thread);
            sync_file();
            break;
        case event_kind::file_resize:
            if (how_.writes_are_durable) sizes_.clear();
            if (sizes_.empty() || sizes_.back() != next.value) sizes_.push_back(next.value);
            break;
        case event_kind::file_publish:
            named_ = true;
            name_durable_ |= how_.writes_are_durable;
            break;
        case event_kind::directory_sync: name_durable_ = named_; break;
        case event_kind::operation_begins:
        case event_kind::operation_done: break;
    }
}

void medium::complete_fence(std::uint8_t thread) {
    ++epochs_[thread];
    for (auto at = cached_.begin(); at != cached_.end();) {
        cached_granule& cached = at->second;
        const std::size_t count = cached.written_back[thread];
        const auto end = cached.stores.begin() + static_cast<std::ptrdiff_t>(count);
        for (auto store = cached.stores.begin(); store != end; ++store)
            make_store_durable(store->word, store->value, store->order);
        cached.stores.erase(cached.stores.begin(), end);
        for (std::size_t& each : cached.written_back) each -= std::min(each, count);
        at = cached.stores.empty() ? cached_.erase(at) : std::next(at);
    }
    for (auto at = streams_.begin(); at != streams_.end();) {
        auto& values = at->second;
        // What this thread streamed last has arrived, and before it whatever it replaced.
        auto last = values.end();
        while (last != values.begin() && std::prev(last)->thread != thread) --last;
        if (last != values.begin() && !std::prev(last)->is_overtaken) make_durable(at->first, std::prev(last)->value);
        values.erase(values.begin(), last);
        at = values.empty() ? streams_.erase(at) : std::next(at);
    }
}

void medium::kill() {
    ++life_;
    for (const auto& [word, values] : streams_)
        if (!values.back().is_overtaken) make_durable(word, values.back().value);
    streams_.clear();
    // Of a write that was under way, what was done is in the page cache.
    end_write();
}

void medium::stop() {
    kill();
    for (const auto& [granule, contents] : written_)
        for (unsigned i = 0; i < how_.granule_words; ++i) {
            const std::uint64_t word = granule * how_.granule_words + i;
            cached_[granule].stores.push_back({word, visible_[word], 0, epochs_[0], life_, ++order_});
        }
    written_.clear();
}

std::vector<std::uint64_t> medium::words_of(std::uint64_t granule) const {
    const auto first = durable_.begin() + static_cast<std::ptrdiff_t>(granule * how_.granule_words);
    return {first, first + how_.granule_words};
}

void medium::write_word(std::uint64_t word, std::uint64_t value) {
    if (how_.writes_are_durable) return make_durable(word, value);
    const std::uint64_t granule = word / how_.granule_words;
    auto [at, is_new] = under_way_.try_emplace(granule);
    if (is_new) {
        const auto known = written_.find(granule);
        at->second = known != written_.end() ? known->second.back() : words_of(granule);
    }
    at->second[word % how_.granule_words] = value;
}

void medium::end_write() {
    for (auto& [granule, words] : under_way_) written_[granule].push_back(std::move(words));
    under_way_.clear();
}

void medium::sync_range(std::uint64_t first_word, std::uint64_t words) {
    const auto end = written_.upper_bound((first_word + words - 1) / how_.granule_words);
    for (auto at = written_.lower_bound(first_word / how_.granule_words); at != end;) {
        make_durable(at->first, at->second.back());
        at = written_.erase(at);
    }
}

void medium::sync_file() {
    for (const auto& [granule, contents] : written_) make_durable(granule, contents.back());
    written_.clear();
    sizes_.erase(sizes_.begin(), std::prev(sizes_.end()));
}

bool medium::has_streams(std::uint64_t granule) const {
    const auto first = streams_.lower_bound(granule * how_.granule_words);
    return first != streams_.end() && first->first < (granule + 1) * how_.granule_words;
}

std::vector<unit> medium::uncertain() const {
    std::vector<unit> units;
    for (const auto& [granule, cached] : cached_) {
        if (how_.order == store_order::none || has_streams(granule) || written_.contains(granule)) {
            add_words(units, granule);
        } else if (how_.order == store_order::by_fence) {
            add_subsets(units, granule, cached);
        } else {
            add_prefixes(units, granule, cached);
        }
    }
    for (auto at = streams_.begin(); at != streams_.end();) {
        const std::uint64_t granule = at->first / how_.granule_words;
        if (!cached_.contains(granule)) add_words(units, granule);
        at = streams_.lower_bound((granule + 1) * how_.granule_words);
    }
    for (const auto& [granule, contents] : written_) {
        if (cached_.contains(granule) || has_streams(granule)) continue;
        unit made{granule, all_words(), {}};
        add_version(made, words_of(granule).data());
        for (const auto& each : contents) add_version(made, each.data());
        add_if_uncertain(units, std::move(made));
    }
    return units;
}

void medium::add_prefixes(std::vector<unit>& units, std::uint64_t granule, const cached_granule& cached) const {
    std::vector<std::uint64_t> words = words_of(granule);
    unit made{granule, all_words(), {}};
    add_version(made, words.data());
    for (const cached_store& each : cached.stores) {
        words[each.word % how_.granule_words] = each.value;
        add_version(made, words.data());
    }
    add_if_uncertain(units, std::move(made));
}

/// The same where one thread at a time stored: whatever the last fence before a cut left, and of what came behind it
/// each word as it was after one of its stores.
void medium::add_products(unit& made, const cached_granule& cached) const {
    std::vector<std::uint64_t> words = words_of(made.granule);
    std::unordered_set<std::uint64_t> known;
    const auto add = [&](const std::vector<std::uint64_t>& version) {
        std::uint64_t hash = 0;
        for (std::size_t i = 0; i < version.size(); ++i) hash += hash_of_word(i, version[i]);
        if (known.insert(hash).second) made.versions.insert(made.versions.end(), version.begin(), version.end());
    };
    add(words);
    const auto& stores = cached.stores;
    for (std::size_t begin = 0, end = 0; begin < stores.size(); begin = end) {
        std::map<std::uint64_t, std::vector<std::uint64_t>> values;  // by word, oldest first
        const auto same_class = [&](const cached_store& each) {
            return each.life == stores[begin].life && each.epoch == stores[begin].epoch;
        };
        for (; end < stores.size() && same_class(stores[end]); ++end) {
            auto& of = values[stores[end].word % how_.granule_words];
            if (of.empty()) of.push_back(words[stores[end].word % how_.granule_words]);
            of.push_back(stores[end].value);
        }
        std::vector<std::uint64_t> version = words;
        const auto choose = [&](auto& self, auto word) -> void {
            if (made.count() >= products_at_most) {
                complete_ = false;
                return;
            }
            if (word == values.end()) return add(version);
            for (const std::uint64_t value : word->second) {
                version[word->first] = value;
                self(self, std::next(word));
            }
        };
        choose(choose, values.begin());
        for (const auto& [word, of] : values) words[word] = of.back();
    }
    // Where not all were listed, the last of all is there at least.
    add(words);
}

/// Every set of stores that holds, with a store, all that are ordered before it.
void medium::add_subsets(std::vector<unit>& units, std::uint64_t granule, const cached_granule& cached) const {
    const auto& stores = cached.stores;
    const auto by_another = [&](const cached_store& each) {
        return std::ranges::any_of(stores, [&](const cached_store& other) {
            return other.life == each.life && other.thread != each.thread;
        });
    };
    if (std::ranges::none_of(stores, by_another)) {
        unit made{granule, all_words(), {}};
        add_products(made, cached);
        return add_if_uncertain(units, std::move(made));
    }
    const auto is_before = [&](std::size_t a, std::size_t b) {
        return stores[a].word == stores[b].word || stores[a].life < stores[b].life ||
               (stores[a].thread == stores[b].thread && stores[a].epoch < stores[b].epoch);
    };
    unit made{granule, all_words(), {}};
    std::vector<bool> taken(stores.size());
    const std::vector<std::uint64_t> before = words_of(granule);
    std::size_t decisions = 0;
    const auto decide = [&](auto& self, std::size_t index, const std::vector<std::uint64_t>& words) -> void {
        if (made.count() >= versions_at_most || ++decisions > decisions_at_most) {
            complete_ = false;
            return;
        }
        if (index == stores.size()) return add_version(made, words.data());
        self(self, index + 1, words);
        for (std::size_t earlier = 0; earlier < index; ++earlier)
            if (!taken[earlier] && is_before(earlier, index)) return;
        taken[index] = true;
        auto with = words;
        with[stores[index].word % how_.granule_words] = stores[index].value;
        self(self, index + 1, with);
        taken[index] = false;
    };
    decide(decide, 0, before);
    add_if_uncertain(units, std::move(made));
}

/// Each word for itself, whichever way it was stored.
void medium::add_words(std::vector<unit>& units, std::uint64_t granule) const {
    const auto cached = cached_.find(granule);
    const auto written = written_.find(granule);
    for (std::uint64_t i = 0; i < how_.granule_words; ++i) {
        const std::uint64_t word = granule * how_.granule_words + i;
        unit made{granule, std::uint64_t{1} << i, {durable_[word]}};
        if (written != written_.end())
            for (const auto& each : written->second) add_version(made, &each[i]);
        if (cached != cached_.end())
            for (const cached_store& each : cached->second.stores)
                if (each.word == word) add_version(made, &each.value);
        if (const auto streamed = streams_.find(word); streamed != streams_.end())
            for (const streamed_word& each : streamed->second) add_version(made, &each.value);
        add_if_uncertain(units, std::move(made));
    }
}

}  // namespace holdfast::crash
