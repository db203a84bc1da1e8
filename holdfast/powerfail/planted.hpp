// The faults of saving that the crash explorer plants.
#pragma once

#include <holdfast/base/planted.hpp>

#define HOLDFAST_POWERFAIL_FAULTS(X) \
    X(log_not_saved, dnv, "a save leaves the log in memory") \
    X(saved_log_not_written_back, dnv, "a save does not write the log's copy back") \
    X(homes_not_saved, dnv, "a save writes the log back and no home") \
    X(sealed_before_saved, dnv, "a save seals before what it saves is durable") \
    X(seal_of_before, dnv, "a save writes the seal of the superblock before the last one") \
    X(seal_not_taken_back, dnv, "a save that is resumed leaves its seal in force") \
    X(log_not_adopted, dnv, "an opening after a kill seals the pool and leaves the log in memory") \
    X(armed_before_recovered, dnv, "an opening says that the pool is armed before it has recovered what was saved")

namespace holdfast::planted {
HOLDFAST_POWERFAIL_FAULTS(HOLDFAST_PLANTED_FAULT)
}  // namespace holdfast::planted
