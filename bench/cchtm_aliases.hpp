// Suite cchtm: cc_htm with its aliases elsewhere than in private pages.
#pragma once

#include <bench/cchtm_contestants.hpp>

#include <holdfast/engine/cc_htm_sets.hpp>
#include <holdfast/engine/cc_htm_table.hpp>

namespace holdfast::bench {

/// With each algorithm, at the usual lag and sizes; where the caller's sweep does not vary something else.
template <template <class> class Case>
void add_cchtm_aliases(cchtm_field<Case>& to) {
    if (!to.lags().empty()) return;
    constexpr std::uint64_t usual_lag = 128;
    const auto add = [&]<class Engine>(const char* concurrency, const char* aliases) {
        to.template add<pooled_memory<Engine>>("cc_htm", {concurrency, "lag", usual_lag, aliases, "cooperative"});
    };
    add.template operator()<cc_htm_table>("value", "table");
    add.template operator()<cc_htm_versioned_table>("versioned", "table");
    add.template operator()<cc_htm_sets>("value", "sets");
    add.template operator()<cc_htm_versioned_sets>("versioned", "sets");
}

}  // namespace holdfast::bench
