// A progress bar on standard error: only on a terminal, only for what takes over a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::tools {

/// Thread safety: one thread at a time.
class progress {
public:
    /// `total` in whatever unit `at` counts; 0 where it is unknown.
    progress(std::string what, std::uint64_t total);
    /// Wipes the bar.
    ~progress();
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    /// Cheap enough for every step of a loop: looks at the clock now and then.
    void at(std::uint64_t done);

private:
    using clock = std::chrono::steady_clock;
    void draw(std::uint64_t done, clock::time_point now);

    std::string what_;
    std::uint64_t total_;
    clock::time_point begin_ = clock::now();
    clock::time_point drawn_ = begin_;
    bool terminal_;
    bool shown_ = false;
};

}  // namespace holdfast::tools
