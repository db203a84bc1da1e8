#include <bench/budget_test.hpp>

#include <holdfast/engine/undo.hpp>

namespace holdfast::bench::test {

void count_undo_paper(ledger& to) { count_engine<undo_paper>(to); }

}  // namespace holdfast::bench::test
