// Counters that survive kill -9, each in a cache line of its own: threads of a child count, each its own, until the
// parent kills them. A transaction costs two copies of 16 bytes at level `process`; at `power` on persistent memory
// one write-back and one fence.
#include <holdfast/holdfast.hpp>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

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

struct said {
    std::size_t which = 0;
    std::uint64_t requests = 0;
};

/// Counts until it is killed. What it has counted is written to `out` after the commit.
[[noreturn]] void count_for_ever(int out) {
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
                const said now{i, all[i]->requests};
                if (::write(out, &now, sizeof now) != sizeof now) std::abort();
            }
        });
    for (auto& each : workers) each.join();
    std::abort();
}


/// Runs the child until it has said `numbers` more, kills it, and returns the last number it said of each counter.
std::array<std::uint64_t, threads> run_and_kill(int numbers) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    const pid_t child = ::fork();
    if (child == 0) count_for_ever(ends[1]);
    ::close(ends[1]);
    std::array<std::uint64_t, threads> last{};
    said now;
    for (int i = 0; ::read(ends[0], &now, sizeof now) == sizeof now; ++i) {
        last[now.which] = now.requests;
        if (i == numbers) ::kill(child, SIGKILL);
    }
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return last;
}

}  // namespace

int main() {
    for (int round = 1; round <= 5; ++round) {
        const auto last = run_and_kill(1000 * round);
        auto pool = holdfast::line_pool::open("counters.pool", options()).value();
        const auto& all = *pool.root<counters>("counters").value();
        for (std::size_t i = 0; i < threads; ++i) {
            // At most one request was counted and not yet said. (A thread that said nothing may have counted before.)
            const std::uint64_t found = all[i]->requests;
            if (last[i] != 0 && (found < last[i] || found > last[i] + 1)) return 1;
            if (all[i]->bytes != found * bytes_of_a_request) return 1;
        }
    }
    std::printf("five kills: no counter lost a request that it had counted\n");
}
