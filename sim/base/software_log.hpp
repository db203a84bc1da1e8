// The bytes of the logs that software keeps, for the guest programs that write them and for recovery, which reads them
// from what a crash left.
#pragma once

#include <sim/base/address_map.hpp>

namespace holdfast::sim {

/// 16 bytes of a line. The value is written first: a record of which only a part is durable has no target of its lap.
struct software_record {
    std::uint64_t value;   ///< of the word; of a mark, what it says
    std::uint64_t target;  ///< the word's address or a mark; in the upper 16 bits the lap

    static constexpr unsigned lap_shift = 48;
    static constexpr std::uint64_t target_mask = (std::uint64_t{1} << lap_shift) - 1;
    /// A mark has one of these in its lowest bits, where the address of a word has none, and above a number.
    static constexpr std::uint64_t committed = 1;  ///< of as many records before it as the number says
    static constexpr std::uint64_t retired = 2;    ///< nothing before it is needed any more
    /// In a central log: a part of a transaction begins. The value is the transaction's number.
    static constexpr std::uint64_t begun = 4;
    static constexpr unsigned number_shift = 3;

    static constexpr std::uint64_t made(std::uint64_t target, std::uint64_t lap) noexcept {
        return target | lap << lap_shift;
    }
    static constexpr std::uint64_t commit_of(std::uint64_t records) noexcept {
        return committed | records << number_shift;
    }
    /// Of a part behind as many records of the same transaction.
    static constexpr std::uint64_t begun_behind(std::uint64_t records) noexcept {
        return begun | records << number_shift;
    }
    constexpr std::uint64_t address() const noexcept { return target & target_mask; }
    constexpr std::uint64_t lap() const noexcept { return target >> lap_shift; }
    constexpr std::uint64_t mark() const noexcept { return target & ((1u << number_shift) - 1); }
    constexpr std::uint64_t number() const noexcept { return address() >> number_shift; }
};
inline constexpr std::uint64_t software_records_in_line = 4;

/// Whose logs there are.
enum class software_log_place : std::uint8_t {
    thread,   ///< each thread's own
    central,  ///< one, with a tail that threads move atomically
};

/// Where the rings of records are: in the NVRAM, far from where arenas grow to. In front of them a line for each
/// thread, with the sequence number up to which transactions are home.
struct software_log_layout {
    std::uint32_t threads = 1;
    std::uint32_t logs = 1;
    std::uint64_t records = 0;  ///< of each, a power of two

    /// Several threads have one log.
    constexpr bool is_central() const noexcept { return logs < threads; }
    constexpr std::uint64_t bytes() const noexcept { return records * sizeof(software_record); }
    constexpr std::uint64_t all_bytes() const noexcept { return heads_bytes + logs * bytes(); }
    constexpr address of(std::uint32_t log) const noexcept { return begin + heads_bytes + log * bytes(); }
    /// Records are counted from here on, in lap 1. Logs begin at different rows of the NVRAM, so that their threads do
    /// not all write to the same bank at the same time.
    constexpr std::uint64_t first_record(std::uint32_t log) const noexcept {
        return records + log * records_in_row % records;
    }

    static constexpr address head_of(std::uint32_t thread) noexcept { return begin + thread * 64; }
    static constexpr address begin = arena_begin + (std::uint64_t{4} << 30);

private:
    static constexpr std::uint64_t heads_bytes = 4096;
    static constexpr std::uint64_t records_in_row = 128;
};

/// Of `bytes` for all logs together the largest powers of two that fit.
constexpr software_log_layout layout_of(software_log_place place, std::uint64_t bytes, std::uint32_t threads) noexcept {
    software_log_layout made{threads, place == software_log_place::thread ? threads : 1, 1};
    while (made.bytes() * 2 * made.logs <= bytes) made.records *= 2;
    return made;
}

}  // namespace holdfast::sim
