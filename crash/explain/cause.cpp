#include <crash/explain/cause.hpp>

#include <crash/explore/judge.hpp>

#include <algorithm>

namespace holdfast::crash {
namespace {

bool stores_word(const event& each, std::uint64_t word, const model& how) {
    const bool is_store = each.kind == event_kind::store || each.kind == event_kind::stream;
    return each.place == word && (each.kind == event_kind::file_word || (is_store && !how.is_file));
}

/// The stores to one word that are missing where it holds `found`, newest first.
void add_missing(const cut_trace& at, std::uint64_t word, std::uint64_t found, const model& how,
                 std::vector<std::size_t>& missing) {
    for (std::size_t i = at.event; i-- > 0;) {
        const event& each = at.recorded.events[i];
        if (!stores_word(each, word, how)) continue;
        if (each.value == found) return;
        missing.push_back(i);
    }
}

std::vector<std::size_t> missing_stores(const cut_trace& at, const unit& of, std::uint32_t version, const model& how,
                                        const std::vector<std::uint64_t>& visible) {
    std::vector<std::size_t> missing;
    std::size_t index = version * of.words();
    for (std::uint64_t left = of.mask; left != 0; left &= left - 1) {
        const auto word = of.granule * how.granule_words + static_cast<unsigned>(__builtin_ctzll(left));
        const std::uint64_t found = of.versions[index++];
        if (found != visible[word]) add_missing(at, word, found, how, missing);
    }
    std::sort(missing.begin(), missing.end());
    return missing;
}

void find_lack(const cut_trace& at, lost_store& of) {
    const event& store = at.recorded.events[of.event];
    if (store.kind == event_kind::stream) of.lacked = lack::stream_fence;
    if (store.kind == event_kind::file_word) of.lacked = lack::file_sync;
    if (store.kind != event_kind::store) return;
    for (std::size_t i = of.event + 1; i < at.event; ++i) {
        const event& each = at.recorded.events[i];
        if (each.kind != event_kind::write_back || store.place / 8 - each.place >= each.value) continue;
        of.lacked = lack::fence;
        of.write_back = i;
    }
}

std::optional<std::size_t> last_of(const cut_trace& at, event_kind kind) {
    for (std::size_t i = at.event; i-- > 0;)
        if (at.recorded.events[i].kind == kind) return i;
    return {};
}

std::optional<lost_store> lost_of(const uncertain_thing& thing, std::uint32_t version, const model& how,
                                  const image_account& told) {
    const cut_trace& at = told.traces.back();
    lost_store made{thing, 0, {}, lack::file_sync, {}, false, false};
    if (thing.kind != question::about::contents) {
        const bool is_name = thing.kind == question::about::file_name;
        const auto event = last_of(at, is_name ? event_kind::file_publish : event_kind::file_resize);
        if (!event) return {};
        made.event = *event;
        made.events = {*event};
        if (is_name) made.lacked = lack::directory_sync;
        return made;
    }
    for (const unit& each : told.units) {
        if (each.granule != thing.granule || each.mask != thing.mask) continue;
        const auto missing = missing_stores(at, each, version, how, told.visible);
        if (missing.empty()) return {};
        made.event = missing.front();
        made.events = missing;
        made.lacked = lack::write_back;
        find_lack(at, made);
        return made;
    }
    return {};
}

}  // namespace

cause find_cause(image_runner& runner, const model& how, const image_account& told) {
    cause found;
    const auto& plans = told.verdict.plans;
    if (told.traces.back().event > 0) found.too_early = told.traces.back().event - 1;
    for (const auto& [thing, version] : plans.back().older) {
        auto lost = lost_of(thing, version, how, told);
        if (!lost) continue;
        auto with = plans;
        with.back().older.erase(thing);
        lost->is_decisive = !runner.run(with).wrong;
        found.lost.push_back(*lost);
    }
    if (told.verdict.wrong == right_only_by_chance)
        for (const decisive_read& each : told.reads) {
            if (!each.is_of_check || plans.back().older.contains(each.of)) continue;
            auto lost = lost_of(each.of, 0, how, told);
            if (!lost) continue;
            lost->only_may_be = true;
            found.lost.push_back(*lost);
        }
    std::sort(found.lost.begin(), found.lost.end(),
              [](const lost_store& a, const lost_store& b) { return a.event < b.event; });
    return found;
}

}  // namespace holdfast::crash
