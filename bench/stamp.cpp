// Suite stamp: whole programs, in transactions of several runtimes, and with their shared data in dnv pools.
#include <bench/dnv/process.hpp>
#include <bench/suites.hpp>
#include <bench/transactions/process.hpp>

#include <holdfast/htm/rtm_instructions.hpp>
#include <workload/stamp/programs.hpp>

#include <algorithm>
#include <string_view>

namespace holdfast::bench {
namespace {

struct stamp_case {
    std::string name;  ///< vacation-low
    std::string set;   ///< small, + or ++
    std::string full_name() const { return set == "small" ? name : name + set; }
};

std::string engine_name(const transaction_engine& engine) {
    return engine.name == std::string_view("plain") ? "notx" : engine.name;
}

/// A program whose aborts are not known: the processor takes the count of attempts back with the attempt.
class unseen_aborts final : public contestant {
public:
    explicit unseen_aborts(std::unique_ptr<contestant> measured) : measured_(std::move(measured)) {}
    batch run(const std::string& name, std::uint64_t transactions) override {
        batch done = measured_->run(name, transactions);
        std::erase_if(done.seen, [](const observation& each) { return each.metric == "aborts_per_tx"; });
        return done;
    }

private:
    std::unique_ptr<contestant> measured_;
};

void add_volatile_engines(const stamp_case& which, unsigned threads, const options& wanted, match& made) {
    const char* const obstacle = htm::obstacle_here();
    for (const auto& engine : transaction_engines()) {
        const std::string name = engine_name(engine);
        if (!chosen(wanted, name) || (threads > 1 && !engine.concurrent)) continue;
        // Without hardware transactions hybrid is value.
        if (name == "hybrid" && obstacle != nullptr) continue;
        auto child = start_transactions(engine, {"stamp", which.full_name(), std::to_string(threads)});
        std::unique_ptr<contestant> measured =
            std::make_unique<transaction_contestant>(std::move(child), which.name);
        if (engine.tries_hardware && obstacle == nullptr)
            measured = std::make_unique<unseen_aborts>(std::move(measured));
        entry one{name,
                  std::move(measured),
                  {which.name},
                  {{"level", std::string("process")},
                   {"medium", std::string("dram")},
                   {"delay_ns", std::uint64_t{0}},
                   {"set", which.set}}};
        if (engine.tries_hardware)
            one.params.push_back({"rtm", std::string(obstacle != nullptr ? obstacle : "tried first")});
        made.entries.push_back(std::move(one));
    }
}

/// Shared data in a pool, without codes and with them. Armed: a handler saves them when power fails.
void add_persistent_engines(const stamp_case& which, unsigned threads, const options& wanted, scratch& space,
                            match& made) {
    setting where;
    where.level = "on_power_fail";
    where.threads = threads;
    for (const dnv_program& program : dnv_programs())
        if (program.algorithm == std::string("value"))
            for (const std::string mode : {"tx", "rtx", "rtx_flips", "rtx_no_flips", "tx_all", "rtx_all"}) {
                // What flips cost, and private data in the pool, is measured for those alone who ask.
                const bool is_usual = mode == "tx" || mode == "rtx";
                const bool can_be_in_pool = which.name.starts_with("kmeans") || which.name == "yada";
                if (mode.ends_with("_all") && !can_be_in_pool) continue;
                if (!chosen(wanted, mode) || (!is_usual && wanted.engines.empty())) continue;
                made.entries.push_back({mode,
                                        start_dnv_stamp(program, mode, which.full_name(), where, space),
                                        {which.name},
                                        {{"level", where.level},
                                         {"medium", where.medium},
                                         {"delay_ns", std::uint64_t{0}},
                                         {"set", which.set}}});
            }
}

match make_stamp_match(const stamp_case& which, unsigned threads, const options& wanted, scratch& space) {
    match made;
    made.suite = "stamp";
    made.title = "stamp: " + which.full_name() + "   level process   medium dram   threads " + std::to_string(threads) +
                 "\nof tx and rtx level on_power_fail   medium nvram";
    made.threads = threads;
    // Nine of them are a second.
    made.limits.wanted_ns = wanted.quick ? 1e6 : 120e6;
    if (const char* const obstacle = htm::obstacle_here(); obstacle != nullptr)
        made.title += "\n" + std::string(obstacle) + " hybrid and libitm_default run in software.";
    add_volatile_engines(which, threads, wanted, made);
    add_persistent_engines(which, threads, wanted, space, made);
    return made;
}

/// What is named, or the small sets; with --quick only one of each program, and otherwise those with a plus too, but of
/// vacation, whose larger tables take seconds to be made for each run.
std::vector<stamp_case> cases_of(const options& wanted) {
    std::vector<stamp_case> all;
    workload::each_stamp_set([&](const auto& set) {
        const stamp_case one{set.name, set.size};
        const bool is_vacation = one.name.starts_with("vacation");
        const bool usual = wanted.quick ? one.set == "small" && !one.name.ends_with("-high")
                                        : one.set == "small" || (one.set == "+" && !is_vacation);
        const auto& named = wanted.cases;
        const bool is_named = std::find(named.begin(), named.end(), one.full_name()) != named.end();
        if (named.empty() ? usual : is_named) all.push_back(one);
    });
    return all;
}

}  // namespace

std::vector<std::string> stamp_case_names() {
    std::vector<std::string> names;
    workload::each_stamp_set([&](const auto& set) { names.push_back(stamp_case{set.name, set.size}.full_name()); });
    return names;
}

std::vector<planned_match> plan_stamp(const options& wanted, scratch& space) {
    std::vector<planned_match> plan;
    for (const stamp_case& which : cases_of(wanted))
        for (const unsigned threads : {1u, 2u})
            plan.push_back([which, threads, &wanted, &space] {
                return make_stamp_match(which, threads, wanted, space);
            });
    return plan;
}

}  // namespace holdfast::bench
