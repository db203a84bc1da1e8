#include <bench/budget_test.hpp>

#include <holdfast/engine/volatile_only.hpp>

namespace holdfast::bench::test {

void count_volatile_only(ledger& to) { count_engine<volatile_only>(to); }

}  // namespace holdfast::bench::test
