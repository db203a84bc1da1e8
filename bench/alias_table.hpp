// Case alias-table of suite wrap: what a transaction's table of its own writes costs.
#pragma once

#include <bench/bench.hpp>
#include <bench/runner.hpp>

namespace holdfast::bench {

/// Our table against packaged ones: load (as many hits as misses) and store (each key twice, into a table that was
/// just cleared), at different numbers of entries.
match make_alias_table_match(const options& asked);

}  // namespace holdfast::bench
