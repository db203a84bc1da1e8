// All sites and faults of the library, which each of its rooms names for itself.
#pragma once

#include <holdfast/base/planted.hpp>
#include <holdfast/persist/site.hpp>

#include <span>

namespace holdfast::crash {

std::span<const persist::site_id> all_sites();
std::span<const planted_fault* const> all_planted_faults();

}  // namespace holdfast::crash
