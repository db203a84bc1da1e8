// What was asked for on the command line, and how the command writes what it found.
#pragma once

#include <crash/explore/fault.hpp>
#include <crash/explore/explore.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

namespace holdfast::crash {

/// Also of what cannot be written: 1 says that there are violations.
inline constexpr int exit_usage = 2;

/// Which part of the workloads this process is to explore.
struct shard {
    std::uint64_t index = 0;
    std::uint64_t count = 1;
};

struct options {
    std::string engine, workload, model, json_file, html_file, replay;
    std::optional<fault> planted;
    std::uint64_t images = 0, seed = 1;
    shard part;
    unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
    unsigned operations = 3, depth = 1;
    unsigned lives = 1;
    std::uint64_t nested_one_in = limits{}.nested_one_in;
    bool mutants = false;
    bool hints = false;
    bool widest = false;
};

bool is_wanted(const options& wanted, const model& how);
bool is_wanted(const options& wanted, const subject& what);

/// Does nothing without a path. Returns whether all of it was written; says what is wrong.
bool write_file(const std::string& path, const std::string& text);

/// At once: rows take long.
void show(const std::string& text);

}  // namespace holdfast::crash
