// Who takes part in a match: engines of ours as far as level and medium allow, the floor, rivals.
#pragma once

#include <bench/contest/setting.hpp>
#include <bench/floor.hpp>
#include <bench/rivals/process.hpp>
#include <bench/suites.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/steal_no_force.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/engine/volatile_only.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {

/// What one match of a suite over pools is made of.
struct field {
    std::string suite;
    setting where;
    std::vector<std::string> cases;
    bool with_undo_paper = true;
    bool with_rivals = true;
    bool floor_is_recorded = true;
};

inline batch_limits limits_of(const field& wanted, bool quick) {
    const bool power = wanted.where.level == "power";
    const bool slow = wanted.where.medium == "file" && power;
    batch_limits limits;
    limits.log_bytes = wanted.where.log_bytes;
    limits.wanted_ns = slow ? (quick ? 100e6 : 200e6) : (quick ? 15e6 : 50e6);
    // A little more than one lap, so that every batch pays for a truncation.
    limits.laps = power ? 1.2 : 0;
    limits.longest_ns = quick ? 700e6 : 3e9;
    limits.more_repetitions = quick ? 4 : 20;
    return limits;
}

/// Adds `Contestant<Engine>` for each engine that can keep the level on the medium.
/// Contestant: constructible from (path, setting).
template <template <class> class Contestant>
void add_engines(match& to, const field& wanted, const options& asked, scratch& space) {
    const setting& where = wanted.where;
    const auto add_as = [&]<class Engine>(std::type_identity<Engine>, const setting& as) {
        const std::string name(Engine::description.name);
        if (!chosen(asked, name)) return;
        to.entries.push_back({name, std::make_unique<Contestant<Engine>>(space.path(as.medium, name + as.variant), as),
                              wanted.cases, as.as_parameters()});
    };
    const auto add = [&](auto engine) { add_as(engine, where); };
    add(std::type_identity<volatile_only>{});
    if (where.level == "process" || where.medium != "file") {
        if (wanted.with_undo_paper) add(std::type_identity<undo_paper>{});
        add(std::type_identity<undo>{});
    }
    add(std::type_identity<redo>{});
    // Elsewhere it is redo.
    if (where.level != "power" || where.medium == "file") return;
    add(std::type_identity<steal_no_force>{});
    setting by_commits = where;
    by_commits.variant = "by_commits";
    add_as(std::type_identity<steal_no_force>{}, by_commits);
}

/// Rivals that keep the same promise on the same medium. LMDB and SQLite have no notion of NVRAM, so
/// at `power` they stand on files only; with a delay nobody else does, for it is ours alone.
inline void add_rivals(match& to, const field& wanted, const options& asked, scratch& space) {
    const setting& where = wanted.where;
    if (!wanted.with_rivals || where.delay_ns != 0) return;
    for (const std::string rival : {"libpmemobj", "lmdb", "sqlite"}) {
        const bool promises = rival == "libpmemobj" || where.medium == "file" || where.level == "process";
        if (promises && chosen(asked, rival))
            to.entries.push_back(
                {rival, start_rival(rival, wanted.suite, where, space), wanted.cases, where.as_parameters()});
    }
}

/// The whole match: floor, engines, rivals.
template <template <class> class Contestant>
match make_match(const field& wanted, const options& asked, scratch& space) {
    const setting& where = wanted.where;
    match made;
    made.suite = wanted.suite;
    made.title = where.title(wanted.suite);
    made.threads = where.threads;
    made.limits = limits_of(wanted, asked.quick);
    if (where.level == "power" && chosen(asked, "none"))
        made.entries.push_back(
            floor_entry(where.medium, where.threads, where.log_bytes, space, wanted.floor_is_recorded));
    add_engines<Contestant>(made, wanted, asked, space);
    add_rivals(made, wanted, asked, space);
    return made;
}

/// The match of kinds of locks: all threads take the same one for each transaction. volatile_only has no fence to
/// share.
template <template <class> class Contestant>
match make_match_of_locks(const field& wanted, const options& asked, scratch& space) {
    setting where = wanted.where;
    where.shared_lock = true;
    match made;
    made.suite = wanted.suite;
    made.title = where.title(wanted.suite) + "   one lock for all";
    made.threads = where.threads;
    made.limits = limits_of(wanted, asked.quick);
    if (chosen(asked, "none"))
        made.entries.push_back(
            floor_entry(where.medium, where.threads, where.log_bytes, space, wanted.floor_is_recorded));
    const auto add = [&]<class Engine>(std::type_identity<Engine>, const char* lock) {
        const std::string name(Engine::description.name);
        if (!chosen(asked, name)) return;
        where.lock = lock;
        made.entries.push_back({name, std::make_unique<Contestant<Engine>>(space.path(where.medium, name), where),
                                wanted.cases, where.as_parameters()});
    };
    add(std::type_identity<volatile_only>{}, "mutex");
    add(std::type_identity<redo>{}, "mutex");
    add(std::type_identity<redo>{}, "combining");
    return made;
}

}  // namespace holdfast::bench
