#include <bench/budget_test.hpp>

#include <holdfast/engine/undo.hpp>

namespace holdfast::bench::test {

void count_undo(ledger& to) { count_engine<undo>(to); }

}  // namespace holdfast::bench::test
