#include <crash/medium.hpp>

#include <algorithm>
#include <array>

namespace holdfast::crash {
namespace {

constexpr std::uint64_t words_of_line = 8;

/// Adds a version unless the unit has it.
void add_version(unit& to, const std::uint64_t* words) {
    const unsigned count = to.words();
    for (std::size_t at = 0; at < to.versions.size(); at += count)
        if (std::equal(words, words + count, to.versions.data() + at)) return;
    to.versions.insert(to.versions.end(), words, words + count);
}

}  // namespace

medium::medium(const model& how, const std::vector<std::uint64_t>& durable) : how_(how), durable_(durable) {
    for (std::uint64_t word = 0; word < durable_.size(); ++word) hash_ += hash_of_word(word, durable_[word]);
}

void medium::make_durable(std::uint64_t word, std::uint64_t value) {
    hash_ += hash_of_word(word, value) - hash_of_word(word, durable_[word]);
    durable_[word] = value;
}

void medium::apply(const event& next) {
    switch (next.kind) {
        case event_kind::store:
            if (how_.stores_are_durable) {
                make_durable(next.place, next.value);
            } else {
                lines_[next.place / words_of_line].stores.push_back({next.place, next.value});
            }
            break;
        case event_kind::stream:
            if (how_.streams_are_durable) {
                make_durable(next.place, next.value);
            } else {
                streams_[next.place].push_back(next.value);
            }
            break;
        case event_kind::write_back:
            for (auto& [line, history] : lines_)
                if (line - next.place < next.value) history.written_back = history.stores.size();
            break;
        case event_kind::fence: complete_fence(); break;
        case event_kind::operation_begins:
        case event_kind::operation_done: break;
    }
}

void medium::complete_fence() {
    for (auto at = lines_.begin(); at != lines_.end();) {
        line_history& history = at->second;
        const auto end = history.stores.begin() + static_cast<std::ptrdiff_t>(history.written_back);
        for (auto store = history.stores.begin(); store != end; ++store) make_durable(store->word, store->value);
        history.stores.erase(history.stores.begin(), end);
        history.written_back = 0;
        at = history.stores.empty() ? lines_.erase(at) : std::next(at);
    }
    for (const auto& [word, values] : streams_) make_durable(word, values.back());
    streams_.clear();
}

bool medium::has_streams(std::uint64_t line) const {
    const auto first = streams_.lower_bound(line * words_of_line);
    return first != streams_.end() && first->first < (line + 1) * words_of_line;
}

std::vector<unit> medium::uncertain() const {
    std::vector<unit> units;
    for (const auto& [line, history] : lines_) {
        if (how_.lines_tear || has_streams(line)) {
            add_torn_line(units, line, &history);
        } else {
            add_line(units, line, history);
        }
    }
    for (auto at = streams_.begin(); at != streams_.end();) {
        const std::uint64_t line = at->first / words_of_line;
        if (!lines_.contains(line)) add_torn_line(units, line, nullptr);
        at = streams_.lower_bound((line + 1) * words_of_line);
    }
    return units;
}

void medium::add_line(std::vector<unit>& units, std::uint64_t line, const line_history& history) const {
    std::array<std::uint64_t, words_of_line> words;
    std::copy_n(durable_.begin() + static_cast<std::ptrdiff_t>(line * words_of_line), words_of_line, words.begin());
    unit made{line, 0xFF, {}};
    add_version(made, words.data());
    for (const cached_store& each : history.stores) {
        words[each.word % words_of_line] = each.value;
        add_version(made, words.data());
    }
    if (made.count() > 1) units.push_back(std::move(made));
}

void medium::add_torn_line(std::vector<unit>& units, std::uint64_t line, const line_history* history) const {
    for (std::uint64_t i = 0; i < words_of_line; ++i) {
        const std::uint64_t word = line * words_of_line + i;
        unit made{line, static_cast<std::uint8_t>(1u << i), {durable_[word]}};
        if (history != nullptr)
            for (const cached_store& each : history->stores)
                if (each.word == word) add_version(made, &each.value);
        if (const auto streamed = streams_.find(word); streamed != streams_.end())
            for (const std::uint64_t value : streamed->second) add_version(made, &value);
        if (made.count() > 1) units.push_back(std::move(made));
    }
}

}  // namespace holdfast::crash
