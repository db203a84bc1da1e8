#include <bench/figures/steal_runs.hpp>

#include <bench/figures/plot.hpp>

#include <fmt/format.h>


namespace holdfast::bench::steal {
namespace {

constexpr const char* record_key = "log.record";
constexpr const char* bytes_key = "log.bytes";
constexpr const char* period_key = "log.scan_period_ns";

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& each : words) text += (text.empty() ? "" : ",") + each;
    return text;
}

/// A sweep, as it is put together.
class sweep {
public:
    sweep(std::string name, std::vector<std::string> workloads) : made_{std::move(name), std::move(workloads)} {}

    sweep& with(const char* option, const std::vector<std::string>& values) {
        made_.arguments.insert(made_.arguments.end(), {option, joined(values)});
        return *this;
    }
    sweep& designs(const std::vector<std::string_view>& wanted) {
        return with("--design", {wanted.begin(), wanted.end()});
    }
    sweep& machine(const machine_settings& settings) {
        for (const auto& [key, value] : settings) {
            if (key == "core" || key == "keys") {
                with(("--" + key).c_str(), {value});
            } else {
                with("--set", {key + "=" + value});
            }
        }
        return *this;
    }
    simulated_campaign done() const { return made_; }

private:
    simulated_campaign made_;
};

const std::vector<std::string_view> without_hardware{ideal_design, base_design, fencing_designs[0], fencing_designs[1],
                                                     stealing_design};
const std::vector<std::string_view> compared_with_hardware{ideal_design, fencing_designs[0], fencing_designs[1],
                                                           stealing_design};
const std::vector<std::string_view> hardware{new_values_design, old_values_design, logged_design, forced_design};

/// All designs on these workloads, as three sweeps.
void add_comparison(std::vector<simulated_campaign>& to, const std::string& name,
                    const std::vector<std::string>& workloads, const std::vector<std::string>& threads,
                    const std::vector<std::string>& element_kinds, const std::vector<std::string>& operations) {
    const auto like = [&](const char* part) {
        sweep made(name + part, workloads);
        made.with("--threads", threads).with("--element", element_kinds).with("--operations", operations);
        return made;
    };
    to.push_back(like("-software").designs(without_hardware).done());
    to.push_back(like("-hardware").designs(hardware).machine(paper_machine()).done());
    to.push_back(like("-safe").designs({logged_design, forced_design}).machine(safe_machine()).done());
}

void add_buffers(std::vector<simulated_campaign>& to, bool quick, const std::vector<std::string>& operations) {
    std::vector<std::string> sizes;
    for (const unsigned each : buffer_sizes)
        if (!quick || each <= 15) sizes.push_back(std::to_string(each));
    const std::vector<std::string> threads = quick ? std::vector<std::string>{"8"} : std::vector<std::string>{"1", "8"};
    for (const auto& [name, machine] : {std::pair{"buffer", &paper_machine()},
                                        {"buffer-safe", &safe_machine()},
                                        {"buffer-slow-log", &slow_log_machine()}})
        to.push_back(sweep(name, {"hash"})
                         .with("--threads", threads)
                         .with("--operations", operations)
                         .designs({forced_design})
                         .machine(*machine)
                         .with("--set", {"log.buffer_entries=" + joined(sizes)})
                         .done());
}

void add_log_sizes(std::vector<simulated_campaign>& to, bool quick, const std::vector<std::string>& operations) {
    const std::vector<std::string> threads = quick ? std::vector<std::string>{"8"} : std::vector<std::string>{"1", "8"};
    const auto add = [&](const std::string& name, const machine_settings& machine) {
        to.push_back(sweep(name, {"hash"})
                         .with("--threads", threads)
                         .with("--operations", operations)
                         .designs({forced_design})
                         .machine(machine)
                         .done());
    };
    for (const unsigned mib : log_sizes_mib)
        if (!quick || mib == 1 || mib == 4) add(fmt::format("log-of-{}-mib", mib), with_log_of(mib));
    add("scans", with_scans(scanning::full));
    add("scans-of-tags", with_scans(scanning::tags));
    add("no-scans", with_scans(scanning::none));
}

void add_variations(std::vector<simulated_campaign>& to, bool quick) {
    const std::vector<std::string> workloads =
        quick ? std::vector<std::string>{"sps"} : std::vector<std::string>{"hash", "sps"};
    const std::vector<std::string> threads = quick ? std::vector<std::string>{"1"} : std::vector<std::string>{"1", "8"};
    const std::vector<std::string> operations{quick ? "30000" : "100000"};
    for (std::size_t i = 1; i < variations().size(); ++i) {
        const variation& each = variations()[i];
        if (quick && !each.is_quick) continue;
        const auto like = [&](const char* part) {
            sweep made(fmt::format("variation-{}{}", i, part), workloads);
            made.with("--threads", threads).with("--operations", operations);
            return made;
        };
        if (!each.of_the_log)
            to.push_back(like("-software").designs(compared_with_hardware).machine(each.settings).done());
        to.push_back(like("-safe")
                         .designs({logged_design, forced_design})
                         .machine(both(safe_machine(), each.settings))
                         .done());
    }
}

}  // namespace

const machine_settings& paper_machine() {
    static const machine_settings made{{record_key, "line"}, {"log.safety", "faithful"}, {"log.commit", "instant"}};
    return made;
}

const machine_settings& safe_machine() {
    static const machine_settings made{{record_key, "line"}, {"log.safety", "safe"}, {"log.commit", "durable"}};
    return made;
}

const machine_settings& slow_log_machine() {
    static const machine_settings made =
        both(paper_machine(), {{"controller.log_entries", "16"}, {"controller.log_order", "kept"}});
    return made;
}

