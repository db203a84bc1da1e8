// Planted faults: a call of the seam that is left out or weakened, by the name of its place. An
// explorer that finds nothing in a program without it finds nothing at all.
#pragma once

#include <crash/trace.hpp>

#include <string>
#include <vector>

namespace holdfast::crash {

/// All events of one kind at one place.
struct fault {
    event_kind kind;
    persist::site where;

    /// "without the fence log_commit_fence", "log_record stored instead of streamed".
    std::string name() const;
};

/// Every fault that a trace has a place for.
std::vector<fault> faults_of(const trace& recorded);

/// The trace of the program with the fault: a write-back or fence is missing, a stream goes through
/// the cache and is never written back.
void plant(const fault& what, trace& recorded);

}  // namespace holdfast::crash
