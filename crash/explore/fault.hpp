// Planted faults: a call of the seam that is left out, moved or weakened, by the name of its place, or a
// fault in the library's own code. An explorer that finds nothing in a program with one finds nothing at all.
#pragma once

#include <crash/cut/trace.hpp>
#include <crash/explore/coverage.hpp>

#include <holdfast/base/planted.hpp>

#include <string>
#include <vector>

namespace holdfast::crash {

struct fault {
    enum class change : std::uint8_t {
        left_out,
        late,      ///< behind what it was to come before
        weakened,  ///< a stream goes through the cache, a write does not wait for the device
        in_code,
    };

    change how = change::in_code;
    event_kind kind{};          ///< all events of this kind
    persist::site_id where{};   ///< at this place
    const planted_fault* code = nullptr;

    /// "without the fence log_commit_fence", "salt_not_renewed: a segment's next lap …".
    std::string name() const;
    bool operator==(const fault&) const = default;
};

/// Every fault of the calls that an exploration passed.
std::vector<fault> faults_of(const coverage& passed);

/// Makes the trace that of the program with the fault, and says whether it differs. Faults in code are in
/// force while it is recorded.
bool plant(const fault& what, trace& recorded);

/// A fault in code is in force as long as this lives.
class planted_here {
public:
    explicit planted_here(const fault& what) { planted_now = what.code; }
    ~planted_here() { planted_now = nullptr; }
    planted_here(const planted_here&) = delete;
    planted_here& operator=(const planted_here&) = delete;
};

}  // namespace holdfast::crash
