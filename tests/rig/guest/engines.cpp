// The workloads of rig_guest.
#include "chunks.hpp"
#include "lines.hpp"
#include "pools.hpp"
#include "records.hpp"
#include "saved.hpp"

#include <holdfast/engine/cc_htm.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/engine/steal_no_force.hpp>
#include <holdfast/engine/undo.hpp>

#include <map>

namespace holdfast::rig {

const workload* workload_named(const std::string& engine) {
    static const std::map<std::string, const workload*> all{
        {"redo", &of_pool<redo>},
        {"redo_armed", &of_armed_pool<redo>},
        {"redo_declined", &of_armed_pool<redo>},
        {"redo_warned", &of_warned_pool<redo>},
        {"redo_unwarned", &of_unwarned_pool<redo>},
        {"undo", &of_pool<undo>},
        {"softwrap_lat", &of_pool<softwrap_lat>},
        {"softwrap", &of_pool<softwrap>},
        {"steal_no_force", &of_pool<steal_no_force>},
        {"cc_htm", &of_pool<cc_htm>},
        {"line", &of_line},
        {"lines", &of_lines},
        {"chunks", &of_chunks},
        {"records", &of_records},
        {"records_published_first", &of_records_published_first},
        {"records_acknowledged_first", &of_records_acknowledged_first},
        {"saved", &of_saved},
        {"saved_idle", &of_saved},
        {"saved_silent", &of_saved_medium},
        {"saved_large", &of_saved_large},
    };
    const auto found = all.find(engine);
    return found == all.end() ? nullptr : found->second;
}

}  // namespace holdfast::rig
