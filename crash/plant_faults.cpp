#include <crash/plant_faults.hpp>

#include <crash/explore/jobs.hpp>
#include <crash/plant/hunt.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::crash {

using json = nlohmann::ordered_json;

int plant_faults(const options& wanted) {
    const auto begin = std::chrono::steady_clock::now();
    std::map<std::string_view, std::vector<std::unique_ptr<subject>>> engines;
    for (auto& each : all_subjects_and_programs())
        if (is_wanted(wanted, *each)) engines[each->engine()].push_back(std::move(each));
    std::map<std::string_view, std::vector<hunting_ground>> grounds;
    std::vector<std::pair<std::string_view, fault>> planted;
    std::vector<std::function<std::string()>> tasks;
    for (const auto& [engine, subjects] : engines) {
        const auto& here = grounds[engine] = hunting_grounds_of(subjects, wanted.seed);
        for (const fault& each : faults_of(here))
            if (!wanted.planted || *wanted.planted == each) planted.emplace_back(engine, each);
    }
    // Those in code take longest; were one of them last, all others would wait for it.
    std::ranges::stable_partition(planted, [](const auto& each) { return each.second.how == fault::change::in_code; });
    for (const auto& [engine, fault] : planted)
        tasks.push_back([&here = grounds[engine], each = fault, &wanted] {
            catch_report report;
            try {
                report = hunt(here, each, wanted.seed);
            } catch (const std::exception& reason) {
                // A workload that cannot be recorded shows nothing.
                report.what = reason.what();
            }
            return json{{"fault", each.name()}, {"caught", report.caught}, {"workload", report.workload},
                        {"model", report.model}, {"operations", report.operations}, {"what", report.what},
                        {"replay", report.replay},
                        {"seconds", report.seconds}, {"breaks_promise", report.breaks_promise}}.dump();
        });
    std::map<std::string_view, json> records;
    std::uint64_t caught = 0;
    std::uint64_t of_calls = 0;
    std::uint64_t break_promises = 0;
    const auto add = [&](std::size_t index, const json& found) {
        const auto& [engine, each] = planted[index];
        const bool is_caught = found["caught"].get<bool>();
        show(fmt::format("{:<12} {:<7} {:>5.1f} s  {:<13} {:<5} {}\n", engine, is_caught ? "caught" : "MISSED",
                         found["seconds"].get<double>(), found["workload"].get<std::string>(),
                         found["model"].get<std::string>(), each.name()));
        json& record = records[engine];
        if (record.is_null()) record = {{"engine", engine}, {"planted", 0}, {"caught", 0}, {"faults", json::array()}};
        record["planted"] = record["planted"].get<int>() + 1;
        record["caught"] = record["caught"].get<int>() + (is_caught ? 1 : 0);
        record["faults"].push_back(found);
        if (is_caught) ++caught;
        if (each.how != fault::change::in_code) ++of_calls;
        if (found.value("breaks_promise", false)) ++break_promises;
    };
    // A recovery that dies of a fault has shown it.
    const auto died = [&](std::size_t index, const std::string& why) {
        add(index, {{"fault", planted[index].second.name()}, {"caught", true}, {"workload", ""}, {"model", ""},
                    {"operations", ""}, {"what", why}, {"seconds", 0.0}});
    };
    run_jobs(tasks, wanted.jobs, [&](std::size_t index, const std::string& answer) { add(index, json::parse(answer)); },
             died);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    for (const unshown_fault& each : unshown_faults())
        if (engines.contains(each.engine))
            show(fmt::format("{:<12} not planted: {}: {}\n", each.engine, each.what.name(), each.why));
    show(fmt::format("{} of {} faults at calls break the promise of an acknowledgement, which alone shows them\n",
                     break_promises, of_calls));
    show(fmt::format("{} of {} planted faults caught, {:.1f} s\n", caught, planted.size(), took.count()));
    json all = json::array();
    for (auto& [engine, record] : records) all.push_back(std::move(record));
    if (!write_file(wanted.json_file, all.dump(2) + "\n")) return 2;
    return caught == planted.size() ? 0 : 1;
}

}  // namespace holdfast::crash
