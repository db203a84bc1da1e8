// One point of a suite's sweep, in one place for engines and rivals.
#pragma once

#include <bench/contest/record.hpp>

#include <cstdint>
#include <string>

namespace holdfast::bench {

/// Where and how large. `level` is the promise that is compared: volatile_only stands at every level.
struct setting {
    std::string level = "power";
    std::string medium = "nvram";
    unsigned threads = 1;
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;      ///< of an element's payload, where the suite varies it
    std::uint64_t swaps = 0;      ///< a transaction; 0 where the suite does not swap
    std::uint64_t log_bytes = 0;  ///< asked for; the log's division may take a little less
    std::uint32_t delay_ns = 0;
    std::uint64_t rate = 0;   ///< requests a second; 0 where nobody waits for any
    std::uint64_t batch = 0;  ///< commits that share one truncation, for engines that gather them; 0 for others
    std::string variant{};    ///< another way of the same engine, by which options_of knows it; empty: the usual one
    /// All threads take one lock for each transaction. Otherwise each works in its own slice alone.
    bool shared_lock = false;
    std::string lock{};  ///< its kind, where kinds are compared: mutex or combining
    std::uint64_t lag = 0;  ///< at level lag: commits that may be missing after a crash
    std::uint64_t alias_bytes = 0;  ///< of engines with alias sets: their size; 0: as usual
    std::uint64_t alias_ways = 0;   ///< and the entries of each; 0: as usual
    std::string retire{};   ///< of engines that checkpoint: cooperative, thread or automatic; empty: automatic
    /// Of all pools of this run, the way of their log records: measured, streamed or written_back.
    static inline std::string records = "measured";

    parameters as_parameters() const {
        parameters all{{"level", level}, {"medium", medium}, {"delay_ns", std::uint64_t{delay_ns}}};
        if (swaps != 0) all.emplace_back("swaps", swaps);
        if (elements != 0) all.emplace_back("elements", elements);
        if (rate != 0) all.emplace_back("rate", rate);
        if (batch != 0) all.emplace_back("batch", batch);
        if (!variant.empty()) all.emplace_back("variant", variant);
        if (!lock.empty()) all.emplace_back("lock", lock);
        all.emplace_back("log_bytes", log_bytes);
        if (records != "measured") all.emplace_back("records", records);
        return all;
    }
    std::string title(const std::string& suite) const {
        std::string text = suite + "   level " + level + "   medium " + medium;
        if (delay_ns != 0) text += "   delay " + std::to_string(delay_ns) + " ns a line";
        text += "   threads " + std::to_string(threads);
        if (swaps != 0) text += "   swaps " + std::to_string(swaps);
        if (elements != 0) text += "   elements " + std::to_string(elements);
        if (rate != 0) text += "   rate " + std::to_string(rate) + "/s";
        return text + "   log " + std::to_string(log_bytes >> 10) + " KiB";
    }
};

}  // namespace holdfast::bench
