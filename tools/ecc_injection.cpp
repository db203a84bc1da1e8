#include "ecc_injection.hpp"

#include <holdfast/ecc/repair.hpp>

#include <workload/random.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::tools {
namespace {

using ecc::coded_word;

constexpr unsigned bits_of_pair = 128;
/// Trials that share a generator, whichever thread runs them.
constexpr std::uint64_t block_trials = 1u << 14;

void flip_bit(coded_word& in, std::uint64_t bit) {
    (bit < 64 ? in.word : in.code) ^= std::uint64_t{1} << bit % 64;
}

coded_word random_flips(unsigned bits, workload::random& numbers) {
    coded_word made;
    // Many flips are all but a few.
    const unsigned few = std::min(bits, bits_of_pair - bits);
    for (unsigned done = 0; done < few;) {
        const std::uint64_t bit = numbers.below(bits_of_pair);
        if (((bit < 64 ? made.word : made.code) >> bit % 64 & 1u) != 0) continue;
        flip_bit(made, bit);
        ++done;
    }
    return few == bits ? made : coded_word{~made.word, ~made.code};
}

/// The pattern of that index among all of `bits` flips, in the order of their highest bits.
coded_word pattern_of_index(unsigned bits, std::uint64_t index) {
    const auto patterns_below = [](std::uint64_t bit, unsigned of) {  // all of `of` flips below this bit
        std::uint64_t number = 1;
        for (unsigned i = 0; i < of; ++i) number = number * (bit - std::min<std::uint64_t>(bit, i)) / (i + 1);
        return number;
    };
    coded_word made;
    std::uint64_t bit = bits_of_pair;
    for (; bits > 0; --bits) {
        do --bit;
        while (patterns_below(bit, bits) > index);
        flip_bit(made, bit);
        index -= patterns_below(bit, bits);
    }
    return made;
}

void try_one(coded_word flips, std::uint64_t word, injection_counts& counts) {
    const coded_word valid{word, ecc::encode(word)};
    const ecc::repair_result made = ecc::repair({valid.word ^ flips.word, valid.code ^ flips.code});
    ++counts.trials;
    if (made.outcome == ecc::repair_outcome::intact) ++counts.undetected;
    else if (!made) ++counts.refused;
    else if (made.right == valid) ++counts.repaired;
    else ++counts.wrong;
}

injection_counts run_block(const injection& asked, std::uint64_t block, std::uint64_t trials) {
    std::uint64_t seed = asked.seed;
    workload::random numbers(workload::splitmix(seed) + block * 0x9E3779B97F4A7C15u);
    injection_counts counts;
    const std::uint64_t begin = block * block_trials, end = std::min(begin + block_trials, trials);
    for (std::uint64_t i = begin; i < end; ++i) {
        const coded_word flips =
            asked.exhaustive ? pattern_of_index(asked.bits, i) : random_flips(asked.bits, numbers);
        try_one(flips, numbers.next(), counts);
    }
    return counts;
}

}  // namespace

injection_counts& injection_counts::operator+=(const injection_counts& other) {
    trials += other.trials;
    repaired += other.repaired;
    refused += other.refused;
    wrong += other.wrong;
    undetected += other.undetected;
    return *this;
}

std::uint64_t trials_of(const injection& asked) {
    if (!asked.exhaustive) return asked.trials;
    constexpr std::uint64_t patterns[]{1, 128, 8128, 341376};
    return patterns[asked.bits];
}

injection_counts inject(const injection& asked, const std::function<void(std::uint64_t)>& progress) {
    const std::uint64_t trials = trials_of(asked), blocks = (trials + block_trials - 1) / block_trials;
    std::atomic<std::uint64_t> next = 0, done = 0;
    std::mutex one_at_a_time;
    injection_counts all;
    const auto work = [&](bool tells) {
        injection_counts mine;
        for (std::uint64_t block = next++; block < blocks; block = next++) {
            const injection_counts one = run_block(asked, block, trials);
            mine += one;
            done += one.trials;
            if (tells) progress(done);
        }
        const std::lock_guard guard(one_at_a_time);
        all += mine;
    };
    std::vector<std::thread> helpers;
    for (unsigned i = 1; i < asked.jobs && i < blocks; ++i) helpers.emplace_back(work, false);
    work(true);
    for (std::thread& each : helpers) each.join();
    return all;
}

bool keeps_promise(unsigned bits, const injection_counts& counts) {
    if (bits <= ecc::always_repaired_flips && counts.refused != 0) return false;
    if (bits <= ecc::most_repaired_flips && counts.wrong != 0) return false;
    return bits > ecc::always_detected_flips || counts.undetected == 0;
}

}  // namespace holdfast::tools
