// Every workload with one engine; included by one source per engine.
#pragma once

#include <crash/subjects/combining_subject.hpp>
#include <crash/subjects/container_structure.hpp>
#include <crash/subjects/containers.hpp>
#include <crash/subjects/household.hpp>
#include <crash/subjects/threads_subject.hpp>
#include <crash/subjects/wraps_subject.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace holdfast::crash {

/// Nothing survives a crash under an engine that does not recover.
template <class Engine>
    requires(!Engine::description.recovers)
void add_subjects(std::vector<std::unique_ptr<subject>>&) {}

template <class Engine>
void add_subjects(std::vector<std::unique_ptr<subject>>& all) {
    const auto made = []<template <class> class Of>() {
        return std::make_shared<container_structure<Engine, Of<Engine>>>();
    };
    const auto add = [&]<template <class> class Of>() {
        all.push_back(explored_in_memory(made.template operator()<Of>()));
        if constexpr (Engine::description.power_on_files)
            all.push_back(explored_in_file(made.template operator()<Of>()));
    };
    const auto add_life = [&]<template <class> class Of>() {
        all.push_back(explored_for_life(made.template operator()<Of>()));
    };
    // First what shows most faults soonest, last what takes longest.
    add.template operator()<hash_map_workload>();
    add_life.template operator()<queue_workload>();
    if constexpr (Engine::description.name == std::string_view("redo"))
        all.push_back(explored_for_warned_life(made.template operator()<queue_workload>()));
    add.template operator()<btree_map_workload>();
    add.template operator()<vector_workload>();
    add.template operator()<queue_workload>();
    add.template operator()<list_workload>();
    add.template operator()<string_workload>();
    add.template operator()<blocks_workload>();
    // A record for each word, as the paper had it, and a block of many pages would not fit into the small log.
    if constexpr (Engine::description.name != std::string_view("undo_paper")) {
        add.template operator()<large_vector_workload>();
        add_life.template operator()<household_workload>();
    }
    using persist::record_way;
    all.push_back(std::make_unique<threads_subject<Engine>>(record_way::streamed));
    if constexpr (detail::combines<Engine, combining_mutex>) {
        all.push_back(std::make_unique<combining_subject<Engine>>(record_way::streamed));
        all.push_back(std::make_unique<combining_subject<Engine>>(record_way::written_back));
    }
    // Wraps fill their log as `redo` does.
    if constexpr (!Engine::opens_wraps)
        all.push_back(std::make_unique<threads_subject<Engine>>(record_way::written_back));
    if constexpr (Engine::opens_wraps) all.push_back(std::make_unique<wraps_subject<Engine>>());
}

}  // namespace holdfast::crash
