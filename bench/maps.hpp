// Suites over maps: insert, update, get and remove in a structure that keeps its size.
#pragma once

#include <bench/field.hpp>
#include <bench/pools.hpp>

#include <workload/random.hpp>

#include <string>
#include <vector>

namespace holdfast::bench {

/// A map of `Structure<Access>` under `Root`, with the keys scattered_key(0 … elements - 1) in it
/// whenever insert has been run as often as remove. One thread, but for updates under one lock.
template <class Engine, class Root, template <class> class Structure>
class map_contestant : public contestant {
public:
    map_contestant(const std::string& path, const setting& where, std::uint64_t bytes_per_element)
        : where_(where),
          pool_(path, where, where.elements * bytes_per_element + where.log_bytes + (64u << 20),
                [&](basic_pool<Engine>& filled) { fill(filled); }),
          map_(pool_.access(), pool_.pool().template plain_root<Root>("map").value()) {}

    batch run(const std::string& name, std::uint64_t transactions) override {
        if (name == "insert")
            return repeat(transactions, [&](std::uint64_t i) {
                return map_.insert(workload::scattered_key(where_.elements + inserted_++), as_value(i));
            });
        if (name == "remove")
            return repeat(transactions, [&](std::uint64_t) {
                return map_.remove(workload::scattered_key(where_.elements + removed_++));
            });
        if (name == "shared-update")
            return where_.lock == "combining" ? update_locked(combining_lock_, transactions)
                                              : update_locked(lock_, transactions);
        if (name == "update")
            return repeat(transactions, [&](std::uint64_t i) { return map_.update(random_key(), as_value(i)); });
        return repeat(transactions, [&](std::uint64_t) {
            std::int64_t value = 0;
            return map_.get(random_key(), value);
        });
    }

private:
    static std::int64_t as_value(std::uint64_t i) { return static_cast<std::int64_t>(i); }
    std::int64_t random_key() { return workload::scattered_key(numbers_.below(where_.elements)); }

    void fill(basic_pool<Engine>& filled) {
        const Structure<pool_access<Engine>> map(pool_access<Engine>(filled.core()),
                                                 filled.template plain_root<Root>("map").value());
        bool good = true;
        if constexpr (requires { map.create(where_.elements); }) good = map.create(where_.elements);
        if (!good || !map.prefill(0, where_.elements, 16)) fail(errc::io, "the map could not be filled");
    }
    template <class F>
    batch repeat(std::uint64_t transactions, F&& operation) {
        return pool_.measure(1, transactions, [&](unsigned, std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) {
                bool done = false;
                pool_.pool().atomically([&] { done = operation(i); }).value();
                if (!done) fail(errc::not_found, "a key was not where it has to be");
            }
        });
    }

    template <class Lock>
    batch update_locked(Lock& lock, std::uint64_t transactions) {
        return pool_.measure(where_.threads, transactions, [&](unsigned thread, std::uint64_t count) {
            workload::random numbers(transactions + thread);
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::int64_t key = workload::scattered_key(numbers.below(where_.elements));
                const bool done = pool_.pool().atomically(lock, [&] { return map_.update(key, as_value(i)); }).value();
                if (!done) fail(errc::not_found, "a key was not where it has to be");
            }
        });
    }

    setting where_;
    std::mutex lock_;
    combining_mutex combining_lock_;
    bench_pool<Engine> pool_;
    Structure<pool_access<Engine>> map_;
    workload::random numbers_{1000};
    std::uint64_t inserted_ = 0;
    std::uint64_t removed_ = 0;
};

/// The matches of the suite `name` over `Contestant`.
template <template <class> class Contestant>
std::vector<planned_match> plan_maps(const std::string& name, const options& wanted, scratch& space) {
    struct point {
        const char* level;
        const char* medium;
    };
    std::vector<point> points{{"power", "nvram"}, {"process", "nvram"}, {"power", "file"}};
    if (!wanted.quick) points.insert(points.end(), {{"process", "tmpfs"}, {"process", "file"}});
    std::vector<planned_match> plan;
    for (const auto& at : points) {
        field one;
        one.suite = name;
        one.cases = {"insert", "update", "get", "remove"};
        one.where.level = at.level;
        one.where.medium = at.medium;
        one.where.elements = wanted.quick ? 100'000 : 1'000'000;
        const bool waits = std::string(at.medium) == "file" && std::string(at.level) == "power";
        // Small, so that a batch that fills it leaves the structure about as large as it was.
        one.where.log_bytes = waits ? 128u << 10 : 1u << 20;
        one.where.shared_lock = false;
        if (std::string(at.medium) == "nvram") one.where.delay_ns = wanted.delay_ns;
        one.with_undo_paper = !wanted.quick;
        plan.push_back([one, &wanted, &space] { return make_match<Contestant>(one, wanted, space); });
    }
    return plan;
}

}  // namespace holdfast::bench
