// Lines that come in ascending order, as maximal runs.
#pragma once

#include <cstdint>

namespace holdfast {

/// Calls f(first_line, count) for each run, the last one by finish().
template <class F>
class line_runs {
public:
    explicit line_runs(F& f) noexcept : f_(f) {}

    /// Bit i of `bits` is the line first + i. Requires: above all lines so far.
    void add(std::uint64_t first, std::uint64_t bits) {
        for (; bits != 0; bits &= bits - 1) {
            const std::uint64_t line = first + static_cast<unsigned>(__builtin_ctzll(bits));
            if (count_ == 0 || line != first_ + count_) {
                finish();
                first_ = line;
            }
            ++count_;
        }
    }
    void finish() {
        if (count_ != 0) f_(first_, count_);
        count_ = 0;
    }

private:
    F& f_;
    std::uint64_t first_ = 0;
    std::uint64_t count_ = 0;
};

}  // namespace holdfast
