#include <bench/budget_test.hpp>

#include <holdfast/engine/softwrap_lat.hpp>

namespace holdfast::bench::test {

void count_softwrap_lat(ledger& to) { count_engine<softwrap_lat>(to); }

}  // namespace holdfast::bench::test
