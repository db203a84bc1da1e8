#include <sim/front/machine.hpp>

namespace holdfast::sim {

problem fault_of(const hart& at) {
    problem reason = at.reason;
    reason.where += " (hart " + std::to_string(at.id.value) + " at " + hexadecimal(at.pc) + ")";
    return reason;
}

problem deadlock_of(const harts& all) {
    problem reason{"every hart waits, and none is left to wake another", {}, {}, {}};
    for (const hart& each : all.all()) {
        if (each.stop != hart_stop::waiting) continue;
        reason.found += (reason.found.empty() ? "hart " : ", hart ") + std::to_string(each.id.value) + " waiting at " +
                        hexadecimal(each.waits_at);
    }
    return reason;
}

}  // namespace holdfast::sim
