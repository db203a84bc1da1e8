// Transactions that the compiler makes, on whatever runtime this is linked with.
#include <bench/transactions/block_access.hpp>
#include <bench/transactions/job.hpp>

int main(int count, char** arguments) {
    return holdfast::bench::serve_transactions(holdfast::bench::block_access(), {arguments, arguments + count});
}
