// The STAMP programs that there are, with their sets of parameters.
#pragma once

#include <workload/stamp/bayes.hpp>
#include <workload/stamp/genome.hpp>
#include <workload/stamp/intruder.hpp>
#include <workload/stamp/kmeans.hpp>
#include <workload/stamp/labyrinth.hpp>
#include <workload/stamp/ssca2.hpp>
#include <workload/stamp/vacation.hpp>
#include <workload/stamp/yada.hpp>

#include <string_view>

namespace holdfast::workload {

/// Calls f(set) for each set of parameters, a stamp_set.
template <class F>
void each_stamp_set(F&& f) {
    for (const auto& set : bayes_sets) f(set);
    for (const auto& set : genome_sets) f(set);
    for (const auto& set : intruder_sets) f(set);
    for (const auto& set : kmeans_sets) f(set);
    for (const auto& set : labyrinth_sets) f(set);
    for (const auto& set : ssca2_sets) f(set);
    for (const auto& set : vacation_sets) f(set);
    for (const auto& set : yada_sets) f(set);
}

/// Calls f(set) for the one that is called `name`, as kmeans-low or kmeans-low++. False if there is none.
template <class F>
bool with_stamp_set(std::string_view name, F&& f) {
    bool found = false;
    each_stamp_set([&](const auto& set) {
        const std::string_view size = set.size == std::string_view("small") ? std::string_view() : set.size;
        const std::string_view program = set.name;
        if (name.size() != program.size() + size.size() || !name.starts_with(program) || !name.ends_with(size)) return;
        found = true;
        f(set);
    });
    return found;
}

/// The program of a set, over an Access.
template <class Set, access Access>
using stamp_program = typename decltype(Set::parameters)::template program<Access>;

}  // namespace holdfast::workload
