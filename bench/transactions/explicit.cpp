// The same by explicit calls.
#include <bench/transactions/job.hpp>

#include <holdfast/stm/atomically.hpp>
#include <holdfast/stm/value.hpp>

int main(int count, char** arguments) {
    return holdfast::bench::serve_transactions(holdfast::stm::stm_access<holdfast::stm::value>(),
                                               {arguments, arguments + count});
}
