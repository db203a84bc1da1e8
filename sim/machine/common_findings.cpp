#include <sim/machine/common_findings.hpp>

#include <array>
#include <sstream>
#include <string_view>

namespace holdfast::sim {
namespace {

/// Settings that decide nothing before caches and memory take time, in a program that does not log.
constexpr std::array<std::string_view, 4> of_time_and_logs{"core.", "nvram.", "controller.", "log."};

/// Everything that may make a difference, as text. A setting that is not known here makes one.
std::string question_of(const machine_config& config, const simulation_options& options) {
    std::string text = options.program;
    for (const std::uint64_t each : {std::uint64_t{options.threads}, options.footprint_bytes, options.operations,
                                     options.seed})
        text += " " + std::to_string(each);
    text += " " + options.element + "\n";
    std::istringstream settings(lines_of(config));
    for (std::string line; std::getline(settings, line);) {
        bool counts = true;
        for (const std::string_view each : of_time_and_logs) counts = counts && !line.starts_with(each);
        if (counts) text += line + "\n";
    }
    return text;
}

}  // namespace

template <class T>
result<T> common_findings::found<T>::once(const std::string& question, const std::function<result<T>()>& find) {
    std::promise<result<T>> promised;
    std::shared_future<result<T>> answer = promised.get_future().share();
    bool is_first = false;
    {
        const std::lock_guard lock(guard);
        const auto [at, is_new] = all.emplace(question, answer);
        is_first = is_new;
        answer = at->second;
    }
    if (is_first) promised.set_value(find());
    return answer.get();
}

result<std::uint64_t> common_findings::operations(const machine_config& config, const simulation_options& options,
                                                  const std::function<result<std::uint64_t>()>& find) {
    return operations_.once(question_of(config, options), find);
}

result<std::string> common_findings::said(const machine_config& config, const simulation_options& options,
                                          std::uint64_t operations, const std::function<result<std::string>()>& find) {
    return said_.once(std::to_string(operations) + " of " + question_of(config, options), find);
}

}  // namespace holdfast::sim
