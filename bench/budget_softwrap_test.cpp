#include <bench/budget_test.hpp>

#include <holdfast/engine/softwrap.hpp>

namespace holdfast::bench::test {

void count_softwrap(ledger& to) { count_engine<softwrap>(to); }

}  // namespace holdfast::bench::test
