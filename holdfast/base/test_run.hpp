// How long tests run, and what their random numbers begin with.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace holdfast::test {

/// Under `make soak`, which sets HOLDFAST_SOAK.
inline bool at_full_length() { return std::getenv("HOLDFAST_SOAK") != nullptr; }

/// Another one in each run, which prints it; HOLDFAST_SEED replays one.
inline std::uint64_t seed_of_run() {
    const char* const given = std::getenv("HOLDFAST_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::printf("HOLDFAST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    return seed;
}

}  // namespace holdfast::test
