// What tests run whole programs on: a machine with an L2 that small structures do not fit into, and short runs.
#pragma once

#include <sim/machine/simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace holdfast::sim::test {

inline machine_config small_machine() {
    machine_config config;
    EXPECT_FALSE(set(config, "cache.dl1.size", "4KiB"));
    EXPECT_FALSE(set(config, "cache.l2.size", "64KiB"));
    EXPECT_FALSE(check(config));
    return config;
}

inline simulation_options small_run(const std::string& workload, std::uint32_t threads) {
    simulation_options options;
    options.program = HOLDFAST_GUEST_DIRECTORY "/" + workload;
    options.threads = threads;
    options.footprint_bytes = 512 << 10;
    options.operations = 1000;
    return options;
}

/// Names of tests have none.
inline std::string name_without_dashes(std::string name) {
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

/// Under `make soak`, which sets HOLDFAST_SOAK.
inline bool at_full_length() { return std::getenv("HOLDFAST_SOAK") != nullptr; }

inline void nobody_looks(const char*) {}

}  // namespace holdfast::sim::test
