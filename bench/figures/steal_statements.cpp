#include <bench/figures/steal_statements.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace holdfast::bench::steal {
namespace {

std::optional<double> largest(const std::vector<std::optional<double>>& all) {
    std::optional<double> found;
    for (const auto& each : all)
        if (each && (!found || *each > *found)) found = each;
    return found;
}

std::optional<double> least(const std::vector<std::optional<double>>& all) {
    std::optional<double> found;
    for (const auto& each : all)
        if (each && (!found || *each < *found)) found = each;
    return found;
}

std::string compared(const char* machine, std::optional<double> ours, double paper) {
    constexpr double alike = 0.1;
    if (!ours) return "";
    const double difference = *ours / paper - 1;
    if (std::abs(difference) <= alike) return fmt::format("{}: as in the paper. ", machine);
    return fmt::format("{}: {:.0f} % {} the paper's. ", machine, std::abs(difference) * 100,
                       difference > 0 ? "above" : "below");
}

/// Fills in who is how far from the paper, and why if anybody is.
statement remarked(statement one, const char* says, std::string paper, std::optional<double> number,
                   const std::string& reason) {
    one.says = says;
    one.paper = std::move(paper);
    one.number = number;
    if (number) {
        const std::string faithful = compared("Faithful", one.faithful, *number);
        const std::string safe = compared("Safe", one.safe, *number);
        one.remark = faithful + safe;
        const bool differs = one.remark.find('%') != std::string::npos;
        if (differs) one.remark += reason;
    } else {
        one.remark = reason;
    }
    return one;
}

/// For sentences that give a direction: where ours goes the same way.
statement directed(statement one, const char* says, const char* paper, const std::string& reason) {
    one.says = says;
    one.paper = paper;
    const auto way = [](const char* machine, std::optional<double> ours) {
        if (!ours) return std::string();
        return fmt::format("{}: {}. ", machine, *ours > 1 ? "the same way" : "the other way");
    };
    one.remark = way("Faithful", one.faithful) + way("Safe", one.safe);
    if (one.remark.find("other") != std::string::npos) one.remark += reason;
    return one;
}

}  // namespace

statements::values statements::of_all(std::string_view design, const machine_settings* machine, unsigned threads,
                                      const of_run& what) const {
    values all;
    for (const auto& workload : workloads_)
        for (const char* element : elements)
            for (const unsigned each : thread_counts) {
                if (threads != 0 && each != threads) continue;
                const auto one = steal::run_of(workload, design, each, element, machine);
                if (runs_.has(one)) all.push_back(what(one));
            }
    return all;
}

statement statements::on_both(std::string_view design, unsigned threads, const of_run& what,
                              std::optional<double> (*summary)(const values&)) const {
    statement made;
    made.faithful = summary(of_all(design, &paper_machine(), threads, what));
    made.safe = summary(of_all(design, &safe_machine(), threads, what));
    return made;
}

statements::values statements::of_software(const of_run& what) const {
    values all;
    for (const auto& design : {base_design, fencing_designs[0], fencing_designs[1]})
        for (const auto& each : of_all(design, nullptr, 0, what)) all.push_back(each);
    return all;
}

std::optional<double> statements::times_ideal(const simulated_run& one, measure what) const {
    const auto ideal = steal::run_of(one.workload, ideal_design, one.threads, one.element, nullptr);
    return ratio(value_of(runs_, one, what), value_of(runs_, ideal, what));
}

std::optional<double> statements::times_fencing(const simulated_run& one, measure what) const {
    return ratio(value_of(runs_, one, what), better_fencing(runs_, one, what));
}

std::optional<double> statements::percent_of_run(const simulated_run& one, const char* metric,
                                                bool of_each_hart) const {
    constexpr double ps_per_s = 1e12;
    const auto seconds = ratio(runs_.value(one, "transactions"), runs_.value(one, "tx_per_s"));
    const auto spent = runs_.value(one, metric);
    if (!seconds || !spent) return std::nullopt;
    return *spent / (*seconds * ps_per_s * (of_each_hart ? one.threads : 1)) * 100;
}

double statements::percent_of_time(unsigned threads, const machine_settings& machine, const char* metric,
                                   bool of_each_hart) const {
    const auto all = of_all(forced_design, &machine, threads,
                            [&](const simulated_run& one) { return percent_of_run(one, metric, of_each_hart); });
    double sum = 0;
    for (const auto& each : all) sum += each.value_or(0);
    return all.empty() ? 0 : sum / static_cast<double>(all.size());
}

