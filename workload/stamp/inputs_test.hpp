// The inputs of the STAMP programs, pinned: they are made anew for each run, and figures of different times can only be
// compared as long as the generators make the same. Whoever changes a generator on purpose changes these numbers, and
// measures again.
#pragma once

#include <workload/plain_access.hpp>
#include <workload/stamp/programs.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <ios>
#include <map>
#include <string>
#include <string_view>

namespace holdfast::workload::test {

/// Values without padding, eight bytes at once.
template <class T>
void add(stamp_hash& to, const T* from, std::uint64_t count) {
    ASSERT_EQ(count * sizeof(T) % sizeof(std::uint64_t), 0u) << "the last bytes would be left out";
    for (std::uint64_t i = 0; i < count * sizeof(T) / sizeof(std::uint64_t); ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, reinterpret_cast<const char*>(from) + i * sizeof(word), sizeof(word));
        to.add(word);
    }
}

inline void add_input(stamp_hash& to, const bayes_parameters& given) {
    const private_array<std::uint64_t> records(given.records);
    record_generator(given.seed, given.variables, given.input_parents_max, given.input_parent_percent)
        .records(records.data(), given.records);
    add(to, records.data(), given.records);
}

inline void add_input(stamp_hash& to, const genome_parameters& given) {
    const gene_generator generator(given.seed, given.gene_length, given.segment_length);
    const private_array<char> gene(given.gene_length);
    const private_array<std::uint64_t> segments(given.segments);
    generator.gene(gene.data());
    generator.segments(segments.data(), given.segments);
    add(to, gene.data(), given.gene_length);
    add(to, segments.data(), given.segments);
}

inline void add_input(stamp_hash& to, const intruder_parameters& given) {
    const stream_signatures signatures(given.seed);
    const stream_generator generator(given.seed, given.attack_percent, given.packets_max);
    const private_array<char> letters(given.packets_max * stream_generator::packet_bytes);
    for (std::uint64_t i = 0; i < given.streams; ++i) {
        generator.letters(i, signatures, letters.data());
        add(to, letters.data(), generator.packets(i) * stream_generator::packet_bytes);
        to.add(generator.is_attack(i) ? 1 : 0);
    }
}

inline void add_input(stamp_hash& to, const kmeans_parameters& given) {
    const point_generator generator(given.seed, given.dimensions, given.input_clusters);
    const private_array<float> point(given.dimensions);
    for (std::uint64_t i = 0; i < given.points; ++i) {
        generator.point(i, point.data());
        add(to, point.data(), given.dimensions);
    }
}

inline void add_input(stamp_hash& to, const labyrinth_parameters& given) {
    const private_array<maze_ends> ends(given.paths);
    const private_array<std::uint8_t> taken(given.size.cells());
    make_maze(given.seed, given.size, ends.data(), given.paths, taken.data());
    add(to, ends.data(), given.paths);
}

inline void add_input(stamp_hash& to, const ssca2_parameters& given) {
    const rmat_generator generator(given.seed, given.scale);
    const std::uint64_t edges = rmat_generator::edges_per_vertex << given.scale;
    for (std::uint64_t i = 0; i < edges; ++i) {
        const weighted_edge edge = generator.edge(i);
        add(to, &edge, 1);
    }
}

/// The tasks of a single client. The tables are no input: they are shared data, made by transactions.
inline void add_input(stamp_hash& to, const vacation_program_parameters& given) {
    vacation_tasks tasks(given.tasks, given.seed + 1);
    for (std::uint64_t i = 0; i < given.tasks.tasks; ++i) {
        const vacation_task task = tasks.next();
        to.add(static_cast<std::uint64_t>(task.kind));
        to.add(task.customer);
        to.add(task.count);
        for (std::uint64_t k = 0; k < task.count; ++k) {
            to.add(task.queries[k].table);
            to.add(task.queries[k].id);
            to.add(task.queries[k].price);
        }
    }
}

/// The triangles of the points, in the order in which the program numbers them.
inline void add_input(stamp_hash& to, const yada_parameters& given) {
    triangulation_root root{};
    const triangulation<plain_access> mesh(plain_access(), &root);
    const private_array<mesh_cavity<>> cavity(1);
    mesh.create();
    mesh_triangle* near = mesh.entrance();
    planar_points(given.seed, given.points).each([&](const plane_point& each) {
        near = mesh.add(near, each, cavity[0]);
    });
    const mesh_census<plain_access> all(plain_access(), mesh.entrance());
    for (std::uint64_t i = 0; i < all.count(); ++i) add(to, all[i]->corners, 3);
    for (std::uint64_t i = 0; i < all.count(); ++i) plain_access().free(all[i]);
}

/// By the usual names of the sets.
inline const std::map<std::string_view, std::uint64_t> known_inputs{
    {"bayes", 0xcd56a447f4172874ull},
    {"bayes+", 0x699a3ef20cd3041aull},
    {"bayes++", 0x1d42018c195b0995ull},
    {"genome", 0x85c4aca7762e0391ull},
    {"genome+", 0x22100cbba633d7b8ull},
    {"genome++", 0x0e6c536839239927ull},
    {"intruder", 0x5366e03f21886f97ull},
    {"intruder+", 0x727c7fd7c49ebbf7ull},
    {"intruder++", 0x4292286ef5b0f98bull},
    {"kmeans-high", 0x05b1a7f85b542358ull},
    {"kmeans-high+", 0xe7c127b07970a475ull},
    {"kmeans-high++", 0x6f479d3af0ce75b3ull},
    {"kmeans-low", 0x05b1a7f85b542358ull},
    {"kmeans-low+", 0xe7c127b07970a475ull},
    {"kmeans-low++", 0x6f479d3af0ce75b3ull},
    {"labyrinth", 0x01365c1cf3426741ull},
    {"labyrinth+", 0x011fe8852354ad19ull},
    {"labyrinth++", 0xd30140204c266ea7ull},
    {"ssca2", 0xeed80c78660fc0caull},
    {"ssca2+", 0x50e1228718ba5d9aull},
    {"ssca2++", 0xa2790dda56a088eaull},
    {"vacation-high", 0x46345ce463fb01edull},
    {"vacation-high+", 0x3a112a2834c9f0e3ull},
    {"vacation-high++", 0xbdf903bf30460fc0ull},
    {"vacation-low", 0x29f419ad77d8d80dull},
    {"vacation-low+", 0xcdf46d42286cb85dull},
    {"vacation-low++", 0x97a8f376e09c5d48ull},
    {"yada", 0x2788e2e1cb6df322ull},
    {"yada+", 0xb20eccdc2703a85aull},
    {"yada++", 0x7b0edfb455ad139dull},
};

/// For each set of parameters of one of these sizes.
inline void expect_known_inputs(std::initializer_list<std::string_view> sizes) {
    each_stamp_set([&](const auto& set) {
        if (std::find(sizes.begin(), sizes.end(), set.size) == sizes.end()) return;
        stamp_hash input;
        add_input(input, set.parameters);
        const std::string name = set.size == std::string_view("small") ? set.name : std::string(set.name) + set.size;
        const auto known = known_inputs.find(name);
        ASSERT_NE(known, known_inputs.end()) << name << " is new: 0x" << std::hex << input.value();
        EXPECT_EQ(known->second, input.value()) << name << " has another input: 0x" << std::hex << input.value();
    });
}

}  // namespace holdfast::workload::test
