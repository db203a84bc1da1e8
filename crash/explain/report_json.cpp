#include <crash/explain/report_json.hpp>

namespace holdfast::crash {
namespace {

using json = nlohmann::ordered_json;

json lines_of(const std::vector<source_line>& lines) {
    json all = json::array();
    for (const source_line& each : lines) all.push_back({{"function", each.function}, {"at", each.text()}});
    return all;
}

json event_of(const story& told, std::size_t index) {
    const event& each = told.account.traces.back().recorded.events[index];
    json made{{"event", index}, {"kind", word_for(each.kind)}};
    if (each.where) made["site"] = name_of(*each.where);
    made["lines"] = lines_of(told.lines.lines_of(each));
    return made;
}

json lost_of(const story& told) {
    json all = json::array();
    for (const lost_store& each : told.why.lost) {
        json made = event_of(told, each.event);
        const event& store = told.account.traces.back().recorded.events[each.event];
        if (each.of.kind == question::about::contents) made["offset"] = store.place * 8;
        made["place"] = name_of_place(store, each);
        made["stores"] = each.events.size();
        made["lacked"] = words_for(each.lacked);
        if (each.write_back) made["write_back"] = event_of(told, *each.write_back);
        made["decisive"] = each.is_decisive;
        made["only_may_be"] = each.only_may_be;
        all.push_back(std::move(made));
    }
    return all;
}

json cuts_of(const scenario& which) {
    json all = json::array();
    for (const cut_point& each : which.cuts) {
        all.push_back({{"event", each.event}, {"choices", each.made}, {"killed", each.killed}});
        if (each.life) all.back()["life"] = *each.life;
    }
    return all;
}

json scenario_record(const scenario& which) {
    return {{"operation_numbers", which.operations}, {"cuts", cuts_of(which)}, {"depth", which.cuts.size() - 1},
            {"replay", replay_line(which)}};
}

json story_record(const story& told) {
    json made{{"what", told.wrong}, {"operations", told.operations}, {"lives", told.lives},
              {"life", told.lives.size() + 1}, {"cause", told.sentence},
              {"lost", lost_of(told)}};
    made["cut"] = told.smallest.cuts.back().event;
    made["depth"] = told.smallest.cuts.size() - 1;
    made["choices"] = told.smallest.cuts.back().made;
    made["replay"] = replay_line(told.smallest);
    if (told.reproduced && told.why.too_early) made["before"] = event_of(told, *told.why.too_early);
    made["reproduced"] = told.reproduced;
    made["smallest"] = scenario_record(told.smallest);
    made["shrunk_to_the_end"] = told.shrunk_to_the_end;
    made["found"] = scenario_record(told.found);
    return made;
}

}  // namespace

json json_of(const std::vector<report_row>& rows) {
    json records = json::array();
    for (const report_row& row : rows) {
        const findings& found = row.found;
        json record{{"engine", row.engine}, {"workload", row.workload_name}, {"model", row.model_name},
                    {"images", found.images}, {"violations", found.violations}, {"exhaustive", found.exhaustive},
                    {"lives", row.lives},
                    {"runs", found.runs}, {"workloads", found.workloads}, {"cuts", found.cuts},
                    {"promises", found.promises}, {"broken_promises", found.broken_promises},
                    {"nested_cuts", found.nested_cuts}, {"damaged", found.damaged},
                    {"damaged_records", found.damaged_records}, {"unnoticed", found.unnoticed},
                    {"seconds", row.seconds}};
        if (found.first_life != 0) record["first_life"] = found.first_life;
        if (row.planted) record["fault"] = short_name(*row.planted);
        for (const story& each : row.stories) record["told"].push_back(story_record(each));
        records.push_back(std::move(record));
    }
    return records;
}

}  // namespace holdfast::crash