std::string statements::log_waits(unsigned threads) const {
    const auto bandwidth = geometric_mean(of_all(forced_design, &paper_machine(), threads, [&](const auto& one) {
        const auto bytes = runs_.per_transaction(one, "log_bytes"), rate = runs_.value(one, "tx_per_s");
        return bytes && rate ? std::optional(*bytes * *rate / 1e9) : std::nullopt;
    }));
    const auto without_scans =
        geometric_mean(of_all(old_values_design, &paper_machine(), threads, [this](const simulated_run& one) {
            return times_ideal(one, measure::throughput);
        }));
    return fmt::format("Scans are under way {:.0f} % of the time, and reads wait for what they write back; hw-ulog, "
                       "which has the same log and no scans, has {} of non-pers. Of a hart's time {:.0f} % goes to "
                       "places in the log buffer, and when safe {:.0f} % to room in the log and {:.0f} % to durable "
                       "commits. The log is written with {:.1f} GB/s of 5.8 that it could have.",
                       percent_of_time(threads, paper_machine(), "log_scanning_ps", false), cell(without_scans),
                       percent_of_time(threads, paper_machine(), "log_buffer_wait_ps", true),
                       percent_of_time(threads, safe_machine(), "log_room_wait_ps", true),
                       percent_of_time(threads, safe_machine(), "log_commit_wait_ps", true), bandwidth.value_or(0));
}

std::string statements::waits_at(extreme which, const of_run& what) const {
    std::string text;
    for (const auto& [name, machine] : {std::pair{"Faithful", &paper_machine()}, {"Safe", &safe_machine()}}) {
        std::optional<simulated_run> found;
        std::optional<double> there;
        of_all(forced_design, machine, 0, [&](const simulated_run& one) {
            const auto ours = what(one);
            if (ours && (!there || (which == extreme::least ? *ours < *there : *ours > *there))) {
                there = ours;
                found = one;
            }
            return ours;
        });
        if (!found) continue;
        const auto percent = [&, &at = *found](const char* metric, bool of_each_hart) {
            return percent_of_run(at, metric, of_each_hart).value_or(0);
        };
        text += fmt::format("{}, {} is {}, {}, with {} thread{}: scans are under way {:.0f} % of the time; of a "
                            "hart's time {:.0f} % goes to places in the log buffer, {:.0f} % to room in the log and "
                            "{:.0f} % to durable commits. ",
                            name, which == extreme::least ? "least" : "most", found->workload, found->element,
                            found->threads, found->threads == 1 ? "" : "s",
                            percent("log_scanning_ps", false), percent("log_buffer_wait_ps", true),
                            percent("log_room_wait_ps", true), percent("log_commit_wait_ps", true));
    }
    return text;
}

std::string statements::writes_of_each() const {
    const auto writes = [&](std::string_view design, const machine_settings* machine) {
        const auto of = [&](const auto& one) { return value_of(runs_, one, measure::writes); };
        return geometric_mean(of_all(design, machine, 1, of)).value_or(0);
    };
    return fmt::format("With one thread a transaction writes {:.1f} lines of NVRAM when nothing is logged, {:.1f} and "
                       "{:.1f} with redo and undo logging by software, {:.1f} with fwb: a record of a line for each "
                       "word costs more lines than caches save, and non-pers leaves most of what it wrote in L2.",
                       writes(ideal_design, nullptr), writes(fencing_designs[0], nullptr),
                       writes(fencing_designs[1], nullptr), writes(forced_design, &paper_machine()));
}

std::string statements::instructions_of_a_word() const {
    const auto spent = [&](std::string_view design) {
        return geometric_mean(of_all(design, nullptr, 1, [&](const simulated_run& one) -> std::optional<double> {
            const auto ideal = steal::run_of(one.workload, ideal_design, 1, one.element, nullptr);
            const auto logged = steal::run_of(one.workload, forced_design, 1, one.element, &paper_machine());
            const auto mine = value_of(runs_, one, measure::instructions),
                       its = value_of(runs_, ideal, measure::instructions);
            if (!mine || !its) return std::nullopt;
            return ratio(*mine - *its, runs_.per_transaction(logged, "log_records"));
        }));
    };
    return fmt::format("Software spends {:.0f} instructions (redo) and {:.0f} (undo) on each stored word here, and "
                       "non-pers is small: there is no library below it.",
                       spent(fencing_designs[0]).value_or(0), spent(fencing_designs[1]).value_or(0));
}

