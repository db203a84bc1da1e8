// Suite dnv-list: a list in dnv pools, with codes and without, in plain memory, and in a rival's pools.
//
// What is read and written through is another list than what is pushed to and popped from, whose elements soon lie in
// another order than they are linked in.
#include <bench/contest/list_runs.hpp>
#include <bench/dnv/process.hpp>
#include <bench/rivals/process.hpp>
#include <bench/suites.hpp>

#include <array>
#include <memory>

namespace holdfast::bench {
namespace {

/// One case of a contestant whose other cases are measured beside it: each has its own length of a batch.
class shared_contestant final : public contestant {
public:
    explicit shared_contestant(std::shared_ptr<contestant> of) : of_(std::move(of)) {}
    batch run(const std::string& name, std::uint64_t transactions) override { return of_->run(name, transactions); }

private:
    std::shared_ptr<contestant> of_;
};

struct list_size {
    std::uint64_t bytes;
    std::uint64_t elements;
};

/// The paper's: payloads at 500 elements, elements of 128 bytes. Beyond it, one that no cache holds.
constexpr std::array all_sizes{list_size{8, 500},       list_size{128, 500},     list_size{1024, 500},
                               list_size{4096, 500},    list_size{128, 10},      list_size{128, 100},
                               list_size{128, 1'000},   list_size{128, 10'000},  list_size{128, 100'000},
                               list_size{8, 2'000'000}};
constexpr std::array quick_sizes{list_size{8, 500}, list_size{128, 500}, list_size{4096, 500}, list_size{128, 10'000}};

/// A contestant's own parameters stand where the contract has them, before those of all.
parameters parameters_of(const setting& where, parameters own) {
    parameters all{{"level", where.level}, {"medium", where.medium}, {"delay_ns", std::uint64_t{0}}};
    all.insert(all.end(), own.begin(), own.end());
    all.emplace_back("bytes", where.bytes);
    all.emplace_back("elements", where.elements);
    return all;
}

match make_list_match(const setting& where, const std::vector<std::string>& cases, const options& wanted,
                      scratch& space) {
    match made;
    made.suite = "dnv-list";
    const std::string level = where.level == "process" ? "process and on_power_fail" : where.level;
    made.title = "dnv-list: " + cases.front() + " and " + cases.back() + "   level " + level + "   medium " +
                 where.medium + "   threads 1   bytes " + std::to_string(where.bytes) + "   elements " +
                 std::to_string(where.elements);
    made.limits.wanted_ns = wanted.quick ? 4e6 : 20e6;
    // One transaction of a rival's takes seconds.
    if (where.elements > most_ordered_elements) made.limits.fixed_transactions = 1;
    const auto add = [&](const std::string& engine, const setting& at, std::shared_ptr<contestant> measured,
                         const parameters& own) {
        for (const std::string& name : cases)
            made.entries.push_back(
                {engine, std::make_unique<shared_contestant>(measured), {name}, parameters_of(at, own)});
    };
    // Beside rivals that flush nothing either, and would survive as much with a handler that writes caches back.
    std::vector<setting> levels{where};
    if (where.level == "process") levels.push_back(where), levels.back().level = "on_power_fail";
    for (const setting& at : levels)
        for (const dnv_program& program : dnv_programs())
            for (const std::string mode : {"rtx", "tx", "notx"})
                // Without blocks the algorithm makes no difference.
                if (chosen(wanted, "dnv") && (mode != "notx" || &program == dnv_programs().data()))
                    add("dnv", at, start_dnv_list(program, mode, at, space),
                        {{"mode", mode}, {"algorithm", std::string(program.algorithm)}});
    for (const std::string rival : {"libpmemobj", "libpmemobj_best"})
        if (chosen(wanted, rival)) add(rival, where, start_rival(rival, "dnv-list", where, space), {});
    return made;
}

}  // namespace

std::vector<planned_match> plan_dnv_list(const options& wanted, scratch& space) {
    const std::vector<list_size> sizes = wanted.quick ? std::vector(quick_sizes.begin(), quick_sizes.end())
                                                      : std::vector(all_sizes.begin(), all_sizes.end());
    const std::vector<std::string> ends{"push_back", "pop_front"};
    const std::vector<std::string> through{"read", "write"};
    std::vector<planned_match> plan;
    for (const list_size& size : sizes)
        for (const std::string level : {"process", "power"}) {
            setting where;
            where.level = level;
            where.bytes = size.bytes;
            where.elements = size.elements;
            for (const auto& cases : {ends, through})
                if (cases != ends || size.elements <= most_ordered_elements)
                    plan.push_back(
                        [where, cases, &wanted, &space] { return make_list_match(where, cases, wanted, space); });
        }
    return plan;
}

}  // namespace holdfast::bench
