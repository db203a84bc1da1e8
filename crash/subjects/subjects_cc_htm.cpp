// What is explored of cc_htm: the order of commits, over both algorithms and with aliases in each place; and what other
// engines are explored with, as far as it shows more of recovery, opening and the heap.
#include <crash/subjects/container_structure.hpp>
#include <crash/subjects/containers.hpp>
#include <crash/subjects/household.hpp>
#include <crash/subjects/prefix_subject.hpp>
#include <crash/subjects/subjects_cc_htm.hpp>
#include <crash/subjects/threads_subject.hpp>

#include <holdfast/engine/cc_htm_sets.hpp>
#include <holdfast/engine/cc_htm_table.hpp>

#include <memory>
#include <string>

namespace holdfast::crash {
namespace {

template <class Engine, unsigned Threads>
void add(std::vector<std::unique_ptr<subject>>& all, const std::string& suffix, const lag_options& how = {}) {
    const std::string name =
        "prefix_" + std::string(Engine::description.isolation) + (Threads == 2 ? "" : "_" + std::to_string(Threads));
    lag_options lagging = how;
    lagging.commits = 2;
    all.push_back(std::make_unique<prefix_subject<Engine, Threads>>(name + suffix, level::power, how));
    all.push_back(std::make_unique<prefix_subject<Engine, Threads>>(name + suffix + "_lag", level::lag, lagging));
}

}  // namespace

void add_subjects_of_cc_htm(std::vector<std::unique_ptr<subject>>& all) {
    add<cc_htm, 2>(all, "");
    add<cc_htm_versioned, 2>(all, "");
    add<cc_htm, 3>(all, "");
    add<cc_htm_versioned, 3>(all, "");
    add<cc_htm_table, 2>(all, "_table", {.table_words = 2});
    add<cc_htm_versioned_table, 2>(all, "_table", {.table_words = 2});
    // Two words are more than a table holds.
    add<cc_htm_versioned_table, 2>(all, "_small_table", {.table_words = 1});
    // Two sets of one entry: some transactions find none, and some have two words of one set.
    add<cc_htm_sets, 2>(all, "_sets", {.set_bytes = 64, .set_ways = 1});
    add<cc_htm_versioned_sets, 2>(all, "_sets", {.set_bytes = 64, .set_ways = 1});
    const auto made = []<template <class> class Of>() {
        return std::make_shared<container_structure<cc_htm, Of<cc_htm>>>();
    };
    all.push_back(explored_for_life(made.template operator()<queue_workload>()));
    // An opening syncs what a kill left in the caches, so its recovery is cut in memory.
    all.push_back(explored_in_memory(made.template operator()<queue_workload>()));
    all.push_back(explored_in_memory(made.template operator()<blocks_workload>()));
    all.push_back(explored_in_file(made.template operator()<blocks_workload>()));
    all.push_back(explored_for_life(made.template operator()<household_workload>()));
    for (const auto way : {persist::record_way::streamed, persist::record_way::written_back})
        all.push_back(std::make_unique<threads_subject<cc_htm>>(way));
}

}  // namespace holdfast::crash
