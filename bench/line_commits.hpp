// How lines commit while they are measured without a pool: at a level, with an added delay.
#pragma once

#include <holdfast/line/medium.hpp>
#include <holdfast/line/sites.hpp>

#include <cstdint>

namespace holdfast::bench {

/// As long as it lives, this process's lines commit with write-back and fence, and `delay_ns` more for each line; or,
/// without `power`, with neither. One at a time; no pool of lines is open meanwhile.
class line_commits {
public:
    line_commits(bool power, std::uint32_t delay_ns) noexcept {
        using namespace line_medium_state;
        delayed = {true, delay_ns};
        commit_otherwise = commit_delayed;
        if (power) needs = delay_ns != 0 ? std::uint32_t{otherwise} : std::uint32_t{fences} | write_backs;
    }
    ~line_commits() { line_medium_state::needs = 0; }
    line_commits(const line_commits&) = delete;
    line_commits& operator=(const line_commits&) = delete;

private:
    static inline persist::line_path delayed;

    static void commit_delayed(void* first, const std::uint64_t* dirty, std::size_t count) {
        const persist::line_path path = delayed;
        line_medium::for_each_line(first, dirty, count, [&](const void* line) {
            persist::write_back_one(path, line, persist::site::lines_write_back);
        });
        persist::fence(path, persist::site::lines_fence);
    }
};

}  // namespace holdfast::bench
