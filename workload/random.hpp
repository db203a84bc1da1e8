// Random numbers for workloads: the same sequence everywhere, from a seed.
// splitmix64 (S. Vigna, public domain) spreads a seed; xoshiro256** 1.0 (D. Blackman, S. Vigna,
// public domain) gives the numbers.
#pragma once

#include <cstdint>

namespace holdfast::workload {

/// One step of splitmix64: advances `state` and returns the next number. Also a good 64-bit mixer.
constexpr std::uint64_t splitmix(std::uint64_t& state) noexcept {
    state += 0x9E3779B97F4A7C15ull;
    std::uint64_t mixed = state;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
    return mixed ^ (mixed >> 31);
}

/// As far into [0, bound) as `number` is into all 64-bit numbers.
constexpr std::uint64_t scaled(std::uint64_t number, std::uint64_t bound) noexcept {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(number) * bound) >> 64);
}

/// A generator of 64-bit numbers. Copies continue from the same point. One thread.
class random {
public:
    explicit constexpr random(std::uint64_t seed) noexcept {
        for (std::uint64_t& word : state_) word = splitmix(seed);
    }

    constexpr std::uint64_t next() noexcept {
        const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    /// A number in [0, bound). Requires: bound > 0. Off from uniform by less than bound / 2^64.
    constexpr std::uint64_t below(std::uint64_t bound) noexcept { return scaled(next(), bound); }

private:
    static constexpr std::uint64_t rotate(std::uint64_t value, int by) noexcept {
        return (value << by) | (value >> (64 - by));
    }

    std::uint64_t state_[4]{};
};

/// The numbers below 2^bits in another order, which the seed names. Requires: bits from 1 to 32.
class permutation {
public:
    constexpr permutation(std::uint64_t seed, std::uint64_t bits) noexcept : bits_(bits) {
        for (std::uint64_t& factor : factors_) factor = splitmix(seed) | 1;
    }

    constexpr std::uint64_t operator()(std::uint64_t i) const noexcept {
        const std::uint64_t mask = (std::uint64_t{1} << bits_) - 1;
        for (const std::uint64_t factor : factors_) {
            i = (i * factor + (factor >> 32)) & mask;
            i ^= i >> ((bits_ + 1) / 2);
        }
        return i;
    }

private:
    std::uint64_t bits_;
    std::uint64_t factors_[3]{};
};

/// The i-th key of a set of distinct keys in no useful order: a bijection of 64-bit numbers.
constexpr std::int64_t scattered_key(std::uint64_t i) noexcept {
    return static_cast<std::int64_t>(splitmix(i));
}

}  // namespace holdfast::workload
