#include <crash/explore/judge.hpp>

#include <holdfast/base/result.hpp>

#include <set>
#include <utility>

namespace holdfast::crash {

image_memory memory_for(const subject& what) {
    const std::string path = what.image_path();
    return path.empty() ? image_memory(what.base(), what.size()) : image_memory(path, what.size());
}

std::optional<std::string> judge(subject& what, const lazy_memory& memory, const progress& made,
                                 std::size_t* choices_of_recovery) {
    try {
        if (auto wrong = what.recover(memory)) return wrong;
        const std::size_t recovered = memory.made().size();
        if (choices_of_recovery != nullptr) *choices_of_recovery = recovered;
        if (auto wrong = what.check(made)) return wrong;
        if (memory.made().size() != recovered)
            return std::string(right_only_by_chance);
    } catch (const failure& reason) {
        return "recovery throws: " + reason.reason().text();
    }
    return {};
}

std::optional<std::string> judge_damaged(subject& what, const lazy_memory& memory, const progress& made) {
    try {
        return what.recover_damaged(memory, made);
    } catch (const failure&) {
        return {};  // told, if late
    }
}

namespace {

/// What recovery makes of the oldest that these words may be, or why it makes nothing of them.
std::optional<std::string> recover_oldest(subject& what, lazy_memory& memory, const medium& from, recovered_pool& to) {
    memory.settle(from);
    memory.begin(choices{});
    std::optional<std::string> wrong;
    try {
        wrong = what.recover(memory);
        // The copy is nobody's read: what nothing told apart is the oldest as it stands.
        lazy_memory* const run = std::exchange(instrumented_memory, nullptr);
        if (!wrong) to = what.recovered();
        instrumented_memory = run;
    } catch (const failure& reason) {
        wrong = "recovery throws: " + reason.reason().text();
    }
    what.close();
    memory.end();
    return wrong;
}

std::string_view place_of_last_store(const trace& recorded, std::size_t event, std::uint64_t word) {
    for (std::size_t i = event; i-- > 0;) {
        const auto& each = recorded.events[i];
        const bool stores = each.kind == event_kind::store || each.kind == event_kind::stream ||
                            each.kind == event_kind::file_word;
        if (stores && each.place == word) return each.where ? name_of(*each.where) : "the program's own";
    }
    return "before";
}

/// "redo_home, log_record": who stored last what is not certain.
std::string places_of_uncertain(const trace& recorded, std::size_t event, const std::vector<unit>& units,
                                unsigned granule_words) {
    std::set<std::string_view> places;
    for (const unit& each : units)
        for (std::uint64_t left = each.mask; left != 0; left &= left - 1) {
            const auto word = each.granule * granule_words + static_cast<unsigned>(__builtin_ctzll(left));
            places.insert(place_of_last_store(recorded, event, word));
        }
    std::string text;
    for (const std::string_view each : places) text += (text.empty() ? "" : ", ") + std::string(each);
    return text;
}

}  // namespace

std::optional<std::string> judge_promise(subject& what, lazy_memory& memory, const medium& left, const trace& recorded,
                                         std::size_t event, const progress& made) {
    if (!what.has_promised(made)) return {};
    const std::vector<unit> units = left.uncertain();
    const bool is_certain = left.sizes().size() == 1 && !(left.may_lack_name() && left.may_have_name());
    if (units.empty() && is_certain) return {};
    const auto among = [&] {
        return "; not certain is what was stored by " + places_of_uncertain(recorded, event, units,
                                                                            left.how().granule_words);
    };
    recovered_pool certain, all;
    const medium visible(left.how(), visible_image(left));
    if (auto wrong = recover_oldest(what, memory, visible, all)) return {};  // the cuts tell of that
    if (auto wrong = recover_oldest(what, memory, left, certain)) return std::string(promise_broken) + *wrong + among();
    if (certain.bytes.size() != all.bytes.size())
        return std::string(promise_broken) + "a pool of " + std::to_string(all.bytes.size()) +
               " bytes, of which recovery finds " + std::to_string(certain.bytes.size()) + among();
    std::size_t different = 0;
    std::size_t first = 0;
    for (const auto& [begin, end] : all.owned)
        for (std::size_t at = begin; at < end && at < all.bytes.size(); ++at)
            if (all.bytes[at] != certain.bytes[at] && different++ == 0) first = at;
    if (different == 0) return {};
    return std::string(promise_broken) + std::to_string(different) + " bytes from " + std::to_string(first) +
           " of the pool on, stored by " + std::string(place_of_last_store(recorded, event, first / 8)) + among();
}

trace record_recovery(subject& what, lazy_memory& memory, const medium& settled, const progress& made, bool killed,
                      const workload* life) {
    memory.settle(settled);
    memory.begin(choices{});
    trace recorded = what.enter_recovery(memory, made, killed, life);
    what.close();
    memory.end();
    memory.put_back();
    return recorded;
}

trace visible_image(const medium& left) {
    return {left.visible(), {}, left.sizes().back(), left.may_have_name(), 0};
}

}  // namespace holdfast::crash
