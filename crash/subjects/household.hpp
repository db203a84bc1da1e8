// What several lives of a pool work on: a block of many pages that grows, changes and is freed, so that the next one
// takes its pages again and is stored to without logging, and a second such block beside it.
#pragma once

#include <crash/subjects/expectation.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/container/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::crash {

template <class Engine>
struct household {
    using word = typename Engine::template field<std::uint64_t>;
    /// Large enough to be stored to without logging while it is fresh.
    static constexpr std::size_t block_words = 2048;
    /// One of this number of words is stored, the first and the last among them.
    static constexpr std::size_t step = 89;
    static_assert((block_words - 1) % step == 0);

    vector<std::uint64_t, Engine> large;
    typename Engine::template field<word*> block;

    void replace(std::uint64_t value) {
        if (block.get() != nullptr) Engine::deallocate(block.get());
        auto* const made = reinterpret_cast<word*>(Engine::allocate(block_words * sizeof(word)));
        for (std::size_t i = 0; i < block_words; i += step) new (made + i) word(value);
        block = made;
    }
    result<void> check() const { return large.check(); }
    template <class F>
    void visit_blocks(F&& f) const {
        large.visit_blocks(f);
        if (block.get() != nullptr) f(static_cast<const void*>(block.get()));
    }
};

/// The same on the ordinary heap.
struct ordinary_household {
    std::vector<std::uint64_t> large;
    std::uint64_t block = 0;  ///< what all of its words hold; 0: there is none

    void replace(std::uint64_t value) { block = value; }
};

template <class Engine>
struct household_workload {
    using container = household<Engine>;
    using ordinary = ordinary_household;
    static constexpr std::string_view name = "lives";
    static constexpr bool is_for_lives = true;
    static constexpr std::string_view operations[] = {"append three pages", "change some", "clear and shrink to fit",
                                                      "replace the block", "append, change, and roll back"};
    static constexpr unsigned universe = std::size(operations);
    static constexpr std::size_t words = 1600;
    /// Each has many words: fewer will do.
    static constexpr std::uint64_t images_of_a_cut = 64;
    static constexpr std::uint64_t nested_less_often = 16;

    static std::string describe(unsigned operation) { return std::string(operations[operation]); }
    static bool rolls_back(unsigned operation) { return operation == 4; }
    template <class Target>
    static void apply(Target& target, unsigned operation, std::uint64_t value) {
        auto& large = target.large;
        const std::size_t before = large.size();
        if (operation == 0 || operation == 4) {
            // Twice as much is as long as it gets: the pool is small.
            if (before <= words) large.resize(before + words, value);
        }
        if ((operation == 1 || operation == 4) && !large.empty())
            for (std::size_t i = 0; i < large.size(); i += 311) large[i] = value + 50;
        if (operation == 2) {
            large.clear();
            large.shrink_to_fit();
        }
        if (operation == 3) target.replace(value);
    }
    template <class Target>
    static void prepare(Target& target) {
        target.large.resize(words, 1000);
        target.replace(1001);
    }
    /// Runs of equal values, the block's words behind them.
    static contents contents_of(const ordinary& from) {
        contents all;
        for (const std::uint64_t each : from.large) add(all, each);
        for (std::size_t i = 0; from.block != 0 && i < container::block_words; i += container::step)
            add(all, from.block);
        return all;
    }
    static contents contents_of(const container& from) {
        contents all;
        for (const std::uint64_t each : from.large) add(all, each);
        if (const auto* const block = from.block.get(); block != nullptr)
            for (std::size_t i = 0; i < container::block_words; i += container::step) add(all, block[i].get());
        return all;
    }
    static ordinary restored(const contents& from) {
        ordinary made;
        for (std::size_t i = 0; i + 1 < from.size(); i += 2) made.large.insert(made.large.end(), from[i + 1], from[i]);
        // The block's words stand last.
        const std::size_t in_block = (container::block_words - 1) / container::step + 1;
        if (made.large.size() % words == in_block) {
            made.block = made.large.back();
            made.large.resize(made.large.size() - in_block);
        }
        return made;
    }

private:
    static void add(contents& all, std::uint64_t value) {
        if (all.empty() || all[all.size() - 2] != value) all.insert(all.end(), {value, 0});
        ++all.back();
    }
};

}  // namespace holdfast::crash
