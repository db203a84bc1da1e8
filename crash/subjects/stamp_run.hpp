// Lives of STAMP programs with inputs so small that every store of a run can be cut, on one thread.
#pragma once

#include <crash/subjects/stamp_book.hpp>

#include <workload/stamp/life.hpp>
#include <workload/stamp/programs.hpp>

#include <functional>
#include <iterator>

namespace holdfast::crash {

inline constexpr const char* stamp_names[] = {"bayes",     "genome", "intruder", "kmeans",
                                              "labyrinth", "ssca2",  "vacation", "yada"};
inline constexpr unsigned stamp_programs = std::size(stamp_names);

/// f(parameters) for the program of that number.
template <class F>
auto with_small_program(unsigned program, F&& f) {
    using namespace holdfast::workload;
    switch (program) {
        case 0: return f(bayes_parameters{.variables = 4, .records = 256, .input_parent_percent = 60, .seed = 5});
        case 1: return f(genome_parameters{.gene_length = 16, .segment_length = 4, .segments = 16});
        case 2: return f(intruder_parameters{.attack_percent = 40, .packets_max = 2, .streams = 4});
        case 3: return f(kmeans_parameters{.clusters = 3, .points = 8, .dimensions = 4, .input_clusters = 3});
        case 4: return f(labyrinth_parameters{.size = {5, 5, 1}, .paths = 4, .seed = 2});
        case 5: return f(ssca2_parameters{.scale = 2});
        case 6: {
            vacation_program_parameters given{vacation_high};
            given.tasks.relations = 4;
            given.tasks.tasks = 8;
            return f(given);
        }
        default: return f(yada_parameters{.points = 4, .seed = 2});
    }
}

/// Runs a program to its end in an open pool, with what it does in a book; nullptr: in none.
using stamp_live = std::function<holdfast::workload::life_report(unsigned program, stamp_book* book)>;

/// The barrier of one thread.
struct alone {
    void arrive_and_wait() const noexcept {}
};

/// What is in the pool is taken up, or a run is begun; it is worked to its end, checked and taken away.
template <holdfast::workload::access Access>
holdfast::workload::life_report live_alone(const Access& memory, holdfast::workload::kept_run* kept, unsigned program) {
    return with_small_program(program, [&](const auto& given) {
        return holdfast::workload::live_as(memory, kept, given, 1, [](auto& running) -> const char* {
            alone all;
            holdfast::workload::stamp_thread<alone> me(0, 1, all);
            running.work(me);
            return me.failed() ? "a transaction of the work failed" : nullptr;
        });
    });
}

}  // namespace holdfast::crash
