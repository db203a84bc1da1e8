// Every workload with one engine; included by one source per engine.
#pragma once

#include <crash/subjects/household.hpp>
#include <crash/subjects/opened_subject.hpp>
#include <crash/subjects/subject_of.hpp>
#include <crash/subjects/threads_subject.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace holdfast::crash {

template <class Engine>
void add_subjects(std::vector<std::unique_ptr<subject>>& all) {
    const auto add = [&]<template <class> class Of>() {
        all.push_back(std::make_unique<subject_of<Engine, Of<Engine>>>());
        if constexpr (Engine::description.power_on_files)
            all.push_back(std::make_unique<opened_subject<Engine, Of<Engine>, false>>());
    };
    // First what shows most faults soonest, last what takes longest.
    add.template operator()<hash_map_subject>();
    all.push_back(std::make_unique<opened_subject<Engine, queue_subject<Engine>, true>>());
    add.template operator()<btree_map_subject>();
    add.template operator()<vector_subject>();
    add.template operator()<queue_subject>();
    add.template operator()<list_subject>();
    add.template operator()<string_subject>();
    add.template operator()<blocks_subject>();
    // A record for each word, as the paper had it, and a block of many pages would not fit into the small log.
    if constexpr (Engine::description.name != std::string_view("undo_paper"))
        add.template operator()<large_vector_subject>();
    if constexpr (Engine::description.name != std::string_view("undo_paper"))
        all.push_back(std::make_unique<opened_subject<Engine, household_subject<Engine>, true>>());
    all.push_back(std::make_unique<threads_subject<Engine>>());
}

}  // namespace holdfast::crash
