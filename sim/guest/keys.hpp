// Which keys operations take: any with the same probability, or few of them most of the time.
//
// zipf: the key of rank k is drawn with a probability in proportion to k^-0.99, as YCSB does (B. F. Cooper et al.,
// Benchmarking Cloud Serving Systems with YCSB, SoCC 2010), and ranks are spread over the keys by a hash, as its
// "scrambled" generator spreads them: two ranks may share a key. Ranks are gathered in steps of a sixteenth of an
// octave, within which all have the same probability; so a draw takes a search in 4 KiB rather than a power, and
// nothing of it is computed while the program runs.
#pragma once

#include <workload/random.hpp>

namespace holdfast::guest {

namespace detail {

/// Good to 12 digits for arguments from 1 on; constant expressions have no others.
constexpr double natural_logarithm(double of) noexcept {
    constexpr double of_two = 0.693147180559945309;
    double sum = 0;
    for (; of > 2; of /= 2) sum += of_two;
    const double part = (of - 1) / (of + 1);
    double power = part, series = 0;
    for (int i = 1; i < 40; i += 2, power *= part * part) series += power / i;
    return sum + 2 * series;
}
constexpr double exponential(double of) noexcept {
    const bool is_negative = of < 0;
    if (is_negative) of = -of;
    int halvings = 0;
    for (; of > 0.5; of /= 2) ++halvings;
    double term = 1, sum = 1;
    for (int i = 1; i < 20; ++i) sum += term *= of / i;
    for (; halvings > 0; --halvings) sum *= sum;
    return is_negative ? 1 / sum : sum;
}

/// Where the steps begin, and the weight of all ranks before.
struct zipf_table {
    static constexpr unsigned octaves = 28, parts = 16, first_divided = 4;
    static constexpr unsigned steps = (1u << first_divided) - 1 + (octaves - first_divided) * parts;
    std::uint64_t begin[steps + 1];   ///< ranks, from 1
    std::uint64_t weight[steps + 1];  ///< the largest is below 2^60
};

constexpr zipf_table make_zipf_table() noexcept {
    constexpr double exponent = 0.99, scale = 1e16;
    zipf_table made{};
    const auto power = [](double rank, double to) { return exponential(natural_logarithm(rank) * to); };
    double sum = 0;
    std::uint64_t rank = 1;
    for (unsigned i = 0; i < zipf_table::steps; ++i) {
        made.begin[i] = rank;
        made.weight[i] = static_cast<std::uint64_t>(sum * scale);
        std::uint64_t octave = 1;
        while (2 * octave <= rank) octave *= 2;
        const std::uint64_t next = rank + (octave < zipf_table::parts ? 1 : octave / zipf_table::parts);
        // Half a rank lower the integral is the sum but for a thousandth, and less for larger ones.
        const double below = static_cast<double>(rank) - 0.5, above = static_cast<double>(next) - 0.5;
        sum += octave < zipf_table::parts ? power(static_cast<double>(rank), -exponent)
                                          : (power(above, 1 - exponent) - power(below, 1 - exponent)) / (1 - exponent);
        rank = next;
    }
    made.begin[zipf_table::steps] = rank;
    made.weight[zipf_table::steps] = static_cast<std::uint64_t>(sum * scale);
    return made;
}
inline constexpr zipf_table zipf_weights = make_zipf_table();

}  // namespace detail

/// A source of numbers like workload::random, of which few are frequent.
class zipf_numbers {
public:
    /// Draws from [0, count). Requires: 0 < count < 2^28.
    zipf_numbers(std::uint64_t seed, std::uint64_t count) noexcept : numbers_(seed), count_(count) {
        while (detail::zipf_weights.begin[last_ + 1] <= count) ++last_;
        const auto& table = detail::zipf_weights;
        const std::uint64_t ranks = count + 1 - table.begin[last_], all = table.begin[last_ + 1] - table.begin[last_];
        total_ = table.weight[last_] + (table.weight[last_ + 1] - table.weight[last_]) / all * ranks;
    }

    std::uint64_t next() noexcept { return numbers_.next(); }
    /// Requires: `bound` is the count.
    std::uint64_t below(std::uint64_t bound) noexcept {
        std::uint64_t mixed = rank();
        return workload::scaled(workload::splitmix(mixed), bound);
    }
    /// From 1 on, the most frequent first.
    std::uint64_t rank() noexcept {
        const auto& table = detail::zipf_weights;
        const std::uint64_t at = numbers_.below(total_);
        std::uint64_t low = 0, high = last_ + 1;
        while (high - low > 1) {
            const std::uint64_t middle = (low + high) / 2;
            (table.weight[middle] <= at ? low : high) = middle;
        }
        const std::uint64_t end = low == last_ ? count_ + 1 : table.begin[low + 1];
        return table.begin[low] + numbers_.below(end - table.begin[low]);
    }

private:
    workload::random numbers_;
    std::uint64_t count_, last_ = 0, total_ = 0;
};

/// The same interface for keys that are all as frequent.
class uniform_numbers : public workload::random {
public:
    uniform_numbers(std::uint64_t seed, std::uint64_t) noexcept : random(seed) {}
};

/// A program has one of the two, rather than both to choose from: another program's code beside it changes what the
/// compiler inlines, and with it how many instructions a transaction takes.
#ifdef HOLDFAST_ZIPF_KEYS
using key_numbers = zipf_numbers;
#else
using key_numbers = uniform_numbers;
#endif

}  // namespace holdfast::guest
