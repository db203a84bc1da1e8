// The bytes of the logs that software keeps, for the guest programs that write them and for recovery, which reads them
// from what a crash left.
#pragma once

#include <sim/base/address_map.hpp>

namespace holdfast::sim {

/// 16 bytes of a line. The value is written first: a record of which only a part is durable has no address of its lap.
struct software_record {
    std::uint64_t value;   ///< of the word; of a commit, how many records it has
    std::uint64_t target;  ///< the word's address or one of the marks below, in the upper 16 bits the lap

    static constexpr unsigned lap_shift = 48;
    static constexpr std::uint64_t address_mask = (std::uint64_t{1} << lap_shift) - 1;
    static constexpr std::uint64_t committed = 1;  ///< of a redo log: the records before it are a whole transaction
    static constexpr std::uint64_t retired = 2;    ///< nothing before it is needed any more

    static constexpr std::uint64_t made(std::uint64_t address, std::uint64_t lap) noexcept {
        return address | lap << lap_shift;
    }
    constexpr std::uint64_t address() const noexcept { return target & address_mask; }
    constexpr std::uint64_t lap() const noexcept { return target >> lap_shift; }
};

/// Each thread has a ring of records. They lie in the NVRAM, far from where arenas grow to.
inline constexpr address software_logs_begin = arena_begin + (std::uint64_t{4} << 30);
inline constexpr std::uint64_t software_log_records = 4096;
inline constexpr std::uint64_t software_log_bytes = software_log_records * sizeof(software_record);

constexpr address software_log_of(std::uint32_t thread) noexcept {
    return software_logs_begin + thread * software_log_bytes;
}
/// Records are counted from here on, in lap 1. Threads begin at different places, so that they do not all write to the
/// same bank at the same time.
constexpr std::uint64_t first_software_record(std::uint32_t thread) noexcept {
    return software_log_records + thread % 8 * (software_log_records / 8);
}

}  // namespace holdfast::sim
