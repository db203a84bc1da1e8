// kill_worker ENGINE LEVEL nvram|plain POOL THREADS SEED: works on the pool until it is killed. After each commit
// it writes an acknowledgement to standard output. It ends by itself only when something is wrong.
#include "state.hpp"

#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/engine/undo.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::kill {
namespace {

struct arguments {
    level durability;
    bool nvram;
    std::string pool;
    std::uint64_t threads;
    std::uint64_t seed;
};

struct taken_back {};

template <class Engine>
class worker {
public:
    explicit worker(const arguments& with)
        : with_(with),
          pool_(basic_pool<Engine>::open_or_create(with.pool,
                                                   options_for<Engine>(with.durability, with.nvram)).value()),
          shared_(pool_.template root<shared_state<Engine>>(shared_root).value()) {
        // Before there are threads: nothing isolates the table of roots.
        for (std::uint64_t thread = 0; thread < with_.threads; ++thread)
            states_.push_back(pool_.template root<thread_state<Engine>>(thread_root(thread)).value());
    }

    void work() {
        std::vector<std::jthread> others;
        for (std::uint64_t thread = 1; thread < with_.threads; ++thread)
            others.emplace_back([this, thread] { work_as(thread); });
        work_as(0);
    }

private:
    void work_as(std::uint64_t thread) {
        try {
            thread_state<Engine>& state = *states_[thread];
            for (std::uint64_t number = state.done + 1;; ++number) {
                const auto planned = transaction_of(with_.seed, thread, number);
                if (planned.retried) take_back(state, planned);
                run(state, planned, thread, number);
                if (thread == 0 && number % transactions_between_growth == 0) grow();
                const acknowledgement told{thread, number};
                if (::write(STDOUT_FILENO, &told, sizeof told) != sizeof told) std::_Exit(3);
            }
        } catch (const std::exception& reason) {
            std::fprintf(stderr, "kill_worker: thread %llu: %s\n", static_cast<unsigned long long>(thread),
                         reason.what());
            std::_Exit(4);
        }
    }

    void run(thread_state<Engine>& state, const planned_transaction& planned, std::uint64_t thread,
             std::uint64_t number) {
        const auto all = [&] {
            for (const step& each : planned.steps) state.run(each);
            state.done = number;
            if (!planned.shared) return;
            shared_->count += 1;
            shared_->latest.insert_or_assign(thread, number);
        };
        if (planned.shared) {
            pool_.atomically(lock_, all).value();
        } else {
            pool_.atomically(all).value();
        }
    }

    void grow() {
        const std::uint64_t bytes = pool_.info().bytes + pool_grows_by;
        if (bytes <= largest_pool_bytes) pool_.grow(bytes).value();
    }

    /// The same, rolled back half-way by an exception of the user's.
    void take_back(thread_state<Engine>& state, const planned_transaction& planned) {
        try {
            static_cast<void>(pool_.atomically([&] {
                for (const step& each : planned.steps) state.run(each);
                throw taken_back();
            }));
        } catch (const taken_back&) {
        }
    }

    arguments with_;
    basic_pool<Engine> pool_;
    shared_state<Engine>* shared_;
    std::vector<thread_state<Engine>*> states_;
    std::mutex lock_;
};

int run(const std::string& engine, const arguments& with) {
    try {
        if (engine == "redo") worker<redo>(with).work();
        if (engine == "softwrap_lat") worker<softwrap_lat>(with).work();
        if (engine == "softwrap") worker<softwrap>(with).work();
        if (engine == "undo") worker<undo>(with).work();
        if (engine == "undo_paper") worker<undo_paper>(with).work();
        std::fprintf(stderr, "kill_worker: no engine %s\n", engine.c_str());
        return 2;
    } catch (const std::exception& reason) {
        std::fprintf(stderr, "kill_worker: %s\n", reason.what());
        return 4;
    }
}

}  // namespace
}  // namespace holdfast::kill

int main(int argc, char** argv) {
    if (argc != 7) return 2;
    const auto durability = holdfast::level_named(argv[2]);
    if (!durability) return 2;
    return holdfast::kill::run(argv[1], {*durability, std::string(argv[3]) == "nvram", argv[4],
                                         std::strtoull(argv[5], nullptr, 10), std::strtoull(argv[6], nullptr, 10)});
}
