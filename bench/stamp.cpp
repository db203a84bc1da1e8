// Suite stamp: whole programs, in transactions of several runtimes.
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

match make_stamp_match(const stamp_case& which, unsigned threads, const options& wanted) {
    match made;
    made.suite = "stamp";
    made.title = "stamp: " + which.full_name() + "   level process   medium dram   threads " + std::to_string(threads);
    made.threads = threads;
    // Nine of them are a second.
    made.limits.wanted_ns = wanted.quick ? 1e6 : 120e6;
    const char* const obstacle = htm::obstacle_here();
    if (obstacle != nullptr) made.title += "\n" + std::string(obstacle) + " hybrid and libitm_default run in software.";
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

std::vector<planned_match> plan_stamp(const options& wanted, scratch&) {
    std::vector<planned_match> plan;
    for (const stamp_case& which : cases_of(wanted))
        for (const unsigned threads : {1u, 2u})
            plan.push_back([which, threads, &wanted] { return make_stamp_match(which, threads, wanted); });
    return plan;
}

}  // namespace holdfast::bench
