// Corrections of flipped bits that the pool's file lacks. Where homes are private memory (an ordinary file at `power`)
// only what a commit logs reaches the file: a correction would be dropped when the pool is closed, and flipped bits
// would gather in the file over its lives, until nothing corrects them.
//
//   1. Who corrects a word in memory notes it. He may hold what transactions wait for, and runs none.
//   2. Transactions store the noted words again as they are (home::rewrite). They are run by a scrubber, by an audit
//      and by dnv_close, with nothing open.
// A kill in between loses a correction, not the word: the next life finds the flipped bits as this one did.
#pragma once

#include <holdfast/stm/algorithm.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

namespace holdfast::dnv {

/// Those of the open pool. Thread-safe but for begin.
class corrections {
public:
    /// Stores each word again, so that a record has it. Returns whether they are durable.
    using rewriter = bool (*)(std::span<const stm::word* const>) noexcept;
    /// Beyond them a word is corrected anew in the next life.
    static constexpr std::size_t most = std::size_t{1} << 16;

    /// None is noted. nullptr: corrections reach the pool by themselves, and nothing is noted from now on.
    void begin(rewriter how) noexcept;
    void note(const stm::word* at) noexcept;
    /// Stores again what is noted, if it is `at_least` that. Requires: the thread has no transaction open.
    void write(std::size_t at_least = 1) noexcept;

private:
    std::vector<const stm::word*> take() noexcept;

    rewriter rewrite_ = nullptr;
    std::mutex mutex_;  ///< of what follows. Nothing else is taken while it is held
    std::vector<const stm::word*> noted_;
    std::atomic<std::size_t> count_{0};  ///< of those, to be looked at without the mutex
};

}  // namespace holdfast::dnv
