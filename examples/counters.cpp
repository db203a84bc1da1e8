// Counters that survive kill -9, each in a cache line of its own: threads of a child count, each its own, until the
// parent kills them. A transaction costs two copies of 16 bytes at level `process`; at `power` on persistent memory
// one write-back and one fence.
#include <holdfast/holdfast.hpp>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::size_t threads = 4;

/// Both change together, or not at all.
struct counter {
    std::uint64_t requests = 0;
    std::uint64_t bytes = 0;
};
constexpr std::uint64_t bytes_of_a_request = 1500;
using counters = holdfast::line_array<counter, threads>;

holdfast::create_options options() {
    holdfast::create_options wanted;
    wanted.bytes = 1 << 20;
    wanted.durability = holdfast::level::process;  // a kill is all that happens here, not a power cut
    return wanted;
}

/// Counts until it is killed, and says in memory that the parent sees too how far it is.
[[noreturn]] void count_for_ever(volatile std::uint64_t* said) {
    auto pool = holdfast::line_pool::open_or_create("counters.pool", options()).value();
    auto& all = *pool.root<counters>("counters").value();
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < threads; ++i)
        workers.emplace_back([&, i] {
            for (;;) {
                all[i].transact([](counter& mine) {
                    ++mine.requests;
                    mine.bytes += bytes_of_a_request;
                });
                said[i] = all[i]->requests;
            }
        });
    for (auto& each : workers) each.join();
    std::abort();
}

}  // namespace

int main() {
    void* const shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    auto* const said = static_cast<volatile std::uint64_t*>(shared);
    for (int round = 1; round <= 5; ++round) {
        const std::uint64_t before = said[0];
        const pid_t child = ::fork();
        if (child == 0) count_for_ever(said);
        while (said[0] < before + 1000) ::usleep(1000);
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);

        auto pool = holdfast::line_pool::open("counters.pool", options()).value();
        const auto& all = *pool.root<counters>("counters").value();
        for (std::size_t i = 0; i < threads; ++i) {
            // At most one request was counted and not yet said.
            const std::uint64_t found = all[i]->requests;
            if (found < said[i] || found > said[i] + 1) return 1;
            if (all[i]->bytes != found * bytes_of_a_request) return 1;
        }
    }
    std::printf("five kills: no counter lost a request that it had counted\n");
}
