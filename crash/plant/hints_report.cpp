#include <crash/plant/hints_report.hpp>

#include <crash/explain/replay.hpp>
#include <crash/explain/story.hpp>
#include <crash/explore/explore.hpp>
#include <crash/plant/hunt.hpp>

#include <fmt/core.h>

namespace holdfast::crash {
namespace {

std::size_t last_operation_of(const trace& recorded) {
    std::size_t last = 0;
    for (std::size_t i = 0; i < recorded.events.size(); ++i)
        if (recorded.events[i].kind == event_kind::operation_begins) last = i;
    return last;
}

}  // namespace

engine_hints hints_of(const std::vector<subject*>& all, const model& how, unsigned operations, std::uint64_t seed) {
    engine_hints made{std::string(all.front()->engine()), std::string(how.name), {}, {}};
    std::vector<hunting_ground> grounds;
    for (subject* each : all) {
        for_each_workload(each->universe(), operations, [&](const workload& one) {
            const trace recorded = each->record(one, how);
            count_usage(recorded, last_operation_of(recorded), made.used);
        });
        grounds.push_back(hunting_ground_of(*each, how, seed));
    }
    for (const fault& planted : faults_of(grounds)) {
        if (planted.how == fault::change::late || planted.how == fault::change::in_code) continue;
        if (!hunt(grounds, planted, seed).caught) made.unneeded.push_back(planted);
    }
    return made;
}

std::string text_of(const engine_hints& hints) {
    std::string text = fmt::format("{}, model {}\n  {:<29} {:<11} {:>9} {:>12}\n", hints.engine, hints.model_name,
                                   "site", "what", "calls", "superfluous");
    for (const auto& [place, used] : hints.used) {
        std::uint64_t sum = 0;
        std::string why;
        for (const auto& [what, count] : used.superfluous) {
            sum += count;
            why += fmt::format("{}{} {}", why.empty() ? "" : ", ", count, words_for(what));
        }
        text += fmt::format("  {:<29} {:<11} {:>9} {:>12}  {}", name_of(place.first), word_for(place.second),
                            used.calls, sum, why);
        text.erase(text.find_last_not_of(' ') + 1);
        text += "\n";
    }
    for (const fault& each : hints.unneeded)
        text += fmt::format("  Nothing showed that it is needed: {} {}\n",
                            each.kind == event_kind::stream ? "streaming" : word_for(each.kind), name_of(each.where));
    return text;
}

nlohmann::ordered_json json_of(const engine_hints& hints) {
    nlohmann::ordered_json record{{"engine", hints.engine}, {"model", hints.model_name}};
    record["calls"] = nlohmann::ordered_json::array();
    for (const auto& [place, used] : hints.used) {
        nlohmann::ordered_json one{
            {"site", name_of(place.first)}, {"kind", word_for(place.second)}, {"calls", used.calls}};
        const auto count = [&](waste what) {
            const auto found = used.superfluous.find(what);
            return found == used.superfluous.end() ? 0 : found->second;
        };
        one["clean_lines"] = count(waste::clean_line);
        one["lines_twice"] = count(waste::line_twice);
        one["empty_fences"] = count(waste::empty_fence);
        one["empty_syncs"] = count(waste::empty_sync);
        record["calls"].push_back(std::move(one));
    }
    record["nothing_showed_need"] = nlohmann::ordered_json::array();
    for (const fault& each : hints.unneeded) record["nothing_showed_need"].push_back(short_name(each));
    return record;
}

}  // namespace holdfast::crash
