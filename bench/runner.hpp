// Runs contestants against each other: the same number of repetitions for each, interleaved, so
// that whatever else the machine does meets all of them.
#pragma once

#include <bench/contest/contestant.hpp>
#include <bench/contest/record.hpp>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

/// The fewest there are.
inline constexpr unsigned repetitions = 9;
/// A value that pays for truncations has at least this number in it, unless the medium is too slow for that.
inline constexpr std::uint64_t truncations_wanted = 4;

/// One contestant of a match, and what its records say.
struct entry {
    std::string engine;
    std::unique_ptr<contestant> measured;
    std::vector<std::string> cases;  ///< run in this order in each repetition
    parameters params;
    bool recorded = true;  ///< false: in the table only, because its record exists already
};

/// How long a batch is.
struct batch_limits {
    double wanted_ns = 20e6;       ///< a batch has about this length,
    double laps = 0;               ///< or longer, until its records fill the log this number of times,
    std::uint64_t log_bytes = 0;   ///< of this size,
    double longest_ns = 800e6;     ///< but never longer than this
    unsigned more_repetitions = 4; ///< at most this number more, while the log was truncated too seldom
    unsigned repetitions = bench::repetitions;
    std::uint64_t fixed_transactions = 0;  ///< not 0: exactly this number, with one batch to warm up
};

/// Contestants that are compared.
struct match {
    std::string suite;
    std::string title;  ///< above the table
    unsigned threads = 1;
    std::vector<entry> entries;
    batch_limits limits;
    std::string also_named;  ///< a second name for ns_per_tx where the suite has one
};

/// Shows how far the run is, when standard error is a terminal.
class progress {
public:
    explicit progress(std::uint64_t matches);
    ~progress();
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    /// `part` of the current match is done, in [0, 1].
    void show(const std::string& what, double part);
    void next_match();
    /// Takes the bar away, so that a table can be printed.
    void hide();

private:
    bool visible_;
    std::uint64_t matches_;
    std::uint64_t done_ = 0;
};

/// Warms up, chooses batch lengths, measures limits.repetitions batches or a few more per case and contestant,
/// adds the records to `to` and prints the table. A match without entries is over at once.
///
/// ns_per_tx is the wall time of a batch over the transactions of all threads; tx_per_s its inverse.
/// Times, and what batches observed, are medians of the batches. Counts per transaction (write-backs, fences, bytes,
/// syncs) are exact: those of all batches over the transactions of all batches, because a log truncation, which
/// not every batch has, must not fall out of a median; min and max are those of single batches.
void play(match& wanted, report& to, progress& bar);

}  // namespace holdfast::bench
