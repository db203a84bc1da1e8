// The same without any transactions: what the work itself costs. One thread.
#include <bench/transactions/job.hpp>

#include <workload/plain_access.hpp>

int main(int count, char** arguments) {
    return holdfast::bench::serve_transactions(holdfast::workload::plain_access(), {arguments, arguments + count});
}
