#include <crash/exploration.hpp>

#include <crash/explore/explore.hpp>
#include <crash/record/source_lines.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <set>

namespace holdfast::crash {
namespace {

[[noreturn]] void refuse(std::string what) {
    throw failure({.code = errc::invalid_argument, .what = std::move(what)});
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string names_of(const structure& what, const workload& operations) {
    std::string text;
    for (const unsigned each : operations) text += (text.empty() ? "" : ", ") + quoted(what.operations()[each]);
    return text;
}

/// Before which events the operation that a cut interrupts had made its commits. Requires: one had begun.
std::vector<std::size_t> commits_of_interrupted(const trace& recorded, std::size_t cut) {
    const auto first = recorded.events.begin();
    const auto here = first + static_cast<std::ptrdiff_t>(cut);
    const auto is = [](event_kind kind) { return [kind](const event& each) { return each.kind == kind; }; };
    const auto began =
        std::find_if(std::reverse_iterator(here), recorded.events.rend(), is(event_kind::operation_begins));
    const auto begin = static_cast<std::size_t>(began.base() - first);
    const auto end = static_cast<std::size_t>(
        std::find_if(here, recorded.events.end(), is(event_kind::operation_done)) - first);
    std::vector<std::size_t> commits;
    std::ranges::copy_if(recorded.commits, std::back_inserter(commits),
                         [&](std::size_t at) { return at >= begin && at <= end; });
    return commits;
}

/// ", after commit 1 of 2"; empty where the operation has one.
std::string place_among_commits(const trace& recorded, std::size_t cut) {
    const auto commits = commits_of_interrupted(recorded, cut);
    if (commits.size() < 2) return {};
    const auto done = std::ranges::count_if(commits, [cut](std::size_t at) { return at <= cut; });
    return (done == 0 ? ", before commit 1" : ", after commit " + std::to_string(done)) + " of " +
           std::to_string(commits.size());
}

/// Which operation a cut before that event of the trace interrupts or follows.
std::string place_of_cut(const structure& what, const violation& found, const trace& recorded) {
    progress made;
    const std::size_t cut = std::min(found.cut, recorded.events.size());
    for (std::size_t i = 0; i < cut; ++i) made.count(recorded.events[i]);
    const std::string text = names_of(what, found.operations);
    if (made.begun[0] == 0) return text + "; cut before the first";
    const std::string operation = " operation " + std::to_string(made.begun[0]);
    if (made.done[0] == made.begun[0]) return text + "; cut after" + operation;
    return text + "; cut inside" + operation + place_among_commits(recorded, cut);
}

/// Stores that the library did not make, by the lines they come from, in program order.
std::vector<std::string> lines_of_stores(const trace& recorded) {
    std::set<const void*> seen;
    std::vector<std::string> lines;
    for (const event& each : recorded.events) {
        if (each.kind != event_kind::store || each.where || !seen.insert(each.code).second) continue;
        std::string line = source_line_of(each.code);
        if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    }
    return lines;
}

std::string describe(structure& what, std::size_t pool_bytes, subject& in_memory, const violation& found,
                     const trace& recorded) {
    if (const auto wrong = wrong_without_a_crash(what, pool_bytes, found.operations))
        return found.what + "\n  operations " + names_of(what, found.operations) + "; wrong without a crash, " +
               (*wrong == 0 ? "before the first" : "after operation " + std::to_string(*wrong));
    std::string text = found.what + "\n  operations " + place_of_cut(what, found, recorded);
    if (found.depth > 0) text += ", then its recovery cut";
    // Of a file's pages only the library's writes are recorded.
    const auto lines = lines_of_stores(in_memory.record(found.operations, *model_named("kill")));
    for (const std::string& each : lines) text += "\n  not stored by the library: " + each;
    return text;
}

limits first_violation(const exploration_settings& settings, unsigned depth) {
    limits most;
    most.images_of_a_cut = settings.images_of_a_cut;
    most.stop_at_first = true;
    most.depth = depth;
    return most;
}

/// The same violation between two commits of its operation, if it is there too: a commit that nobody was told of may
/// already be there, and a cut after it is easier to understand.
violation between_commits(subject& explored, const model& how, const violation& found,
                          const exploration_settings& settings, trace recorded) {
    if (found.depth > 0) return found;
    for (const std::size_t at : commits_of_interrupted(recorded, std::min(found.cut, recorded.events.size()))) {
        if (at <= found.cut) continue;
        recorded.explored_from = at;
        explorer run(explored, how, first_violation(settings, 0), settings.seed);
        run.explore(found.operations, recorded);
        const auto& again = run.found().told;
        return again.empty() || again.front().what != found.what ? found : again.front();
    }
    return found;
}

exploration_row explore_under(structure& what, const std::vector<std::unique_ptr<subject>>& subjects,
                              subject& explored, const model& how, unsigned operations,
                              const exploration_settings& settings) {
    const auto explore = [&](unsigned depth) {
        explorer run(explored, how, first_violation(settings, depth), settings.seed);
        for_each_workload(explored.universe(), operations, [&](const workload& each) {
            if (!run.has_enough()) run.explore(each);
        });
        return run.found();
    };
    // One cut is easier to understand than two.
    findings found = explore(0);
    if (found.violations == 0) found = explore(limits{}.depth);
    exploration_row row{how.name, found.workloads, found.images, found.exhaustive, {}};
    if (found.violations > 0) {
        const trace recorded = explored.record(found.told.front().operations, how);
        const violation told = between_commits(explored, how, found.told.front(), settings, recorded);
        row.violation = describe(what, settings.pool_bytes, *subjects.front(), told, recorded);
    }
    return row;
}

}  // namespace

exploration_outcome explore_structure(structure& what, unsigned operations, const exploration_settings& settings) {
    if (what.operations().empty()) refuse("there is no operation to explore");
    if (!settings.model.empty() && model_named(settings.model) == nullptr)
        refuse("there is no model " + std::string(settings.model));
    exploration_outcome outcome;
    // It is the caller's.
    const std::shared_ptr<structure> borrowed(std::shared_ptr<structure>(), &what);
    std::vector<std::unique_ptr<subject>> subjects;
    subjects.push_back(explored_in_memory(borrowed, settings.pool_bytes));
    subjects.push_back(explored_in_file(borrowed, settings.pool_bytes));
    for (const model& how : models)
        for (const auto& each : subjects)
            if (each->knows(how) && (settings.model.empty() || settings.model == how.name))
                outcome.rows.push_back(explore_under(what, subjects, *each, how, operations, settings));
    return outcome;
}

bool exploration_outcome::clean() const {
    return std::ranges::all_of(rows, [](const exploration_row& each) { return each.violation.empty(); });
}

std::string exploration_outcome::text() const {
    std::string text;
    for (const exploration_row& each : rows) {
        char line[160];
        std::snprintf(line, sizeof line, "%-8s %6llu workloads %9llu images  %s%s\n", std::string(each.model).c_str(),
                      static_cast<unsigned long long>(each.workloads), static_cast<unsigned long long>(each.images),
                      each.violation.empty() ? "right" : "WRONG", each.exhaustive ? "" : ", not every image tried");
        text += line;
        if (!each.violation.empty()) text += "  " + each.violation + "\n";
    }
    return text;
}

int exploration_outcome::print() const {
    std::fputs(text().c_str(), stdout);
    return clean() ? 0 : 1;
}

}  // namespace holdfast::crash
