#include <bench/figures/simulated_runs.hpp>

#include <bench/contest/child.hpp>

#include <holdfast/base/result.hpp>

#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

extern char** environ;

namespace holdfast::bench {
namespace {

/// Parameters that are the same in all runs of a campaign, or follow from others.
constexpr std::array<std::string_view, 9> told_besides{"level", "medium", "delay_ns", "footprint_bytes", "operations",
                                                       "seed",  "order",  "commit",   "values"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> usual{{{"core", "2012"}, {"keys", "uniform"}}};

std::string text_of(const parameter& value) {
    if (const auto* const text = std::get_if<std::string>(&value)) return *text;
    return std::to_string(std::get<std::uint64_t>(value));
}

simulated_run run_of(const record& one) {
    simulated_run made{one.case_name, one.engine, one.threads};
    for (const auto& [name, value] : one.params) {
        const std::string text = text_of(value);
        const bool is_usual = std::any_of(usual.begin(), usual.end(), [&, &key = name](const auto& each) {
            return each.first == key && each.second == text;
        });
        if (name == "element") {
            made.element = text;
        } else if (!is_usual && std::find(told_besides.begin(), told_besides.end(), name) == told_besides.end()) {
            made.settings[name] = text;
        }
    }
    return made;
}

}  // namespace

std::string simulated_campaign::command_line() const {
    std::string text = "holdfast sim";
    for (const auto& each : arguments) text += " " + each;
    return text;
}

void run_campaign(const simulated_campaign& one, const std::string& shard, const std::string& json_path) {
    std::vector<std::string> words{program_beside("holdfast-sim"), "sim"};
    words.insert(words.end(), one.arguments.begin(), one.arguments.end());
    for (const auto& each : {std::string("--shard"), shard, std::string("--json"), json_path}) words.push_back(each);
    std::vector<char*> pointers;
    for (auto& each : words) pointers.push_back(each.data());
    pointers.push_back(nullptr);
    pid_t child = 0;
    int status = 0;
    const bool started = ::posix_spawn(&child, words[0].c_str(), nullptr, nullptr, pointers.data(), environ) == 0;
    if (started && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    throw failure({errc::io, "this did not succeed: " + one.command_line(), words[0], {}, {}, {}});
}

simulated_runs::simulated_runs(const std::vector<record>& records) {
    for (const auto& one : records) {
        // What the host needed is different in each run.
        if (one.suite != "sim" || one.metric.starts_with("host_")) continue;
        const auto [at, is_new] = runs_[run_of(one)].emplace(one.metric, one.value);
        if (!is_new && at->second != one.value)
            fail(errc::invalid_argument, "two records of one simulated run differ: " + one.case_name + ", " +
                                             one.engine + ", " + one.metric + "; were they made by different sweeps?");
    }
}

std::optional<double> simulated_runs::value(const simulated_run& one, const std::string& metric) const {
    const auto run = runs_.find(one);
    if (run == runs_.end()) return std::nullopt;
    const auto found = run->second.find(metric);
    if (found == run->second.end()) return std::nullopt;
    return found->second;
}

std::optional<double> simulated_runs::per_transaction(const simulated_run& one, const std::string& metric) const {
    return ratio(value(one, metric), value(one, "transactions"));
}

std::optional<double> geometric_mean(const std::vector<std::optional<double>>& values) {
    double sum = 0;
    std::size_t count = 0;
    for (const auto& each : values) {
        if (!each || *each <= 0) continue;
        sum += std::log(*each);
        ++count;
    }
    if (count == 0) return std::nullopt;
    return std::exp(sum / static_cast<double>(count));
}

std::optional<double> ratio(std::optional<double> above, std::optional<double> below) {
    if (!above || !below || *below == 0) return std::nullopt;
    return *above / *below;
}

}  // namespace holdfast::bench
