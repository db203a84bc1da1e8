#include <crash/plant/hunt.hpp>

#include <crash/explain/replay.hpp>
#include <crash/explore/explore.hpp>
#include <crash/explore/named.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/line/sites.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/pool/planted.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <string_view>

namespace holdfast::crash {
namespace {

/// What shows most, and what shows the rest.
constexpr std::string_view hunted_under[] = {"x86", "file", "kill"};
/// What a pool is that is saved when the power fails, besides.
constexpr std::string_view dnv_hunted_under[] = {"x86", "file", "kill", "power-fail"};
/// Of lines: one needs no more order than x86-64 has, and sums are for what tears.
constexpr std::string_view lines_hunted_under[] = {"x86", "arm", "x86-torn"};

bool is_undo(std::string_view engine) { return engine == "undo" || engine == "undo_paper"; }
bool is_of_wraps(std::string_view engine) { return engine == "softwrap_lat" || engine == "softwrap"; }
bool checkpoints(std::string_view engine) { return engine == "cc_htm"; }
bool paces(std::string_view engine) { return engine == "steal_no_force"; }
bool is_of_lines(std::string_view engine) {
    return engine != "redo" && engine != "dnv" && !is_undo(engine) && !is_of_wraps(engine) && !checkpoints(engine) &&
           !paces(engine);
}

bool is_in(std::string_view engine, planted_in places) {
    if (is_of_lines(engine)) return places == (engine == "lines" ? planted_in::lines : planted_in::line);
    // The rest of a dnv pool is redo's.
    if (engine == "dnv") return places == planted_in::dnv;
    // Recovery, levels and files of wraps, and most of cc_htm's, are redo's, where they are hunted; so is all of
    // steal_no_force but its pacer.
    switch (places) {
        case planted_in::all: return engine == "redo" || is_undo(engine);
        case planted_in::redo: return engine == "redo";
        case planted_in::undo: return is_undo(engine);
        case planted_in::softwrap_lat: return engine == "softwrap_lat";
        case planted_in::softwrap: return engine == "softwrap";
        case planted_in::wraps: return is_of_wraps(engine);
        case planted_in::cc_htm: return checkpoints(engine);
        case planted_in::steal_no_force: return paces(engine);
        case planted_in::line:
        case planted_in::lines:
        case planted_in::dnv: break;
    }
    return false;
}

std::span<const std::string_view> models_for(std::string_view engine) {
    if (is_of_lines(engine)) return lines_hunted_under;
    if (engine == "dnv") return dnv_hunted_under;
    return hunted_under;
}

/// Recovery of a pool of lines looks at its log too, in which nothing is; that of wraps is redo's.
bool is_own(std::string_view engine, const fault& planted) {
    const std::string_view where = name_of(planted.where);
    if (planted.how == fault::change::in_code) return true;
    if (is_of_lines(engine)) return where.starts_with("line");
    constexpr std::string_view of_commits[] = {"dnv", "log_commit", "log_record", "log_group", "save_"};
    if (engine == "dnv")
        return std::ranges::any_of(of_commits, [&](std::string_view name) { return where.starts_with(name); });
    // A checkpoint of groups is redo's.
    if (checkpoints(engine)) return where != "log_checkpoint_sequence";
    // S moves at other moments than redo's.
    if (paces(engine)) return where.starts_with("pace_") || where.starts_with("log_truncate_sequence");
    constexpr std::string_view of_files[] = {"log_group", "log_checkpoint"};
    const auto begins = [&](std::string_view name) { return where.starts_with(name); };
    return !is_of_wraps(engine) || where.starts_with("wrap") || where.starts_with("retire") ||
           (where.starts_with("log_") && std::ranges::none_of(of_files, begins));
}

/// The first must find most faults, and quickly; the last what needs several operations in the right order.
constexpr effort efforts[] = {
    {.longest = 1, .depth = 0, .images_of_a_cut = 48, .runs = 300},
    {.longest = 1, .depth = 1, .nested_one_in = 64, .images_of_a_cut = 12, .runs = 1000},
    {.longest = 1, .depth = 1, .nested_one_in = 1, .images_of_a_cut = 4, .runs = 1000},
    {.longest = 3, .drawn = 12, .images_of_a_cut = 2, .runs = 2000, .lives = 2},
    {.longest = 3, .drawn = 24, .depth = 0, .images_of_a_cut = 3, .runs = 3000},
    {.longest = 3, .drawn = 24, .depth = 1, .nested_one_in = 16, .images_of_a_cut = 6, .runs = 3000},
    {.longest = 4, .drawn = 48, .images_of_a_cut = 4, .runs = 20000, .lives = 2},
    {.longest = 4, .drawn = 96, .depth = 0, .images_of_a_cut = 3, .runs = 12000},
    {.longest = 4, .drawn = 24, .images_of_a_cut = 3, .runs = 40000, .lives = 3},
    {.longest = 4, .drawn = 96, .depth = 1, .nested_one_in = 16, .images_of_a_cut = 12, .runs = 12000},
};

/// A recovery of lines is short, and what it lacks shows in few of the images that one may be left with.
constexpr effort lines_efforts[] = {
    {.longest = 1, .depth = 0, .images_of_a_cut = 48, .runs = 300},
    {.longest = 1, .depth = 1, .nested_one_in = 1, .images_of_a_cut = 12, .runs = 2000},
    {.longest = 1, .depth = 1, .nested_one_in = 1, .images_of_a_cut = 200, .runs = 100000},
    {.longest = 3, .depth = 0, .images_of_a_cut = 12, .runs = 30000},
};

/// A fence or sync that a commit lacks is seen in what its acknowledgement promised.
constexpr effort promises{.longest = 1, .depth = 0, .runs = 0, .only_promises = true};

std::string words_of(const subject& what, const workload& operations) {
    std::string text;
    for (const unsigned each : operations) text += (text.empty() ? "" : ", ") + what.describe(each);
    return text;
}

}  // namespace

std::span<const unshown_fault> unshown_faults() {
    using enum fault::change;
    namespace site = persist::site;
    constexpr std::string_view nothing_lost =
        "a lost undo record's transaction has stored nothing yet, so recovery may see it or not";
    constexpr std::string_view own_fences =
        "shows only when another thread takes the lane before a fence of the first: with more threads than lanes";
    constexpr std::string_view for_the_compiler =
        "sums stand any order of stores; what a killed process stored is in that of the instructions";
    constexpr std::string_view below_the_floor =
        "what an older life left there has numbers that recovery passed: they are below the truncation point";
    constexpr std::string_view synced_before =
        "opening syncs first, and what recovery then writes is ordered for power";
    constexpr std::string_view before_trimming =
        "after the end of its commit it still comes before everything that trims the log";
    static constexpr unshown_fault all[] = {
        {"undo", {left_out, event_kind::fence, site::log_commit_fence}, nothing_lost},
        {"undo", {late, event_kind::fence, site::log_commit_fence}, nothing_lost},
        {"undo_paper", {left_out, event_kind::fence, site::log_commit_fence}, nothing_lost},
        {"undo_paper", {late, event_kind::fence, site::log_commit_fence}, nothing_lost},
        {"undo", {left_out, event_kind::fence, site::log_empty_fence}, own_fences},
        {"undo", {late, event_kind::fence, site::log_empty_fence}, own_fences},
        {"undo", {in_code, {}, {}, &planted::replayed_newest_first}, "a transaction records each word once"},
        {"redo", {in_code, {}, {}, &planted::salt_not_renewed},
         "an earlier lap's records are below the truncation point as well"},
        {"redo", {in_code, {}, {}, &planted::salt_of_last_life}, below_the_floor},
        {"redo", {in_code, {}, {}, &planted::headers_kept}, below_the_floor},
        {"redo", {in_code, {}, {}, &planted::torn_sequences_ignored},
         "recovery has emptied the header under whose salt a torn record might come to verify"},
        {"redo", {in_code, {}, {}, &planted::one_slot_renewed},
         "of two slots the higher counts, and what the other would lead to follows emptied headers"},
        {"redo", {in_code, {}, {}, &planted::stronger_level_recorded_early}, synced_before},
        {"undo", {in_code, {}, {}, &planted::stronger_level_recorded_early}, synced_before},
        {"undo_paper", {in_code, {}, {}, &planted::stronger_level_recorded_early}, synced_before},
        {"lines", {left_out, event_kind::order, site::line_order}, for_the_compiler},
        {"softwrap", {late, event_kind::fence, site::wrap_home_fence}, before_trimming},
        {"cc_htm", {late, event_kind::fence, site::wrap_home_fence}, before_trimming},
        {"lines", {late, event_kind::fence, site::lines_recovered_fence}, "nothing follows it in the recovery"},
    };
    return all;
}

hunting_ground hunting_ground_of(subject& what, const model& how, std::uint64_t seed) {
    limits few;
    few.images_of_a_cut = 2;
    few.nested_one_in = 8;
    if (what.is_for_lives()) {
        few.lives = 2;
        few.next_lives = 1;
    }
    explorer run(what, how, few, seed);
    for (unsigned operation = 0; operation < what.universe(); ++operation) {
        const workload one{operation};
        run.explore(one, what.record(one, how));
    }
    return {&what, &how, run.found().calls};
}

std::vector<hunting_ground> hunting_grounds_of(std::span<const std::unique_ptr<subject>> subjects,
                                               std::uint64_t seed) {
    std::vector<hunting_ground> all;
    for (const auto& what : subjects)
        for (const std::string_view name : models_for(what->engine())) {
            const model& how = *model_named(name);
            if (what->knows(how)) all.push_back(hunting_ground_of(*what, how, seed));
        }
    return all;
}

std::vector<fault> faults_of(std::span<const hunting_ground> grounds) {
    std::vector<fault> all;
    if (grounds.empty()) return all;
    const std::string_view engine = grounds.front().what->engine();
    const auto is_unshown = [&](const fault& planted) {
        return std::ranges::any_of(unshown_faults(), [&](const unshown_fault& each) {
            return each.engine == engine && each.what == planted;
        });
    };
    const auto add = [&](const fault& each) {
        if (std::ranges::find(all, each) == all.end() && is_own(engine, each) && !is_unshown(each)) all.push_back(each);
    };
    for (const hunting_ground& ground : grounds)
        if (!ground.how->writes_are_durable)
            for (const fault& each : faults_of(ground.passed)) add(each);
    for (const planted_fault* each : all_planted_faults())
        if (is_in(engine, each->engines)) add({fault::change::in_code, {}, {}, each});
    return all;
}

bool is_caught(subject& what, const model& how, const fault& planted, std::uint64_t seed, const effort& most,
               catch_report* report) {
    limits few;
    few.stop_at_first = true;
    few.depth = most.depth;
    few.nested_one_in = most.nested_one_in;
    few.killed_one_in = 1;
    few.images_of_a_cut = most.images_of_a_cut;
    few.lives = most.lives;
    few.only_promises = most.only_promises;
    const planted_here in_code(planted);
    explorer run(what, how, few, seed);
    run.plant_everywhere(planted);
    std::string fails;
    const auto has_looked = [&] { return !fails.empty() || run.has_enough() || run.found().runs > most.runs; };
    const auto program_fails = [&](const workload& operations, const failure& reason) {
        fails = "the program itself fails: " + reason.reason().text();
        if (report != nullptr)
            *report = {planted, true, std::string(what.name()), how.name, words_of(what, operations), fails, {}, 0};
    };
    // They are counted in recordings.
    const auto schedules_of = [&](const workload& operations) -> std::size_t {
        try {
            return what.schedules(operations, how);
        } catch (const failure& reason) {
            program_fails(operations, reason);
            return 0;
        }
    };
    const auto look = [&](const workload& operations, std::size_t schedule) {
        trace recorded;
        try {
            recorded = what.record(operations, how, schedule);
        } catch (const failure& reason) {
            return program_fails(operations, reason);
        }
        const bool differs = plant(planted, recorded);
        if (differs || most.depth > 0 || most.lives > 1) run.explore(operations, recorded, schedule);
    };
    std::mt19937_64 random(seed + most.drawn);
    for (unsigned drawn = 0; drawn < most.drawn && !has_looked(); ++drawn) {
        workload operations(2 + random() % (most.longest - 1));
        unsigned before = what.universe();
        for (unsigned& each : operations)
            each = before = most.lives > 1 ? what.draw_operation(before, random)
                                           : static_cast<unsigned>(random() % what.universe());
        if (const std::size_t schedules = schedules_of(operations)) look(operations, random() % schedules);
    }
    if (most.drawn == 0)
        for_each_workload(what.universe(), most.longest, [&](const workload& operations) {
            if (has_looked()) return;
            const std::size_t schedules = schedules_of(operations);
            for (std::size_t i = 0; i < schedules && !has_looked(); ++i) look(operations, i);
        });
    if (run.has_enough() && report != nullptr) {
        const violation& told = run.found().told.front();
        *report = {planted, true, std::string(what.name()), how.name, words_of(what, told.operations), told.what,
                   replay_line(scenario_of(what, how, planted, told)), 0};
    }
    return run.has_enough() || !fails.empty();
}

catch_report hunt(std::span<const hunting_ground> grounds, const fault& planted, std::uint64_t seed) {
    const auto may_show = [&](const hunting_ground& ground) {
        if (planted.how == fault::change::in_code) return true;
        return !ground.how->writes_are_durable && ground.passed.calls().contains({planted.kind, planted.where});
    };
    catch_report report;
    const bool lines = !grounds.empty() && is_of_lines(grounds.front().what->engine());
    const auto search = [&] {
        for (const effort& most : lines ? std::span<const effort>(lines_efforts) : std::span<const effort>(efforts))
            for (std::size_t i = 0; i < grounds.size(); ++i) {
                // Drawn workloads show most where others are slow to record.
                const hunting_ground& ground = grounds[most.drawn == 0 ? i : grounds.size() - 1 - i];
                // What has few images of many cuts shows nothing sooner than others.
                const bool is_slow = ground.what->images_of_a_cut() < 100 && !ground.how->is_saved;
                if (most.lives > 1 ? !ground.what->has_lives() || ground.how->is_saved : ground.what->is_for_lives())
                    continue;
                if (!may_show(ground) || (is_slow && most.lives == 1 && most.drawn == 0 && most.depth > 0)) continue;
                if (is_caught(*ground.what, *ground.how, planted, seed, most, &report)) return;
            }
    };
    const auto begin = std::chrono::steady_clock::now();
    // Faults in the code show there as well, but what they are about is another thing.
    const auto breaks_promise = [&](const hunting_ground& ground) {
        return may_show(ground) && is_caught(*ground.what, *ground.how, planted, seed, promises, nullptr);
    };
    const bool breaks = planted.how != fault::change::in_code && std::ranges::any_of(grounds, breaks_promise);
    search();
    report.breaks_promise = breaks;
    report.planted = planted;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return report;
}

}  // namespace holdfast::crash
