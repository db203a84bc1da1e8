#include <crash/explore/named.hpp>

#include <holdfast/dnv/planted.hpp>
#include <holdfast/dnv/sites.hpp>
#include <holdfast/engine/planted.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/handle/planted.hpp>
#include <holdfast/heap/planted.hpp>
#include <holdfast/line/planted.hpp>
#include <holdfast/line/sites.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/pool/planted.hpp>
#include <holdfast/pool/sites.hpp>
#include <holdfast/powerfail/planted.hpp>
#include <holdfast/powerfail/sites.hpp>

namespace holdfast::crash {

std::span<const persist::site_id> all_sites() {
#define HOLDFAST_SITE_OF(name) persist::site::name,
    static constexpr persist::site_id all[] = {
        HOLDFAST_PERSIST_SITES(HOLDFAST_SITE_OF) HOLDFAST_POOL_SITES(HOLDFAST_SITE_OF)
        HOLDFAST_LOG_SITES(HOLDFAST_SITE_OF) HOLDFAST_ENGINE_SITES(HOLDFAST_SITE_OF)
        HOLDFAST_LINE_SITES(HOLDFAST_SITE_OF) HOLDFAST_DNV_SITES(HOLDFAST_SITE_OF)
        HOLDFAST_POWERFAIL_SITES(HOLDFAST_SITE_OF)};
#undef HOLDFAST_SITE_OF
    return all;
}

std::span<const planted_fault* const> all_planted_faults() {
#define HOLDFAST_FAULT_OF(name, engines, sentence) &planted::name,
    static constexpr const planted_fault* all[] = {
        HOLDFAST_LOG_FAULTS(HOLDFAST_FAULT_OF) HOLDFAST_HEAP_FAULTS(HOLDFAST_FAULT_OF)
        HOLDFAST_ENGINE_FAULTS(HOLDFAST_FAULT_OF) HOLDFAST_POOL_FAULTS(HOLDFAST_FAULT_OF)
        HOLDFAST_HANDLE_FAULTS(HOLDFAST_FAULT_OF) HOLDFAST_LINE_FAULTS(HOLDFAST_FAULT_OF)
        HOLDFAST_DNV_FAULTS(HOLDFAST_FAULT_OF) HOLDFAST_POWERFAIL_FAULTS(HOLDFAST_FAULT_OF)};
#undef HOLDFAST_FAULT_OF
    return all;
}

}  // namespace holdfast::crash
