// A pool's memory after a cut, in which an uncertain line takes shape only when it is read: of its
// possible contents those stay that agree on what was read. Lines that recovery never reads cost
// nothing. Source: Gorjiara, Xu, Demsky, Jaaru, ASPLOS 2021.
//
// Protocol
//   1. `settle` puts the certain words into the memory and lists the uncertain units.
//   2. `begin` starts a run. Instrumented code calls `read` before each load and `write` before each store.
//   3. A read that uncertain contents answer in several ways is a choice: the first answer not yet
//      tried after the same choices before. What a store has overwritten is certain.
//   4. `end` undoes what the run changed. `begin` again, until no choice is left.
#pragma once

#include <crash/medium.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace holdfast::crash {

/// The choices of one run.
using choices = std::vector<std::uint32_t>;

class lazy_memory {
public:
    /// `memory` is where the program's pointers expect the pool. One thread.
    explicit lazy_memory(std::span<std::byte> memory);

    void settle(const medium& after_cut);
    /// Starts a run that makes these choices, and from there on the first of each.
    void begin(choices made);
    /// Starts a run whose choices are drawn.
    void begin(std::mt19937_64& random);
    void end();

    void read(const void* at, std::size_t size) {
        const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - memory_.data());
        if (offset < memory_.size()) [[unlikely]]
            read_inside(offset, size);
    }
    void write(const void* at, std::size_t size) {
        const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - memory_.data());
        if (offset < memory_.size()) [[unlikely]]
            write_inside(offset, size);
    }

    const choices& made() const noexcept { return made_; }
    /// The choices of the next run in depth-first order; empty when every one was made. Requires:
    /// the last run was begun with `choices`.
    bool next(choices& following) const;
    /// In a run: the image as it was before the run changed it, words that nobody told apart as the
    /// oldest of what they may be.
    std::vector<std::uint64_t> image() const;
    /// Tells images apart: the certain words, and what the uncertain ones were found to be.
    std::uint64_t image_hash() const noexcept;

private:
    enum line_flag : std::uint8_t { uncertain = 1, touched = 2 };
    /// A unit in a run.
    struct state {
        const unit* of = nullptr;
        std::vector<std::uint32_t> left;  ///< versions that agree with what was read
        std::uint64_t overwritten[8] = {};  ///< bits of each word that a store of the run has covered
    };

    void read_inside(std::uint64_t offset, std::size_t size);
    void write_inside(std::uint64_t offset, std::size_t size);
    void touch(std::uint64_t line);
    void resolve(state& unit_state, std::uint64_t offset, std::size_t size);
    void put(const state& unit_state);
    std::uint32_t choose(std::uint32_t options);

    std::span<std::byte> memory_;
    std::vector<std::uint64_t> certain_;
    std::vector<std::uint8_t> flags_;          ///< by line
    std::vector<unit> units_;                  ///< by line
    std::vector<std::uint32_t> first_of_line_; ///< by line: its first unit
    std::vector<state> states_;
    std::vector<std::uint32_t> changed_states_;
    std::vector<std::uint64_t> touched_;       ///< lines to put back
    choices wanted_;
    choices made_;
    std::vector<std::uint32_t> options_;       ///< of each choice made
    std::mt19937_64* random_ = nullptr;
    std::uint64_t hash_ = 0;
};

/// Where instrumented code reports to while a run is on; nullptr otherwise.
extern lazy_memory* instrumented_memory;

}  // namespace holdfast::crash
