#include <bench/budget_test.hpp>

#include <holdfast/engine/redo.hpp>

namespace holdfast::bench::test {

void count_redo(ledger& to) { count_engine<redo>(to); }

}  // namespace holdfast::bench::test
