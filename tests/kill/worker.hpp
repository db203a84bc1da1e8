// What a killed process does until it is killed: numbered transactions on one pool, each acknowledged once it has
// committed.
#pragma once

#include "state.hpp"

#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::kill {

struct arguments {
    level durability;
    bool nvram;
    std::string pool;
    std::uint64_t threads;
    std::uint64_t seed;
};

/// What a worker calls. Both may be called by several threads at once.
struct listener {
    std::function<void(const acknowledgement&)> committed;
    std::function<void(std::uint64_t thread, const std::exception& reason)> failed;
};

template <class Engine>
class worker {
public:
    /// Opens the pool, or creates it, with the roots of all threads. Throws the library's failure.
    worker(const arguments& with, listener told)
        : with_(with), told_(std::move(told)),
          pool_(basic_pool<Engine>::open_or_create(with.pool,
                                                   options_for<Engine>(with.durability, with.nvram)).value()),
          shared_(pool_.template root<shared_state<Engine>>(shared_root).value()) {
        // Before there are threads: nothing isolates the table of roots.
        for (std::uint64_t thread = 0; thread < with_.threads; ++thread)
            states_.push_back(pool_.template root<thread_state<Engine>>(thread_root(thread)).value());
    }

    /// Does not return.
    void work() {
        std::vector<std::jthread> others;
        for (std::uint64_t thread = 1; thread < with_.threads; ++thread)
            others.emplace_back([this, thread] { work_as(thread); });
        work_as(0);
    }

private:
    struct taken_back {};

    void work_as(std::uint64_t thread) {
        try {
            thread_state<Engine>& state = *states_[thread];
            for (std::uint64_t number = state.done + 1;; ++number) {
                const auto planned = transaction_of(with_.seed, thread, number);
                if (planned.retried) take_back(state, planned);
                run(state, planned, thread, number);
                if (thread == 0 && number % transactions_between_growth == 0) grow();
                told_.committed({thread, number});
            }
        } catch (const std::exception& reason) {
            told_.failed(thread, reason);
        }
    }

    void run(thread_state<Engine>& state, const planned_transaction& planned, std::uint64_t thread,
             std::uint64_t number) {
        const auto all = [&] {
            for (const step& each : planned.steps) take_step(state, each);
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
                for (const step& each : planned.steps) take_step(state, each);
                throw taken_back();
            }));
        } catch (const taken_back&) {
        }
    }

    arguments with_;
    listener told_;
    basic_pool<Engine> pool_;
    shared_state<Engine>* shared_;
    std::vector<thread_state<Engine>*> states_;
    std::mutex lock_;
};

}  // namespace holdfast::kill
