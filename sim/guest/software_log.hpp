// Two ways to log by software that the hardware is compared with, undo and redo. Each thread has a log of its own, or
// all have a central one (central_log.hpp).
//
// undo, store:  1. Stream the old value to the log.  2. Store the new one.
//       end:    3. Fence: no line may be home before its old values are in the log.
//               4. Write each line back, once.  5. Fence: the new values are home.
//               6. Stream the mark that retires the records.  7. Fence: from here on nobody undoes the transaction, so
//                  others may see it. A line that two threads store to may be home too early, since the other one
//                  writes it back: the price of one fence for all records.
// redo, store:  1. Keep the new value in the write set, where loads find it.
//       end:    2. Stream the write set, and the mark that commits it.  3. Fence: the transaction is durable.
//               4. Store the new values.  5. Write each line back, once.  6. Fence: they are home.
//               7. Stream the mark that retires the records.  8. Fence: nobody stores old values over those of others.
// The unsafe form of both leaves out write-backs and fences.
#pragma once

#include <sim/guest/access.hpp>
#include <sim/guest/central_log.hpp>
#include <sim/guest/record_ring.hpp>
#include <sim/guest/word_set.hpp>

namespace holdfast::guest {

/// Of one thread.
class software_log {
public:
    void create(std::uint32_t thread) noexcept {
        if (software_logs.logs < software_logs.threads) give_up("undo and redo need a log for each thread");
        ring_.create(thread);
        in_use_ = 1;
    }
    void append(std::uint64_t target, std::uint64_t value) noexcept {
        if (++in_use_ == software_logs.records) give_up("the transaction is longer than its log");
        ring_.append(target, value);
    }
    /// All words, and the mark that commits them.
    void append(const word_set& words) noexcept {
        in_use_ += words.size() + 1;
        if (in_use_ >= software_logs.records) give_up("the transaction is longer than its log");
        ring_.append(words, software_record::commit_of(words.size()), 0);
    }
    /// The records before it may be overwritten.
    void retire() noexcept {
        append(software_record::retired, 0);
        in_use_ = 1;
    }
    void release() const noexcept {}
    bool is_empty() const noexcept { return in_use_ == 1; }

private:
    record_ring ring_;
    std::uint64_t in_use_;  ///< records, with the mark before them
};

/// Undo and redo in a central log have programs of their own: as accesses more of the others they would change where
/// those have their code, and so what is measured of them.
#ifdef HOLDFAST_CENTRAL_LOG
using transaction_log = central_log;
#else
using transaction_log = software_log;
#endif
inline constexpr bool has_central_log = std::is_same_v<transaction_log, central_log>;

/// What a thread that logs has in DRAM.
struct logging_state {
    transaction_log log;
    word_set words;  ///< the write set of a redo log
    word_set lines;  ///< that are to be written back

    void create(std::uint32_t thread) noexcept { log.create(thread); }
};

inline std::uint64_t word_of(const void* where) noexcept { return reinterpret_cast<std::uintptr_t>(where) & ~7ull; }
inline std::uint64_t& at_word(std::uint64_t where) noexcept { return *reinterpret_cast<std::uint64_t*>(where); }

/// Stores to one line mostly follow each other.
inline void will_write_back(word_set& lines, std::uint64_t where) noexcept {
    const std::uint64_t line = where & ~63ull;
    if (lines.size() == 0 || lines.end()[-1].address != line) lines.put(line, 0);
}
inline void write_lines_back(word_set& lines) noexcept {
    for (const word_set::entry& each : lines) write_back_line(reinterpret_cast<void*>(each.address));
    lines.clear();
}

template <class Self, class State>
class logging_access : public thread_access<Self> {
public:
    logging_access(arena& memory, std::uint32_t thread) noexcept
        : thread_access<Self>(memory, thread), state_(static_cast<State*>(allocate_volatile(sizeof(State)))) {
        state_->create(thread);
    }

protected:
    State* state_;
};

/// Holds stores back in the state's `words`, where loads find them.
template <class Self, class State>
class write_set_access : public logging_access<Self, State> {
public:
    using logging_access<Self, State>::logging_access;

    template <class T>
    T load(const T* home) const noexcept {
        static_assert(sizeof(T) <= sizeof(std::uint64_t));
        const word_set::entry* const written = this->state_->words.find(word_of(home));
        if (written == nullptr) return *home;
        const std::uint64_t whole = written->value >> shift_of(home);
        T value;
        __builtin_memcpy(&value, &whole, sizeof(T));
        return value;
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const noexcept {
        const std::uint64_t word = word_of(home);
        std::uint64_t whole = 0;
        __builtin_memcpy(&whole, &value, sizeof(T));
        if constexpr (sizeof(T) < sizeof(whole)) {
            constexpr std::uint64_t mask = (std::uint64_t{1} << 8 * sizeof(T)) - 1;
            const std::uint64_t others = load(reinterpret_cast<const std::uint64_t*>(word)) & ~(mask << shift_of(home));
            whole = others | whole << shift_of(home);
        }
        this->state_->words.put(word, whole);
    }

private:
    /// How far up a value is in its word. By the type, the compiler cannot tell that most have all of it.
    template <class T>
    static unsigned shift_of(const T* home) noexcept {
        return sizeof(T) == sizeof(std::uint64_t) ? 0 : (reinterpret_cast<std::uintptr_t>(home) & 7) * 8;
    }
};

template <bool ForcesLinesHome>
class undo_access : public logging_access<undo_access<ForcesLinesHome>, logging_state> {
public:
    using logging_access<undo_access, logging_state>::logging_access;

    template <class T>
    T load(const T* home) const noexcept {
        return *home;
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const noexcept {
        static_assert(sizeof(T) <= sizeof(std::uint64_t));
        const std::uint64_t word = word_of(home);
        this->state_->log.append(word, at_word(word));  // 1
        if constexpr (ForcesLinesHome) will_write_back(this->state_->lines, word);
        *home = value;  // 2
    }
    void end() const noexcept {
        transaction_log& log = this->state_->log;
        if (log.is_empty()) return;
        if constexpr (ForcesLinesHome) {
            fence_persists();                       // 3
            write_lines_back(this->state_->lines);  // 4
            fence_persists();                       // 5
        }
        log.retire();                                     // 6
        if constexpr (ForcesLinesHome) fence_persists();  // 7
        log.release();
    }
};

template <bool ForcesLinesHome>
class redo_access : public write_set_access<redo_access<ForcesLinesHome>, logging_state> {  // 1
public:
    using write_set_access<redo_access, logging_state>::write_set_access;

    void end() const noexcept {
        logging_state& mine = *this->state_;
        if (mine.words.size() == 0) return;
        mine.log.append(mine.words);                      // 2
        if constexpr (ForcesLinesHome) fence_persists();  // 3
        for (const word_set::entry& each : mine.words) {
            at_word(each.address) = each.value;  // 4
            if constexpr (ForcesLinesHome) will_write_back(mine.lines, each.address);
        }
        mine.words.clear();
        if constexpr (ForcesLinesHome) {
            write_lines_back(mine.lines);  // 5
            fence_persists();              // 6
        }
        mine.log.retire();                                // 7
        if constexpr (ForcesLinesHome) fence_persists();  // 8
        mine.log.release();
    }
};

}  // namespace holdfast::guest
