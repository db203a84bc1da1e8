// What makes the transactions of a run durable.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace holdfast::sim {

enum class design : std::uint8_t {
    non_pers,     ///< nothing
    unsafe_base,  ///< a log of the program's, without write-backs and fences
    redo_clwb,    ///< the program logs new values, writes lines back and waits
    undo_clwb,    ///< the same with old values
    hw_rlog,      ///< a log of new values; nothing forces lines home, so it protects only until it wraps
    hw_ulog,      ///< the same of old values
    hwl,          ///< old and new values, and the program writes lines back before it commits
    fwb,          ///< old and new values, and scans that force lines home
    snf_sw,       ///< steal but no force by the program: new values, one fence, lines go home in the background
};
inline constexpr std::array<std::string_view, 9> design_names{"non-pers", "unsafe-base", "redo-clwb", "undo-clwb",
                                                              "hw-rlog",  "hw-ulog",     "hwl",       "fwb",
                                                              "snf-sw"};
constexpr std::string_view name_of(design what) noexcept { return design_names[static_cast<std::size_t>(what)]; }

constexpr bool has_logging_hardware(design what) noexcept {
    return what == design::hw_rlog || what == design::hw_ulog || what == design::hwl ||
           what == design::fwb;
}

}  // namespace holdfast::sim
