// Cuts a payload that no segment can hold into parts, each a payload of its own.
#pragma once

#include <holdfast/format/log_record.hpp>

#include <algorithm>
#include <cstdint>

namespace holdfast {

/// Walks a payload's entries and hands them out in pieces; a run that does not fit is split.
class payload_cursor {
public:
    payload_cursor(const std::uint64_t* payload, std::uint64_t words) noexcept : at_(payload), end_(payload + words) {}

    bool done() const noexcept { return at_ == end_; }

    /// Moves whole entries, and at most one split run, to `out`; returns the words used. `out` may
    /// be nullptr to count only. Requires: capacity >= 2.
    std::uint64_t fill(std::uint64_t* out, std::uint64_t capacity) noexcept {
        std::uint64_t used = 0;
        while (!done() && used + 2 <= capacity) {
            const format::entry whole = format::entry_of(*at_);
            const std::uint64_t words = std::min(whole.words - taken_, capacity - used - 1);
            if (out != nullptr) {
                const std::uint64_t offset = whole.offset + taken_ * 8;
                out[used] = whole.mask == 0xFF && (*at_ & format::run_bit) != 0 ? format::run_tag(offset, words) : *at_;
                std::copy_n(at_ + 1 + taken_, words, out + used + 1);
            }
            used += 1 + words;
            taken_ += words;
            if (taken_ == whole.words) {
                at_ += 1 + whole.words;
                taken_ = 0;
            }
        }
        return used;
    }

    /// How many parts of `capacity` words the payload needs.
    static std::uint64_t parts_needed(const std::uint64_t* payload, std::uint64_t words,
                                      std::uint64_t capacity) noexcept {
        if (words <= capacity) return 1;
        std::uint64_t parts = 0;
        for (payload_cursor cursor(payload, words); !cursor.done(); ++parts) cursor.fill(nullptr, capacity);
        return parts;
    }

private:
    const std::uint64_t* at_;
    const std::uint64_t* end_;
    std::uint64_t taken_ = 0;  ///< words of the run at at_ handed out already
};

}  // namespace holdfast
