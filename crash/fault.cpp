#include <crash/fault.hpp>

#include <set>
#include <utility>

namespace holdfast::crash {

std::string fault::name() const {
    const std::string place(name_of(where));
    switch (kind) {
        case event_kind::write_back: return "without the write-back " + place;
        case event_kind::fence: return "without the fence " + place;
        default: return place + " stored instead of streamed";
    }
}

std::vector<fault> faults_of(const trace& recorded) {
    std::set<std::pair<event_kind, persist::site>> places;
    for (const event& each : recorded.events)
        if (each.kind == event_kind::write_back || each.kind == event_kind::fence || each.kind == event_kind::stream)
            places.emplace(each.kind, *each.where);
    std::vector<fault> all;
    for (const auto& [kind, where] : places) all.push_back({kind, where});
    return all;
}

void plant(const fault& what, trace& recorded) {
    const auto is_it = [&](const event& each) { return each.kind == what.kind && each.where == what.where; };
    if (what.kind == event_kind::stream) {
        for (event& each : recorded.events)
            if (is_it(each)) each.kind = event_kind::store;
    } else {
        std::erase_if(recorded.events, is_it);
    }
}

}  // namespace holdfast::crash
