// Transactions that the compiler makes, on whatever runtime this is linked with.
#include <bench/transactions/job.hpp>

#include <holdfast/itm/access.hpp>

int main(int count, char** arguments) {
    return holdfast::bench::serve_transactions(holdfast::itm::itm_access(), {arguments, arguments + count});
}
