// Suite itm: what a transaction, a word, an element of a list and a fresh block cost, with several runtimes.
#include <bench/suites.hpp>
#include <bench/transactions/process.hpp>
#include <tools/streams.hpp>

#include <fmt/format.h>


namespace holdfast::bench {
namespace {

/// The case write_set has one line for each size.
constexpr std::uint64_t write_set_words[]{1'000, 1'000'000};

parameters dram() {
    return {{"level", std::string("process")}, {"medium", std::string("dram")}, {"delay_ns", std::uint64_t{0}}};
}

match make_words_match(const options& wanted) {
    match made;
    made.suite = "itm";
    made.title = "itm: transactions without a rival thread   level process   medium dram   threads 1";
    made.limits.wanted_ns = wanted.quick ? 10e6 : 50e6;
    for (const auto& engine : transaction_engines()) {
        if (!chosen(wanted, engine.name)) continue;
        const auto child = start_transactions(engine, {"itm"});
        const auto add = [&](const std::string& name, const std::string& asked, parameters params) {
            made.entries.push_back(
                {engine.name, std::make_unique<transaction_contestant>(child, asked), {name}, std::move(params)});
        };
        for (const char* name : {"read1", "update1", "update8", "list_read", "list_write", "fresh4k"})
            add(name, name, dram());
        for (const std::uint64_t words : write_set_words) {
            parameters sized = dram();
            sized.emplace_back("words", words);
            add("write_set", "write_set" + std::to_string(words), std::move(sized));
        }
    }
    return made;
}

const record* find_record(const report& all, const std::string& case_name, const std::string& engine,
                          const std::string& metric, std::uint64_t words = 0) {
    for (const auto& one : all.records()) {
        if (one.case_name != case_name || one.engine != engine || one.metric != metric) continue;
        if (words == 0) return &one;
        for (const auto& [name, value] : one.params)
            if (name == "words" && value == parameter(words)) return &one;
    }
    return nullptr;
}

}  // namespace

std::vector<planned_match> plan_itm(const options& wanted, scratch&) {
    return {[&wanted] { return make_words_match(wanted); }};
}

void conclude_itm(report& to) {
    for (const auto& engine : transaction_engines()) {
        const record* const one = find_record(to, "update1", engine.name, "ns_per_tx");
        const record* const eight = find_record(to, "update8", engine.name, "ns_per_tx");
        const record* const small = find_record(to, "write_set", engine.name, "ns_per_element", write_set_words[0]);
        const record* const large = find_record(to, "write_set", engine.name, "ns_per_element", write_set_words[1]);
        if (one == nullptr || eight == nullptr || small == nullptr || large == nullptr) continue;
        record further = *eight;
        further.metric = "ns_per_further_word";
        further.value = (eight->value - one->value) / 7;
        further.min = (eight->min - one->max) / 7;
        further.max = (eight->max - one->min) / 7;
        tools::show(fmt::format("  {:<14} each further word {:.1f} ns; a word of 10^6 costs {:.2f} times one of 10^3\n",
                                engine.name, further.value, large->value / small->value));
        to.add(std::move(further));
    }
}

}  // namespace holdfast::bench
