// A thread's log in the NVRAM, and the two ways to log by software that the hardware is compared with.
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

#include <sim/base/software_log.hpp>
#include <sim/guest/access.hpp>
#include <sim/guest/heap.hpp>
#include <sim/guest/word_set.hpp>

namespace holdfast::guest {

using sim::software_record;

/// Of one thread. Its region is mapped when it is made.
class software_log {
public:
    void create(std::uint32_t thread) noexcept {
        const std::uint64_t place = sim::software_log_of(thread).value;
        begin_ = static_cast<std::uint64_t*>(map_memory(place, sim::software_log_bytes));
        const std::uint64_t first = sim::first_software_record(thread);
        lap_ = first / sim::software_log_records;
        next_ = begin_ + first % sim::software_log_records * words;
        end_ = begin_ + sim::software_log_records * words;
        in_use_ = 1;
    }

    void append(std::uint64_t address, std::uint64_t value) noexcept {
        if (++in_use_ == sim::software_log_records) give_up("the transaction is longer than its log");
        std::uint64_t* const record = next_;
        store_non_temporal(record, value);
        store_non_temporal(record + 1, software_record::made(address, lap_));
        next_ = record + words;
        if (record + words == end_) begin_lap();
    }
    /// The records before it may be overwritten.
    void retire() noexcept {
        append(software_record::retired, 0);
        in_use_ = 1;
    }
    bool is_empty() const noexcept { return in_use_ == 1; }

private:
    static constexpr std::uint64_t words = sizeof(software_record) / sizeof(std::uint64_t);

    void begin_lap() noexcept {
        next_ = begin_;
        ++lap_;
    }

    std::uint64_t* begin_;
    std::uint64_t* end_;
    std::uint64_t* next_;
    std::uint64_t lap_;
    std::uint64_t in_use_;  ///< records, with the mark before them
};

/// What a thread that logs has in DRAM.
struct logging_state {
    software_log log;
    word_set words;  ///< the write set of a redo log
    word_set lines;  ///< that are to be written back
};

inline std::uint64_t word_of(const void* where) noexcept { return reinterpret_cast<std::uintptr_t>(where) & ~7ull; }
inline std::uint64_t& at_word(std::uint64_t where) noexcept { return *reinterpret_cast<std::uint64_t*>(where); }

template <class Self>
class logging_access : public thread_access<Self> {
public:
    logging_access(arena& memory, std::uint32_t thread) noexcept
        : thread_access<Self>(memory, thread),
          state_(static_cast<logging_state*>(allocate_volatile(sizeof(logging_state)))) {
        state_->log.create(thread);
    }

protected:
    /// Stores to one line mostly follow each other.
    void will_write_back(std::uint64_t where) const noexcept {
        word_set& lines = state_->lines;
        const std::uint64_t line = where & ~63ull;
        if (lines.size() == 0 || lines.end()[-1].address != line) lines.put(line, 0);
    }
    void write_lines_back() const noexcept {
        for (const word_set::entry& each : state_->lines) write_back_line(reinterpret_cast<void*>(each.address));
        state_->lines.clear();
    }

    logging_state* state_;
};

template <bool ForcesLinesHome>
class undo_access : public logging_access<undo_access<ForcesLinesHome>> {
public:
    using logging_access<undo_access>::logging_access;

    template <class T>
    T load(const T* home) const noexcept {
        return *home;
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const noexcept {
        static_assert(sizeof(T) <= sizeof(std::uint64_t));
        const std::uint64_t word = word_of(home);
        this->state_->log.append(word, at_word(word));  // 1
        if constexpr (ForcesLinesHome) this->will_write_back(word);
        *home = value;  // 2
    }
    void end() const noexcept {
        software_log& log = this->state_->log;
        if (log.is_empty()) return;
        if constexpr (ForcesLinesHome) {
            fence_persists();          // 3
            this->write_lines_back();  // 4
            fence_persists();          // 5
        }
        log.retire();                                     // 6
        if constexpr (ForcesLinesHome) fence_persists();  // 7
    }
};

template <bool ForcesLinesHome>
class redo_access : public logging_access<redo_access<ForcesLinesHome>> {
public:
    using logging_access<redo_access>::logging_access;

    template <class T>
    T load(const T* home) const noexcept {
        static_assert(sizeof(T) <= sizeof(std::uint64_t));
        const word_set::entry* const written = this->state_->words.find(word_of(home));
        if (written == nullptr) return *home;
        T value;
        __builtin_memcpy(&value, reinterpret_cast<const char*>(&written->value) + offset_of(home), sizeof(T));
        return value;
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const noexcept {
        const std::uint64_t word = word_of(home);
        std::uint64_t whole = 0;
        if constexpr (sizeof(T) < sizeof(whole)) whole = load(reinterpret_cast<const std::uint64_t*>(word));
        __builtin_memcpy(reinterpret_cast<char*>(&whole) + offset_of(home), &value, sizeof(T));
        this->state_->words.put(word, whole);  // 1
    }
    void end() const noexcept {
        logging_state& mine = *this->state_;
        if (mine.words.size() == 0) return;
        for (const word_set::entry& each : mine.words) mine.log.append(each.address, each.value);
        mine.log.append(software_record::committed, mine.words.size());  // 2
        if constexpr (ForcesLinesHome) fence_persists();                 // 3
        for (const word_set::entry& each : mine.words) {
            at_word(each.address) = each.value;  // 4
            if constexpr (ForcesLinesHome) this->will_write_back(each.address);
        }
        mine.words.clear();
        if constexpr (ForcesLinesHome) {
            this->write_lines_back();  // 5
            fence_persists();          // 6
        }
        mine.log.retire();                                // 7
        if constexpr (ForcesLinesHome) fence_persists();  // 8
    }

private:
    static std::size_t offset_of(const void* home) noexcept { return reinterpret_cast<std::uintptr_t>(home) & 7; }
};

}  // namespace holdfast::guest
