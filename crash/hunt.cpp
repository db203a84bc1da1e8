#include <crash/hunt.hpp>

#include <crash/explore.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <string_view>

namespace holdfast::crash {
namespace {

/// What shows most, and what shows the rest.
constexpr std::string_view hunting_grounds[] = {"x86", "file", "kill"};

constexpr planted_in places_in_code[] = {
    planted_in::all,
#define HOLDFAST_PLANTED_PLACE(name, engines, sentence) planted_in::engines,
    HOLDFAST_PLANTED_FAULTS(HOLDFAST_PLANTED_PLACE)
#undef HOLDFAST_PLANTED_PLACE
};

bool is_in(std::string_view engine, planted_in places) {
    return places == planted_in::all || (places == planted_in::redo) == (engine == "redo");
}

/// The first must find most faults, and quickly; the last what needs several operations in the right order.
constexpr effort efforts[] = {
    {.longest = 1, .depth = 0, .runs = 400},
    {.longest = 1, .depth = 1, .nested_one_in = 4, .runs = 400},
    {.longest = 2, .drawn = 8, .depth = 0, .runs = 500},
    {.longest = 3, .drawn = 16, .depth = 1, .nested_one_in = 8, .runs = 1000},
    {.longest = 3, .drawn = 64, .depth = 0, .runs = 2000},
    {.longest = 4, .drawn = 64, .depth = 1, .nested_one_in = 16, .runs = 4000},
    {.longest = 4, .drawn = 256, .depth = 0, .runs = 8000},
    {.longest = 4, .drawn = 256, .depth = 1, .nested_one_in = 32, .runs = 8000},
};

std::string words_of(const subject& what, const workload& operations) {
    std::string text;
    for (const unsigned each : operations) text += (text.empty() ? "" : ", ") + what.describe(each);
    return text;
}

}  // namespace

std::vector<fault> faults_of(std::span<const std::unique_ptr<subject>> subjects) {
    std::vector<fault> all;
    const auto add = [&](const fault& each) {
        if (std::ranges::find(all, each) == all.end()) all.push_back(each);
    };
    for (const auto& what : subjects)
        for (const std::string_view name : hunting_grounds) {
            const model& how = *model_named(name);
            if (how.writes_are_durable || !what->knows(how)) continue;
            for (unsigned operation = 0; operation < what->universe(); ++operation)
                for (const fault& each : faults_of(what->record({operation}, how))) add(each);
        }
    for (std::size_t code = 1; code <= planted_count; ++code)
        if (!subjects.empty() && is_in(subjects.front()->engine(), places_in_code[code]))
            add({fault::change::in_code, {}, {}, static_cast<enum planted>(code)});
    return all;
}

bool is_caught(subject& what, const model& how, const fault& planted, std::uint64_t seed, const effort& most,
               catch_report* report) {
    limits few;
    few.stop_at_first = true;
    few.depth = most.depth;
    few.nested_one_in = most.nested_one_in;
    few.killed_one_in = 1;
    few.images_of_a_cut = most.drawn == 0 ? 48 : 6;
    const planted_here in_code(planted);
    explorer run(what, how, few, seed);
    run.plant_everywhere(planted);
    const auto has_looked = [&] { return run.has_enough() || run.found().runs > most.runs; };
    const auto look = [&](const workload& operations, std::size_t schedule) {
        trace recorded = what.record(operations, how, schedule);
        const bool differs = plant(planted, recorded);
        if (differs || most.depth > 0) run.explore(operations, recorded, schedule);
    };
    std::mt19937_64 random(seed + most.drawn);
    for (unsigned drawn = 0; drawn < most.drawn && !has_looked(); ++drawn) {
        workload operations(2 + random() % (most.longest - 1));
        for (unsigned& each : operations) each = static_cast<unsigned>(random() % what.universe());
        look(operations, random() % what.schedules(operations, how));
    }
    if (most.drawn == 0)
        for_each_workload(what.universe(), most.longest, [&](const workload& operations) {
            if (has_looked()) return;
            const std::size_t schedules = what.schedules(operations, how);
            for (std::size_t i = 0; i < schedules && !has_looked(); ++i) look(operations, i);
        });
    if (run.has_enough() && report != nullptr) {
        const violation& told = run.found().told.front();
        *report = {planted, true, std::string(what.name()), how.name, words_of(what, told.operations), told.what, 0};
    }
    return run.has_enough();
}

catch_report hunt(std::span<const std::unique_ptr<subject>> subjects, const fault& planted, std::uint64_t seed) {
    const auto begin = std::chrono::steady_clock::now();
    catch_report report;
    const auto search = [&] {
        for (const effort& most : efforts)
            for (const auto& what : subjects)
                for (const std::string_view name : hunting_grounds) {
                    const model& how = *model_named(name);
                    if (what->knows(how) && is_caught(*what, how, planted, seed, most, &report)) return;
                }
    };
    search();
    report.planted = planted;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return report;
}

}  // namespace holdfast::crash
