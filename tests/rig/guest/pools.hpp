// The containers of the kill tests, in a pool of any engine.
#pragma once

#include "armed.hpp"
#include "guest.hpp"

#include <tests/kill/verifier.hpp>
#include <tests/kill/worker.hpp>

namespace holdfast::rig {

template <class Engine>
void work_on_pool(const request& of) {
    kill::worker<Engine>({level::power, false, of.path, of.threads, of.seed},
                         {.committed = [](const kill::acknowledgement& told) { acknowledge(told.thread, told.number); },
                          .failed = give_up})
        .work();
}

/// Without a fence, and saved by the module.
template <class Engine>
void work_on_armed_pool(const request& of) {
    armed_by_module armed(of.engine);
    armed.listen();
    const auto committed = [&armed](const kill::acknowledgement& told) {
        armed.check();
        acknowledge(told.thread, told.number);
    };
    kill::worker<Engine>({level::on_power_fail, false, of.path, of.threads, of.seed},
                         {.committed = committed, .failed = give_up})
        .work();
}

template <class Engine>
findings verify_pool(const request& of) {
    findings found;
    found.done.resize(of.threads);
    auto opened = basic_pool<Engine>::open(of.path, kill::options_for<Engine>(level::power, false));
    // Cut before there was one.
    if (!opened && opened.error().code == errc::not_found) return found;
    basic_pool<Engine> pool = std::move(opened).value();
    for (std::uint64_t thread = 0; thread < of.threads; ++thread)
        found.done[thread] = kill::transactions_done(pool, thread);
    std::vector<kill::thread_model> models(of.threads);
    found.problems = kill::verifier(pool, of.seed, models).problems();
    pool.close().value();
    return found;
}

template <class Engine>
inline constexpr workload of_pool{&work_on_pool<Engine>, &verify_pool<Engine>};
template <class Engine>
inline constexpr workload of_armed_pool{&work_on_armed_pool<Engine>, &verify_pool<Engine>};

}  // namespace holdfast::rig
