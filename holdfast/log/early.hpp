// What is known of lines of a record that were sent before their transaction ended. Sending them is lane_log's.
#pragma once

#include <cstdint>
#include <vector>

namespace holdfast {

/// Lines of a record that were sent before its transaction ended. One thread at a time.
class early_lines {
public:
    /// The number of the record's first lines that need not be sent again, except its first and the changed ones.
    std::uint64_t sent() const noexcept { return sent_; }
    /// The record has changed in this word, counted from its first.
    void note_change(std::uint64_t word) {
        const std::uint64_t line = word / 8;
        if (line == 0) return;
        if (changed_.size() <= line / 64) changed_.resize(line / 64 + 1);
        changed_[line / 64] |= std::uint64_t{1} << line % 64;
    }
    /// The record is as it was when it had this number of whole lines: what was sent of others is forgotten.
    void keep_first(std::uint64_t lines) noexcept {
        if (lines == 0) lines = 1;  // the first is never sent early
        if (sent_ <= lines) return;
        sent_ = lines;
        if (changed_.size() > lines / 64) {
            changed_.resize(lines / 64 + 1);
            changed_[lines / 64] &= (std::uint64_t{1} << lines % 64) - 1;
        }
    }
    void clear() noexcept {
        claim_ = 0;
        sent_ = 0;
        changed_.clear();
    }

private:
    friend class lane_log;
    std::uint64_t claim_ = 0;  ///< of the place; 0: none
    std::uint64_t sent_ = 0;
    std::vector<std::uint64_t> changed_;  ///< a bit for each line
};

}  // namespace holdfast
