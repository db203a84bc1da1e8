// Suite intset: sets that threads share, in transactions of several runtimes.
#include <bench/suites.hpp>
#include <bench/transactions/process.hpp>

#include <holdfast/htm/rtm_instructions.hpp>

namespace holdfast::bench {
namespace {

struct set_kind {
    const char* structure;
    std::uint64_t elements;
};
constexpr set_kind set_kinds[]{{"hash_set", 4096}, {"rbtree", 4096}, {"list", 256}};

match make_set_match(const set_kind& kind, unsigned threads, const options& wanted) {
    match made;
    made.suite = "intset";
    made.title = "intset: " + std::string(kind.structure) + " of " + std::to_string(kind.elements) +
                 "   level process   medium dram   threads " + std::to_string(threads);
    made.threads = threads;
    made.limits.wanted_ns = wanted.quick ? 10e6 : 50e6;
    const char* const obstacle = htm::obstacle_here();
    if (obstacle != nullptr) made.title += "\n" + std::string(obstacle) + " hybrid and libitm_default run in software.";
    for (const std::uint64_t updates : {0u, 20u, 100u}) {
        for (const auto& engine : transaction_engines()) {
            if (!chosen(wanted, engine.name) || (threads > 1 && !engine.concurrent)) continue;
            auto child = start_transactions(engine, {"intset", kind.structure, std::to_string(kind.elements),
                                                     std::to_string(updates), std::to_string(threads)});
            entry one{engine.name,
                      std::make_unique<transaction_contestant>(std::move(child), kind.structure),
                      {kind.structure},
                      {{"level", std::string("process")},
                       {"medium", std::string("dram")},
                       {"delay_ns", std::uint64_t{0}},
                       {"elements", kind.elements},
                       {"updates", updates}}};
            if (engine.tries_hardware)
                one.params.push_back({"rtm", std::string(obstacle != nullptr ? obstacle : "tried first")});
            made.entries.push_back(std::move(one));
        }
    }
    return made;
}

}  // namespace

std::vector<planned_match> plan_intset(const options& wanted, scratch&) {
    std::vector<planned_match> plan;
    for (const auto& kind : set_kinds)
        for (const unsigned threads : {1u, 2u})
            plan.push_back([&kind, threads, &wanted] { return make_set_match(kind, threads, wanted); });
    return plan;
}

}  // namespace holdfast::bench
