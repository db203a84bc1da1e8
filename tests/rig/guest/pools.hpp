// The containers of the kill tests, in a pool of any engine.
#pragma once

#include "armed.hpp"
#include "guest.hpp"

#include <tests/kill/verifier.hpp>
#include <tests/kill/worker.hpp>

#include <unistd.h>

#include <cstdint>
#include <vector>

namespace holdfast::rig {

template <class Engine>
void work_on_pool(const request& of) {
    kill::worker<Engine>({level::power, false, of.path, of.threads, of.seed},
                         {.committed = [](const kill::acknowledgement& told) { acknowledge(told.thread, told.number); },
                          .failed = give_up})
        .work();
}

/// Without a fence or a sync, and saved by who has charge.
template <class Engine, class Handler>
void work_on_armed_pool(const request& of, Handler&& armed) {
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
void work_on_pool_of_module(const request& of) {
    work_on_armed_pool<Engine>(of, armed_by_module(of.engine));
}
template <class Engine>
void work_on_warned_pool(const request& of) {
    work_on_armed_pool<Engine>(of, armed_by_process());
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

/// Of a machine whose power failed and that nobody warned: its pool is expected to say so, and the next life begins
/// with another one.
template <class Engine>
findings verify_unwarned_pool(const request& of) {
    auto opened = basic_pool<Engine>::open(of.path, kill::options_for<Engine>(level::power, false));
    if (opened || opened.error().code != errc::not_durable) {
        if (opened) opened->abandon();
        return verify_pool<Engine>(of);
    }
    ::unlink(of.path.c_str());
    return {std::vector<std::uint64_t>(of.threads, 0), {opened.error().text()}};
}

template <class Engine>
inline constexpr workload of_pool{&work_on_pool<Engine>, &verify_pool<Engine>};
template <class Engine>
inline constexpr workload of_armed_pool{&work_on_pool_of_module<Engine>, &verify_pool<Engine>};
template <class Engine>
inline constexpr workload of_warned_pool{&work_on_warned_pool<Engine>, &verify_pool<Engine>};
template <class Engine>
inline constexpr workload of_unwarned_pool{&work_on_warned_pool<Engine>, &verify_unwarned_pool<Engine>};

}  // namespace holdfast::rig
