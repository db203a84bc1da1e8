// Suite bounded-buffer: the scenarios of the paper on cache-line transactions, against its rival and the floor.
#include <bench/buffers.hpp>
#include <bench/bounded_buffer.hpp>
#include <bench/rivals/process.hpp>
#include <bench/suites.hpp>

namespace holdfast::bench {
namespace {

/// The least log that a pool has room for thousands of these transactions in, so that every batch pays for truncations.
constexpr std::uint64_t buffer_log_bytes = 1u << 20;

parameters buffer_parameters(const setting& where) {
    return {{"level", where.level}, {"medium", where.medium}, {"delay_ns", std::uint64_t{where.delay_ns}}};
}

void add_buffers(match& to, const setting& where, const options& asked, scratch& space) {
    const std::vector<std::string> cases(scenario_names.begin(), scenario_names.end());
    for (const auto& engine : buffer_engines())
        if (chosen(asked, engine))
            to.entries.push_back({engine, make_buffers(engine, where, space), cases, buffer_parameters(where)});
}

match make_buffer_match(const std::string& level, const options& asked, scratch& space) {
    setting where;
    where.level = level;
    where.log_bytes = buffer_log_bytes;
    match made;
    made.suite = "bounded-buffer";
    made.title = "bounded-buffer   level " + level + "   medium nvram   threads 1";
    made.limits.wanted_ns = asked.quick ? 10e6 : 40e6;
    made.limits.log_bytes = buffer_log_bytes;
    made.limits.laps = level == "power" ? 1.2 : 0;
    if (level == "power" && chosen(asked, "none"))
        made.entries.push_back({"none", make_buffer_floor(space), {"floor"}, buffer_parameters(setting{})});
    add_buffers(made, where, asked, space);
    return made;
}

}  // namespace

std::vector<planned_match> plan_bounded_buffer(const options& wanted, scratch& space) {
    return {[&] { return make_buffer_match("power", wanted, space); },
            [&] { return make_buffer_match("process", wanted, space); }};
}

}  // namespace holdfast::bench
