// A work queue: taking a job and keeping its result are one transaction, so that no job is lost and
// none is done twice, whoever dies in the middle.
#include <holdfast/holdfast.hpp>

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

using store = holdfast::redo;

struct job {
    std::uint64_t number;
    std::uint64_t input;
};

struct work {
    holdfast::queue<job, store> waiting;
    holdfast::vector<std::uint64_t, store> results;  ///< by number of the job
    store::field<std::uint64_t> done;
};

constexpr std::uint64_t jobs = 400;

/// Does one job. False when there is none. The lock isolates; the transaction keeps all or nothing.
bool do_one(store::pool& pool, work& shared, std::mutex& lock, bool fails) {
    return pool
        .atomically(lock,
                    [&] {
                        if (shared.waiting.empty()) return false;
                        const job next = shared.waiting.front().get();
                        shared.waiting.pop();
                        if (fails) throw std::runtime_error("this worker breaks off");
                        shared.results[next.number] += next.input * next.input;
                        ++shared.done;
                        return true;
                    })
        .value();
}

void work_until_empty(store::pool& pool, work& shared, std::mutex& lock) {
    for (int turn = 1;; ++turn) {
        try {
            if (!do_one(pool, shared, lock, turn % 10 == 0)) return;
        } catch (const std::runtime_error&) {
            // The job is in the queue again, as if nobody had taken it.
        }
    }
}

}  // namespace

int main() {
    holdfast::create_options options;
    options.bytes = 4 << 20;
    options.durability = holdfast::level::process;
    auto pool = store::pool::open_or_create("work.pool", options).value();
    auto* shared = pool.root<work>("work").value();
    pool.atomically([&] {
            shared->results.resize(jobs);
            for (std::uint64_t number = 0; number < jobs; ++number) shared->waiting.push({number, number});
        }).value();

    std::mutex lock;
    {
        std::jthread first([&] { work_until_empty(pool, *shared, lock); });
        std::jthread second([&] { work_until_empty(pool, *shared, lock); });
    }
    for (std::uint64_t number = 0; number < jobs; ++number)
        if (shared->results[number].get() != number * number) return 1;
    std::printf("%llu jobs done, each once\n", static_cast<unsigned long long>(shared->done.get()));
    return shared->done.get() == jobs ? 0 : 1;
}
