// `holdfast kv load`: puts every line of a file and tells a supervising process what is safe.
#pragma once

#include "kv.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <mutex>
#include <string>

namespace holdfast::tools {

struct load_options {
    std::string file;
    std::uint64_t batch = 1;  ///< lines per transaction
    unsigned threads = 1;
    std::string acknowledge_file;
    int acknowledge_descriptor = -1;
};

void add_load_options(CLI::App& command, load_options& options);

/// Where acknowledged keys go. Thread-safe.
class acknowledgements {
public:
    /// Throws failure: io when the file cannot be opened.
    explicit acknowledgements(const load_options& options);
    ~acknowledgements();
    acknowledgements(const acknowledgements&) = delete;
    acknowledgements& operator=(const acknowledgements&) = delete;

    bool are_wanted() const noexcept { return descriptor_ >= 0; }
    /// Tells that these lines are in the pool and stay there, one key a line. Handed to the kernel on return, so
    /// that it survives the death of this process. Throws failure: io.
    void tell(const input& from, const input_part& part) const;

private:
    int descriptor_ = -1;
    bool opened_here_ = false;
    mutable std::mutex lock_;
};

struct load_summary {
    std::uint64_t resumed_at_line = 0;
    std::uint64_t lines = 0;         ///< put by this run
    std::uint64_t transactions = 0;  ///< that put them
    std::uint64_t entries = 0;       ///< in the map afterwards
    std::uint64_t recovered_records = 0;
    double open_ms = 0;
    double load_s = 0;
};

/// Throws failure. What holds if the process dies inside: everything acknowledged, and a later
/// load of the same file goes on where this one stopped.
load_summary run_load(kv_store& store, const input& from, const load_options& options, const acknowledgements& told);

void print_summary(const load_summary& summary, bool as_json);

}  // namespace holdfast::tools