const std::vector<contender>& contenders() {
    static const std::vector<contender> all{
        {ideal_design, nullptr, "non-pers", colour::grey},
        {fencing_designs[0], nullptr, fencing_designs[0].data(), colour::blue},
        {fencing_designs[1], nullptr, fencing_designs[1].data(), colour::sky},
        {new_values_design, &paper_machine(), "hw-rlog, instant, faithful", colour::ochre},
        {old_values_design, &paper_machine(), "hw-ulog, instant, faithful", colour::brown},
        {logged_design, &paper_machine(), "hwl, instant, faithful", colour::pink},
        {logged_design, &safe_machine(), "hwl, durable, safe", colour::purple},
        {forced_design, &paper_machine(), "fwb, instant, faithful", colour::vermilion},
        {forced_design, &safe_machine(), "fwb, durable, safe", colour::wine},
        {stealing_design, nullptr, "snf-sw", colour::green},
    };
    return all;
}

const std::vector<variation>& variations() {
    static const std::vector<variation> all{
        {"as it is: records of 64 bytes, 64 log entries, marks, array", {}, false, true},
        {"records of 32 bytes", {{record_key, "packed"}}, true, true},
        {"records merged by line", {{record_key, "merged"}}, true, true},
        {"16 log entries of the controller", {{"controller.log_entries", "16"}}, false, false},
        {"256 log entries", {{"controller.log_entries", "256"}}, false, false},
        {"a row hit takes 4 ns", {{"nvram.row_hit_ns", "4"}}, false, true},
        {"drain marks_block", {{"controller.drain", "marks_block"}}, false, true},
        {"drain idle", {{"controller.drain", "idle"}}, false, false},
        {"durable in the controller", {{"controller.persist", "controller"}}, false, true},
        {"the smaller core", {{"core", "small"}}, false, false},
        {"keys zipf 0.99", {{"keys", "zipf"}}, false, false},
    };
    return all;
}

machine_settings with_log_of(unsigned mib) {
    // The paper's 3 million cycles of 0.4 ns for 4 MiB.
    constexpr std::uint64_t period_ns_per_mib = 300'000;
    return both(safe_machine(), {{bytes_key, fmt::format("{}MiB", mib)},
                                 {period_key, std::to_string(mib * period_ns_per_mib)}});
}

machine_settings with_scans(scanning how) {
    machine_settings made = both(safe_machine(), {{bytes_key, "256MiB"},
                                                  {period_key, how == scanning::none ? "1000000000" : "1200000"}});
    if (how == scanning::tags) made["log.scans_force"] = "false";
    return made;
}

std::vector<simulated_campaign> campaigns(bool quick) {
    std::vector<simulated_campaign> made;
    const std::vector<std::string> many{quick ? "30000" : "100000"};
    const std::vector<std::string> all(microbenchmarks.begin(), microbenchmarks.end());
    if (quick) {
        add_comparison(made, "microbenchmarks", {"hash", "sps"}, {"1", "8"}, {"int"}, many);
    } else {
        add_comparison(made, "microbenchmarks", all, {"1", "8"}, {"int", "string"}, many);
        add_comparison(made, "threads", {"hash", "sps"}, {"2", "4"}, {"int"}, many);
    }
    if (quick) {
        add_comparison(made, "kernels", {"ycsb"}, {"1"}, {"int"}, many);
    } else {
        add_comparison(made, "kernels", {kernels.begin(), kernels.end()}, {"1", "8"}, {"int"}, many);
    }
    add_buffers(made, quick, many);
    add_log_sizes(made, quick, many);
    add_variations(made, quick);
    return made;
}

simulated_run run_of(const std::string& workload, std::string_view design, unsigned threads, const std::string& element,
                     const machine_settings* machine) {
    return {workload, std::string(design), threads, element, machine == nullptr ? machine_settings{} : *machine};
}

machine_settings both(machine_settings one, const machine_settings& other) {
    for (const auto& [key, value] : other) one[key] = value;
    return one;
}

std::optional<double> value_of(const simulated_runs& runs, const simulated_run& one, measure what) {
    switch (what) {
    case measure::throughput: return runs.value(one, "tx_per_s");
    case measure::instructions_per_cycle: return runs.value(one, "instructions_per_cycle");
    case measure::instructions: return runs.per_transaction(one, "instructions");
    case measure::energy: return runs.per_transaction(one, "nvram_energy_pj");
    case measure::writes: return runs.per_transaction(one, "nvram_writes");
    }
    return std::nullopt;
}

std::optional<double> better_fencing(const simulated_runs& runs, const simulated_run& like, measure what) {
    const bool more_is_better = what == measure::throughput || what == measure::instructions_per_cycle;
    std::optional<double> best;
    for (const auto& design : fencing_designs) {
        simulated_run one = like;
        one.design = design;
        std::erase_if(one.settings, [](const auto& each) { return each.first.starts_with("log."); });
        const auto found = value_of(runs, one, what);
        if (found && (!best || (more_is_better ? *found > *best : *found < *best))) best = found;
    }
    return best;
}

std::string cell(std::optional<double> value, const char* unit) {
    return value ? fmt::format("{:.2f}{}", *value, unit) : std::string("-");
}

std::string table_of(const std::vector<statement>& all) {
    std::string text = "<table>\n<tr><th>the paper</th><th>its number</th><th>here, instant and faithful</th>"
                       "<th>here, durable and safe</th><th>remark</th></tr>\n";
    for (const auto& one : all)
        text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", one.says, one.paper,
                            cell(one.faithful), cell(one.safe), one.remark);
    return text + "</table>\n";
}

}  // namespace holdfast::bench::steal
