// Suite bounded-buffer: the scenarios of the paper on cache-line transactions, against its rival and the floor.
#include <bench/buffers.hpp>
#include <bench/contest/bounded_buffer.hpp>
#include <bench/figures/paper_ratios.hpp>
#include <bench/rivals/process.hpp>
#include <bench/suites.hpp>

#include <algorithm>
#include <cmath>

namespace holdfast::bench {
namespace {

/// Small, so that every batch pays for truncations.
constexpr std::uint64_t buffer_log_bytes = 1u << 20;

parameters buffer_parameters(const setting& where) {
    return {{"level", where.level}, {"medium", where.medium}, {"delay_ns", std::uint64_t{where.delay_ns}}};
}

setting buffer_setting(const std::string& level, std::uint32_t delay_ns) {
    setting where;
    where.level = level;
    where.delay_ns = delay_ns;
    where.log_bytes = buffer_log_bytes;
    return where;
}

/// Short enough that most are not interrupted.
double scenario1_ns(contestant& of) {
    const batch done = of.run(scenario_names[0], buffers_at_once / 4 * buffer_bytes);
    return done.ns / static_cast<double>(done.transactions);
}

/// What is not disturbed by other programs, however few of the values that are.
double lower_quartile(std::vector<double> values) {
    const auto quartile = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
    std::nth_element(values.begin(), quartile, values.end());
    return *quartile;
}

/// The delay that makes `line` `times_as_slow` times as slow in scenario 1, found by correcting a guess.
std::uint32_t find_delay(double times_as_slow, scratch& space) {
    constexpr int corrections = 5, pairs = 60;
    const auto undelayed = make_buffers("line", buffer_setting("power", 0), space);
    double delay_ns = 0;
    for (int i = 0; i < corrections; ++i) {
        const auto delay = static_cast<std::uint32_t>(std::lround(std::max(delay_ns, 1.0)));
        const auto delayed = make_buffers("line", buffer_setting("power", delay), space);
        std::vector<double> fast, slow;
        for (int pair = 0; pair < pairs; ++pair) {
            fast.push_back(scenario1_ns(*undelayed));
            slow.push_back(scenario1_ns(*delayed));
        }
        delay_ns = delay + times_as_slow * lower_quartile(fast) - lower_quartile(slow);
    }
    return static_cast<std::uint32_t>(std::lround(std::max(delay_ns, 1.0)));
}

/// None, and what makes `line` as slow in scenario 1 as it was on the paper's two kinds of NVRAM.
std::vector<std::uint32_t> delays_ns(const options& asked, scratch& space) {
    if (asked.delay_ns != 0) return {0, asked.delay_ns};
    const std::uint32_t interleaved = find_delay(paper_slowdown_interleaved, space);
    return {0, interleaved, std::max(find_delay(paper_slowdown_not_interleaved, space), interleaved + 1)};
}

void add_buffers(match& to, const setting& where, const options& asked, scratch& space) {
    const std::vector<std::string> cases(scenario_names.begin(), scenario_names.end());
    for (const auto& engine : buffer_engines())
        if (chosen(asked, engine))
            to.entries.push_back({engine, make_buffers(engine, where, space), cases, buffer_parameters(where)});
    if (where.level != "power") return;
    for (const std::string rival : {"libpmemobj", "libpmemobj_best"})
        if (chosen(asked, rival))
            to.entries.push_back(
                {rival, start_rival(rival, "bounded-buffer", where, space), cases, buffer_parameters(where)});
}

match make_buffer_match(const std::string& level, const options& asked, scratch& space) {
    match made;
    made.suite = "bounded-buffer";
    made.title = "bounded-buffer   level " + level + "   medium nvram   threads 1   (+N: N ns more for each line)";
    // Many short batches: these ratios are of few nanoseconds.
    made.limits.wanted_ns = asked.quick ? 4e6 : 10e6;
    made.limits.repetitions = asked.quick ? 15 : 31;
    made.limits.log_bytes = buffer_log_bytes;
    made.limits.laps = level == "power" ? 1.2 : 0;
    made.limits.longest_ns = asked.quick ? 60e6 : 800e6;
    const bool power = level == "power";
    if (power && chosen(asked, "none"))
        made.entries.push_back({"none", make_buffer_floor(space), {"floor"}, buffer_parameters(setting{})});
    for (const auto delay_ns : power ? delays_ns(asked, space) : std::vector<std::uint32_t>{0})
        add_buffers(made, buffer_setting(level, delay_ns), asked, space);
    return made;
}

}  // namespace

std::vector<planned_match> plan_bounded_buffer(const options& wanted, scratch& space) {
    return {[&] { return make_buffer_match("power", wanted, space); },
            [&] { return make_buffer_match("process", wanted, space); }};
}

}  // namespace holdfast::bench
