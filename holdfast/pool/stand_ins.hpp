// What tests and the explorer put in the place of the machine's answers: another boot, another file. No environment
// variable and no option sets them, so that nothing outside of a program can make it believe a torn pool.
#pragma once

#include <cstdint>

namespace holdfast {

struct stand_ins {
    const char* boot_id = nullptr;  ///< nullptr: the kernel's
    std::uint32_t file_mark = 0;    ///< 0: that of the file
    /// The medium of a pool whose homes are private is mapped that far above its address; 0: anywhere.
    std::uint64_t medium_distance = 0;
    bool log_behind_pool = false;   ///< a log in memory is mapped right behind the addresses that its pool reserves
    std::uint64_t pace_share = 0;   ///< lines of a pacer's step, at least; 0: as many as are worth one
};

/// Set it while no pool is opened or closed.
extern constinit stand_ins stand_ins_now;

}  // namespace holdfast