std::vector<statement> statements::of_throughput() const {
    const auto gain = [this](const simulated_run& one) { return times_fencing(one, measure::throughput); };
    const auto of_ideal = [this](const simulated_run& one) { return times_ideal(one, measure::throughput); };
    statement worst;
    worst.safe = least(of_software(of_ideal));
    const statement complex = statements(runs_, {"btree", "ssca2"}).on_both(forced_design, 1, gain, geometric_mean);
    const statement simple =
        statements(runs_, {"hash", "rbtree", "sps"}).on_both(forced_design, 1, gain, geometric_mean);
    return {remarked(on_both(forced_design, 1, gain, geometric_mean), "fwb over the better of redo and undo logging "
                     "that writes lines back, 1 thread (geometric mean here)", "1.86", 1.86, log_waits(1)),
            remarked(on_both(forced_design, 8, gain, geometric_mean), "the same with 8 threads", "1.75", 1.75,
                     log_waits(8)),
            directed(on_both(logged_design, 1, gain, geometric_mean), "hwl alone over the better of the two, 1 thread",
                     "above 1", "hwl writes each line back, too."),
            remarked(on_both(forced_design, 0, of_ideal, least), "fwb over non-pers, least", "0.73", 0.73,
                     waits_at(extreme::least, of_ideal)),
            remarked(worst, "software over non-pers, least (its column is that of safe)", "0.41", 0.41,
                     instructions_of_a_word() + " Three fences a transaction wait for the NVRAM's array."),
            directed({"", "", {}, ratio(simple.faithful, complex.faithful), ratio(simple.safe, complex.safe), ""},
                     "the gain of hash, rbtree and sps over that of btree and ssca2, 1 thread", "above 1",
                     "Here btree and ssca2 gain more than the others.")};
}

std::vector<statement> statements::of_instructions() const {
    const auto of_ideal = [this](const simulated_run& one) { return times_ideal(one, measure::instructions); };
    const auto cycles = [this](const simulated_run& one) {
        return times_fencing(one, measure::instructions_per_cycle);
    };
    statement software;
    software.safe = largest(of_software(of_ideal));
    return {remarked(software, "instructions of software over non-pers, most (its column is that of safe)", "2.5", 2.5,
                     instructions_of_a_word()),
            remarked(on_both(forced_design, 0, of_ideal, geometric_mean), "instructions of fwb over non-pers", "1.3",
                     1.3, "Begin and commit of a transaction are an instruction each, and non-pers has them, too."),
            directed(on_both(forced_design, 0, cycles, geometric_mean), "instructions a cycle of fwb over software",
                     "above 1",
                     "Software executes more instructions for a transaction, most of which wait for nothing, so it "
                     "has more of them a cycle and is slower nevertheless.")};
}

std::vector<statement> statements::of_energy() const {
    const auto of_ideal = [this](const simulated_run& one) { return times_ideal(one, measure::energy); };
    const auto whole = [this](const simulated_run& one) {
        const auto ideal = steal::run_of(one.workload, ideal_design, one.threads, one.element, nullptr);
        return ratio(runs_.per_transaction(one, "energy_pj"), runs_.per_transaction(ideal, "energy_pj"));
    };
    const auto saved = [this](const simulated_run& one) {
        return ratio(better_fencing(runs_, one, measure::energy), value_of(runs_, one, measure::energy));
    };
    statement software;
    software.safe = largest(of_software(of_ideal));
    const std::string reason = writes_of_each();
    return {remarked(software, "NVRAM energy of software over non-pers, most (its column is that of safe)", "1.62",
                     1.62, reason),
            remarked(on_both(forced_design, 0, of_ideal, geometric_mean), "NVRAM energy of fwb over non-pers", "1.20",
                     1.2, reason),
            remarked(on_both(forced_design, 0, whole, geometric_mean), "energy of processor and NVRAM, the same",
                     "1.06", 1.06, "The core's is counted by instruction, 1,350 pJ each."),
            directed(on_both(forced_design, 0, saved, geometric_mean),
                     "NVRAM energy of the better of redo and undo logging over fwb", "above 1", reason)};
}

std::vector<statement> statements::of_writes() const {
    const auto saved = [this](const simulated_run& one) {
        return ratio(better_fencing(runs_, one, measure::writes), value_of(runs_, one, measure::writes));
    };
    return {directed(on_both(forced_design, 1, saved, geometric_mean), "NVRAM writes of the better of redo and undo "
                     "logging over fwb, 1 thread", "far above 1", writes_of_each()),
            directed(on_both(forced_design, 8, saved, geometric_mean), "the same with 8 threads", "far above 1",
                     writes_of_each())};
}

std::vector<statement> statements::of_kernels() const {
    const auto gain = [this](const simulated_run& one) { return times_fencing(one, measure::throughput); };
    const auto of_ideal = [this](const simulated_run& one) { return times_ideal(one, measure::throughput); };
    const auto saved = [this](const simulated_run& one) {
        return ratio(better_fencing(runs_, one, measure::energy), value_of(runs_, one, measure::energy));
    };
    return {remarked(on_both(forced_design, 0, gain, largest), "fwb over the better of redo and undo logging, most",
                     "2.7", 2.7, waits_at(extreme::most, gain)),
            remarked(on_both(forced_design, 0, of_ideal, least), "fwb over non-pers, least", "0.73", 0.73,
                     waits_at(extreme::least, of_ideal)),
            remarked(on_both(forced_design, 0, saved, largest), "NVRAM energy saved against software, most", "2.43",
                     2.43, writes_of_each())};
}

}  // namespace holdfast::bench::steal
