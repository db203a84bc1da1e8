// What simulations of one program find that does not depend on how they log: found once for all of them.
#pragma once

#include <sim/base/result.hpp>
#include <sim/machine/machine_config.hpp>
#include <sim/machine/simulation.hpp>

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>

namespace holdfast::sim {

/// Thread safety: all calls. Who asks for what another thread is finding waits for it.
class common_findings {
public:
    /// How many operations the program is told to do. `find` is called if no simulation like this one has asked.
    result<std::uint64_t> operations(const machine_config& config, const simulation_options& options,
                                     const std::function<result<std::uint64_t>()>& find);
    /// What the program says that does `operations` without a log and without a machine.
    result<std::string> said(const machine_config& config, const simulation_options& options, std::uint64_t operations,
                             const std::function<result<std::string>()>& find);

private:
    template <class T>
    struct found {
        std::mutex guard{};
        std::map<std::string, std::shared_future<result<T>>> all{};

        result<T> once(const std::string& question, const std::function<result<T>()>& find);
    };

    found<std::uint64_t> operations_{};
    found<std::string> said_{};
};

}  // namespace holdfast::sim
