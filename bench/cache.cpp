// Suite cache: a key-value cache with values of 100 bytes, in ordinary memory, in pools of engines, in dnv pools with
// codes and without, and in a rival's pool.
#include <bench/contest/cache_runs.hpp>
#include <bench/dnv/process.hpp>
#include <bench/pools.hpp>
#include <bench/rivals/process.hpp>
#include <bench/suites.hpp>

#include <holdfast/engine/combining_mutex.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/stm/atomically.hpp>
#include <holdfast/stm/value.hpp>

#include <memory>

namespace holdfast::bench {
namespace {

cache_job job_of(const setting& where) { return {where.elements, where.bytes, where.threads}; }

class volatile_cache final : public contestant {
public:
    explicit volatile_cache(const setting& where) : runs_({}, &root_, job_of(where)) { runs_.fill(); }
    batch run(const std::string& name, std::uint64_t transactions) override { return runs_.run(name, transactions); }

private:
    workload::cache_root root_{};
    cache_runs<stm::stm_access<stm::value>> runs_;
};

template <class Engine>
class pool_cache_contestant final : public contestant {
    using runs_type = cache_runs<under_one_lock<pool_access<Engine>, combining_mutex>>;

public:
    pool_cache_contestant(const setting& where, scratch& space)
        : where_(where),
          pool_(space.path(where.medium, "cache"), where, pool_bytes_for(job_of(where)),
                [&](basic_pool<Engine>& filled) { runs_over(filled)->fill(); }),
          runs_(runs_over(pool_.pool())) {}
    batch run(const std::string& name, std::uint64_t transactions) override { return runs_->run(name, transactions); }

private:
    std::unique_ptr<runs_type> runs_over(basic_pool<Engine>& pool) {
        return std::make_unique<runs_type>(under_one_lock(pool_access<Engine>(pool.core()), lock_),
                                           pool.template plain_root<workload::cache_root>("cache").value(),
                                           job_of(where_));
    }

    setting where_;
    combining_mutex lock_;
    bench_pool<Engine> pool_;
    std::unique_ptr<runs_type> runs_;
};

match make_cache_match(const setting& where, const options& wanted, scratch& space) {
    match made;
    made.suite = "cache";
    made.title = where.title("cache") + "   bytes " + std::to_string(where.bytes);
    made.threads = where.threads;
    made.limits.wanted_ns = wanted.quick ? 20e6 : 100e6;
    const auto add = [&](const std::string& engine, auto make, const setting& at) {
        if (!chosen(wanted, engine)) return;
        made.entries.push_back({engine,
                                make(),
                                {"mixed", "set", "get"},
                                {{"level", at.level},
                                 {"medium", at.medium},
                                 {"delay_ns", std::uint64_t{0}},
                                 {"elements", at.elements},
                                 {"bytes", at.bytes}}});
    };
    setting armed = where, dram = where;
    if (where.level == "process") armed.level = "on_power_fail";
    dram.medium = "dram";
    dram.level = "process";
    add("volatile", [&] { return std::make_unique<volatile_cache>(where); }, dram);
    add("redo", [&] { return std::make_unique<pool_cache_contestant<redo>>(where, space); }, where);
    add("undo", [&] { return std::make_unique<pool_cache_contestant<undo>>(where, space); }, where);
    for (const dnv_program& program : dnv_programs())
        if (program.algorithm == std::string("value"))
            for (const std::string mode : {"rtx", "tx"})
                add(mode, [&] { return start_dnv_cache(program, mode, armed, space); }, armed);
    add("libpmemobj", [&] { return start_rival("libpmemobj", "cache", where, space); }, where);
    return made;
}

}  // namespace

std::vector<planned_match> plan_cache(const options& wanted, scratch& space) {
    std::vector<planned_match> plan;
    for (const std::string level : {"process", "power"})
        for (const unsigned threads : {1u, 2u}) {
            setting where;
            where.level = level;
            where.threads = threads;
            where.elements = wanted.quick ? 10'000 : 100'000;
            where.bytes = 100;
            where.log_bytes = 4 << 20;
            plan.push_back([where, &wanted, &space] { return make_cache_match(where, wanted, space); });
        }
    return plan;
}

}  // namespace holdfast::bench
