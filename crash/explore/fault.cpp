#include <crash/explore/fault.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::crash {
namespace {

std::string_view noun_of(event_kind kind) {
    switch (kind) {
        case event_kind::write_back: return "write-back ";
        case event_kind::fence: return "fence ";
        case event_kind::order: return "order ";
        case event_kind::file_sync: return "sync ";
        case event_kind::directory_sync: return "directory's sync";
        default: return "";
    }
}

bool is_end(const event& each) { return completes(each.kind) || each.kind == event_kind::operation_done; }

/// Puts the event at `index` right before the next that completes something, or behind that where it
/// stands there already.
void delay(std::vector<event>& events, std::size_t index) {
    const auto at = events.begin() + static_cast<std::ptrdiff_t>(index);
    auto next = std::find_if(at + 1, events.end(), is_end);
    if (next == at + 1 && next != events.end()) ++next;
    std::rotate(at, at + 1, next);
}

}  // namespace

std::string fault::name() const {
    if (how == change::in_code) return std::string(code->name) + ": " + code->sentence;
    const std::string place(kind == event_kind::directory_sync ? "" : name_of(where));
    if (how == change::weakened)
        return place + (kind == event_kind::stream ? " stored instead of streamed" : " written without waiting");
    return (how == change::late ? "too late the " : "without the ") + std::string(noun_of(kind)) + place;
}

std::vector<fault> faults_of(const coverage& passed) {
    std::vector<fault> all;
    for (const auto& [call, crashes] : passed.calls()) {
        const auto [kind, where] = call;
        if (kind == event_kind::stream || kind == event_kind::file_range_sync) {
            all.push_back({fault::change::weakened, kind, where});
            continue;
        }
        all.push_back({fault::change::left_out, kind, where});
        // A write-back that is moved still comes before its fence, and an order before what completes it.
        const bool may_be_late = kind != event_kind::write_back && kind != event_kind::order;
        if (may_be_late) all.push_back({fault::change::late, kind, where});
    }
    return all;
}

bool plant(const fault& what, trace& recorded) {
    const auto is_it = [&](const event& each) {
        return each.kind == what.kind && each.where.value_or(persist::site_id{}) == what.where;
    };
    auto& events = recorded.events;
    if (what.how == fault::change::in_code) return true;
    if (std::ranges::none_of(events, is_it)) return false;
    if (what.how == fault::change::weakened && what.kind == event_kind::stream) {
        for (event& each : events)
            if (is_it(each)) each.kind = event_kind::store;
    } else if (what.how == fault::change::late) {
        for (std::size_t i = events.size(); i > 0; --i)
            if (is_it(events[i - 1])) delay(events, i - 1);
    } else {
        std::erase_if(events, is_it);
    }
    return true;
}

}  // namespace holdfast::crash
