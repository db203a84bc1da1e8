// Runs operations for callgrind, which counts their instructions: exact, and the same on every machine. Valgrind keeps
// no mark of signal_handlers.hpp, so each transaction looks its frame up: about ten instructions that do not run
// outside of it on x86.
//
// Each row is counted several times, after a warm-up of as many transactions, and leaves a dump each time, named
// "ENGINE LEVEL STRUCTURE OPERATION TRANSACTIONS". instructions_test.py reads the dumps.
#include <bench/contest/setting.hpp>
#include <bench/pools.hpp>

#include <workload/btree.hpp>
#include <workload/hash.hpp>
#include <workload/random.hpp>
#include <workload/rbtree.hpp>
#include <workload/sps.hpp>

#include <holdfast/engine/redo.hpp>

#include <valgrind/callgrind.h>

#include <cstdio>
#include <string>

namespace holdfast::bench {
namespace {

constexpr std::uint64_t elements = 1000;
constexpr std::uint64_t transactions = 500;
constexpr int counts = 3;

setting place(const char* level) {
    setting made;
    made.level = level;
    made.elements = elements;
    made.log_bytes = 8u << 20;
    return made;
}

/// Not inlined: a thread looks at its stack once for each place that begins transactions.
template <class Engine, class F>
[[gnu::noinline]] void run(basic_pool<Engine>& pool, F& one) {
    for (std::uint64_t i = 0; i < transactions; ++i) pool.atomically([&] { one(); }).value();
}

template <class Engine, class F>
void count(basic_pool<Engine>& pool, const char* level, const std::string& operation, F&& one) {
    const std::string row = std::string(Engine::description.name) + " " + level + " " + operation + " " +
                            std::to_string(transactions);
    run(pool, one);
    for (int i = 0; i < counts; ++i) {
        CALLGRIND_ZERO_STATS;
        CALLGRIND_TOGGLE_COLLECT;
        run(pool, one);
        CALLGRIND_TOGGLE_COLLECT;
        CALLGRIND_DUMP_STATS_AT(row.c_str());
    }
}

template <class Engine>
void count_swaps(const std::string& path, const char* level) {
    bench_pool<Engine> pool(path, place(level), 24u << 20, [](basic_pool<Engine>& filled) {
        auto* root = filled.template plain_root<workload::sps_root>("sps").value();
        if (!workload::sps(pool_access<Engine>(filled.core()), root).create(elements, 256))
            fail(errc::io, "the array could not be filled");
    });
    workload::sps array(pool.access(), pool.pool().template plain_root<workload::sps_root>("sps").value());
    workload::random numbers(1000);
    count(pool.pool(), level, "sps swap1", [&] { array.swap_random(numbers, 1, 0, elements); });
    count(pool.pool(), level, "sps swap64", [&] { array.swap_random(numbers, 64, 0, elements); });
}

template <class Engine, class Root, template <class> class Structure>
void count_map(const std::string& path, const char* level, const std::string& name) {
    bench_pool<Engine> pool(path, place(level), 64u << 20, [](basic_pool<Engine>& filled) {
        const Structure<pool_access<Engine>> map(pool_access<Engine>(filled.core()),
                                                 filled.template plain_root<Root>("map").value());
        bool good = true;
        if constexpr (requires { map.create(elements); }) good = map.create(elements);
        if (!good || !map.prefill(0, elements, 16)) fail(errc::io, "the map could not be filled");
    });
    Structure<pool_access<Engine>> map(pool.access(), pool.pool().template plain_root<Root>("map").value());
    workload::random numbers(1000);
    std::uint64_t inserted = 0;
    const auto any_key = [&] { return workload::scattered_key(numbers.below(elements)); };
    count(pool.pool(), level, name + " insert", [&] { map.insert(workload::scattered_key(elements + inserted++), 1); });
    count(pool.pool(), level, name + " update", [&] { map.update(any_key(), 2); });
    count(pool.pool(), level, name + " get", [&] {
        std::int64_t value = 0;
        map.get(any_key(), value);
    });
}

template <class Engine>
void count_all(const std::string& path, const char* level) {
    count_swaps<Engine>(path, level);
    count_map<Engine, workload::hash_root, workload::hash_table>(path, level, "hash");
    count_map<Engine, workload::btree_root, workload::btree>(path, level, "btree");
    count_map<Engine, workload::rbtree_root, workload::rbtree>(path, level, "rbtree");
}

}  // namespace
}  // namespace holdfast::bench

int main() {
    using namespace holdfast;
    const std::string path = "/dev/shm/holdfast-instructions-" + std::to_string(::getpid());
    // Under callgrind a measurement of what the processor likes better says nothing.
    bench::setting::records = "streamed";
    try {
        bench::count_all<redo>(path, "power");
        bench::count_all<redo>(path, "process");
        bench::count_all<volatile_only>(path, "process");
    } catch (const std::exception& reason) {
        std::fprintf(stderr, "%s\n", reason.what());
        return 1;
    }
}
