#include <bench/figures/paper_ratios.hpp>

#include <tools/streams.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::bench {
namespace {

template <class T>
std::optional<T> parameter_of(const record& one, const std::string& name) {
    for (const auto& [each, value] : one.params)
        if (each == name)
            if (const T* const held = std::get_if<T>(&value)) return *held;
    return std::nullopt;
}

std::vector<paper_ratio> ratios_of_paper() {
    using enum paper_medium;
    const auto said = [](unsigned figure, const char* name, bool over_dram, paper_medium medium, double paper) {
        return paper_ratio{figure, name, over_dram, medium, paper, {}, {}};
    };
    std::vector<paper_ratio> all{
        said(6, "scenario1", true, interleaved, paper_slowdown_interleaved),
        said(6, "scenario1", true, not_interleaved, paper_slowdown_not_interleaved),
        said(7, "scenario2", true, interleaved, paper_slowdown_interleaved),
        said(7, "scenario2", true, not_interleaved, paper_slowdown_not_interleaved),
        said(7, "scenario2", false, interleaved, 2.6),
        said(7, "scenario2", false, not_interleaved, 3.4),
        said(8, "scenario3", false, interleaved, 7),
        said(8, "scenario3", false, not_interleaved, 15.2),
    };
    const auto only_described = [&](const char* name, paper_medium medium, const char* words) {
        all.push_back({6, name, false, medium, std::nullopt, words, {}});
    };
    for (const char* name : {"scenario1", "scenario1-full"}) {
        only_described(name, dram, "slightly below 1");
        // "About the same time on all memory configurations", while line slows down as above.
        only_described(name, interleaved, "clearly below 1");
        only_described(name, not_interleaved, "clearly below 1");
    }
    return all;
}

}  // namespace

std::vector<std::uint64_t> delays_of(const std::vector<record>& records) {
    std::vector<std::uint64_t> all;
    for (const auto& one : records)
        if (one.suite == "bounded-buffer" && parameter_of<std::string>(one, "level") == "power")
            all.push_back(parameter_of<std::uint64_t>(one, "delay_ns").value_or(0));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

std::optional<double> value_of(const std::vector<record>& records, const std::string& case_name,
                               const std::string& engine, const std::string& level, std::uint64_t delay_ns,
                               const std::string& metric) {
    for (const auto& one : records)
        if (one.case_name == case_name && one.engine == engine && one.metric == metric &&
            parameter_of<std::string>(one, "level") == level &&
            parameter_of<std::uint64_t>(one, "delay_ns") == delay_ns)
            return one.value;
    return std::nullopt;
}

std::vector<paper_ratio> paper_ratios(const std::vector<record>& records) {
    const auto delays = delays_of(records);
    auto all = ratios_of_paper();
    for (auto& one : all) {
        const auto medium = static_cast<std::size_t>(one.medium);
        if (medium >= delays.size()) continue;
        const auto above = value_of(records, one.case_name, one.engine(), "power", delays[medium]);
        const auto below = value_of(records, one.case_name, "line", "power", one.over_dram ? 0 : delays[medium]);
        if (above && below) one.ours = *above / *below;
    }
    return all;
}

void conclude_bounded_buffer(report& to) {
    const auto delays = delays_of(to.records());
    const auto all = paper_ratios(to.records());
    if (std::none_of(all.begin(), all.end(), [](const auto& one) { return one.ours.has_value(); })) return;
    std::string text =
        "\nThe paper's ratios and ours. The delays were chosen for the first two; the rest follows.\n";
    text += fmt::format("  {:<14} {:<22} {:>9} {:<24} {:>16} {:>8}\n", "case", "medium there", "delay ns", "ratio",
                        "paper", "ours");
    for (const auto& one : all) {
        if (!one.ours) continue;
        const std::uint64_t delay_ns = delays[static_cast<std::size_t>(one.medium)];
        text += fmt::format("  {:<14} {:<22} {:>9} {:<24} {:>16} {:>8.2f}\n", one.case_name,
                            paper_medium_names[static_cast<std::size_t>(one.medium)], delay_ns,
                            one.over_dram ? "line / line on DRAM" : "libpmemobj / line",
                            one.paper ? fmt::format("{:.1f}", *one.paper) : one.in_words, *one.ours);
        const parameters params{
            {"level", std::string("power")}, {"medium", std::string("nvram")}, {"delay_ns", delay_ns}};
        const auto add = [&](const std::string& metric, double value) {
            to.add({"bounded-buffer", one.case_name, one.engine(), 1, params, metric, "1", value, value, value, 1});
        };
        add(one.metric(), *one.ours);
        if (one.paper) add("paper_" + one.metric(), *one.paper);
    }
    tools::show(text);
}

}  // namespace holdfast::bench
