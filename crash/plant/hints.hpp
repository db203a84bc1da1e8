// Calls of the seam that a trace shows to be superfluous: what a program could leave out and lose nothing but time.
// A store that changes nothing is not in a trace: a write-back that seems to follow no store may follow such a one.
#pragma once

#include <crash/cut/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

namespace holdfast::crash {

enum class waste : std::uint8_t {
    clean_line,      ///< a write-back of a line without a store since its last one
    line_twice,      ///< a second write-back of a line before one fence
    empty_fence,     ///< a fence of a thread that has written nothing back and streamed nothing since its last
    empty_sync,      ///< a sync with nothing written since the last
};

std::string_view words_for(waste what);

/// Lines for write-backs, calls for the rest.
struct usage {
    std::uint64_t calls = 0;
    std::map<waste, std::uint64_t> superfluous;
};

/// By site and kind of call.
using site_usage = std::map<std::pair<persist::site_id, event_kind>, usage>;

/// Counts the events from `first` on; what is before decides only what they find.
void count_usage(const trace& recorded, std::size_t first, site_usage& to);

}  // namespace holdfast::crash
