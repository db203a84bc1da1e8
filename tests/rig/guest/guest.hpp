// What runs in the machine that loses its power: numbered transactions, and what they must have left.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace holdfast::rig {

/// What one workload is run on. A thread's transaction n follows from the seed.
struct request {
    std::string engine;
    std::string path;  ///< of the pool, or of the region of a workload without a pool
    std::uint64_t threads = 1;
    std::uint64_t seed = 0;
};

/// What is found after a cut.
struct findings {
    std::vector<std::uint64_t> done;    ///< transactions of each thread that are there
    std::vector<std::string> problems;  ///< sentences; anything torn
};

struct workload {
    /// Works until the power fails; returns never. Throws what stops it.
    void (*work)(const request&);
    /// Recovers and compares. Throws what keeps it from that.
    findings (*verify)(const request&);
};

/// Those of this program; nullptr if it has none of that name.
const workload* workload_named(const std::string& engine);

/// Acknowledges a transaction on the console. Thread-safe: a line is written by one call.
void acknowledge(std::uint64_t thread, std::uint64_t number);
/// Ends the program: a thread cannot go on.
[[noreturn]] void give_up(std::uint64_t thread, const std::exception& reason);

/// What transaction `number` stores at place `at`, where a workload has no model of its own.
constexpr std::uint64_t stored_word(std::uint64_t seed, std::uint64_t number, std::uint64_t at) noexcept {
    std::uint64_t mixed = (seed ^ number * 0x9E3779B97F4A7C15) + at * 0xD1342543DE82EF95;
    mixed = (mixed ^ (mixed >> 32)) * 0xBF58476D1CE4E5B9;
    return mixed ^ (mixed >> 29);
}

}  // namespace holdfast::rig
