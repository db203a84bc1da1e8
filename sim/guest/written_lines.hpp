// Line write-backs by the program, for hardware that logs but forces no line home by itself.
//
// store:  1. Store the new value; the hardware makes its record.  2. Note the line.
// end:    3. Write each noted line back, once. Nobody waits: until a line is home its records are in the log, and a
//            line that is home before the commit record is undone by recovery.
//         4. Truncate: each transaction has written its lines back when it commits, this one, too. Hardware keeps the
//            records of what has not committed.
#pragma once

#include <sim/guest/access.hpp>
#include <sim/guest/heap.hpp>
#include <sim/guest/word_set.hpp>

namespace holdfast::guest {

class writing_back_access : public thread_access<writing_back_access> {
public:
    writing_back_access(arena& memory, std::uint32_t thread) noexcept
        : thread_access(memory, thread), lines_(static_cast<word_set*>(allocate_volatile(sizeof(word_set)))) {}

    template <class T>
    T load(const T* home) const noexcept {
        return *home;
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const noexcept {
        *home = value;  // 1
        const std::uint64_t line = reinterpret_cast<std::uintptr_t>(home) & ~63ull;
        // Stores to one line mostly follow each other.
        if (lines_->size() == 0 || lines_->end()[-1].address != line) lines_->put(line, 0);  // 2
    }
    void end() const noexcept {
        if (lines_->size() == 0) return;
        for (const word_set::entry& each : *lines_) write_back_line(reinterpret_cast<void*>(each.address));  // 3
        lines_->clear();
        truncate_log();  // 4
    }

private:
    word_set* lines_;
};

}  // namespace holdfast::guest
