// What a fixed sequence of operations costs, counted exactly. See budget_test.cpp.
#pragma once

#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/queue.hpp>
#include <holdfast/container/string.hpp>
#include <holdfast/container/vector.hpp>
#include <holdfast/engine/access.hpp>
#include <holdfast/engine/engines.hpp>
#include <holdfast/handle/pool.hpp>

#include <workload/btree.hpp>
#include <workload/hash.hpp>
#include <workload/rbtree.hpp>
#include <workload/sps.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::bench::test {

inline constexpr std::uint64_t prefilled = 1000;

/// Where the counting happens, and the lines it gives.
struct ledger {
    std::string directory;
    std::string medium;
    level durability = level::power;
    std::uint64_t operations = 64;  ///< counted, after as many to warm up
    std::vector<std::string> lines;

    void note(const std::string& engine, const std::string& structure, const std::string& operation,
              std::uint64_t times, const persist::counters& spent) {
        const auto printed = [](std::uint64_t number) { return static_cast<unsigned long long>(number); };
        char line[200];
        std::snprintf(line, sizeof line, "%-14.14s %-7.7s %-5.5s %-9s %-10s %5llu %8llu %6llu %8llu %7llu %5llu",
                      engine.c_str(), std::string(name_of(durability)).c_str(), medium.c_str(), structure.c_str(),
                      operation.c_str(), printed(times), printed(spent.write_backs), printed(spent.fences),
                      printed(spent.streamed_bytes), printed(spent.written_bytes), printed(spent.syncs));
        lines.emplace_back(line);
    }
};

/// Counts operations on one pool of `Engine`, made for one structure.
template <class Engine>
class counted_pool {
public:
    counted_pool(ledger& to, std::string structure)
        : to_(to), structure_(std::move(structure)), path_(to.directory + "/budget-pool") {
        create_options options;
        options.durability = to.durability;
        options.tmpfs_is_nvram = to.medium == "nvram";
        options.records = persist::record_way::streamed;
        options.bytes = 8 << 20;
        options.log_bytes = 1 << 20;
        // What another thread does would not be counted.
        options.wraps.retires_in_background = false;
        options.pace.write_back = retiring::cooperative;
        pool_.emplace(basic_pool<Engine>::create(path_, options).value());
    }
    ~counted_pool() {
        pool_->abandon();
        std::remove(path_.c_str());
    }
    counted_pool(const counted_pool&) = delete;
    counted_pool& operator=(const counted_pool&) = delete;

    pool_access<Engine> access() { return pool_access<Engine>(pool_->core()); }
    template <class T>
    T* root() {
        return pool_->template root<T>("counted").value();
    }
    template <class T>
    T* plain_root() {
        return pool_->template plain_root<T>("counted").value();
    }

    /// insert(i) for each i that is to be there from the start, in few transactions.
    template <class F>
    void fill(F&& insert) {
        constexpr std::uint64_t batch = 40;
        static_assert(prefilled % batch == 0);
        for (std::uint64_t first = 0; first < prefilled; first += batch)
            pool_->atomically([&] {
                     for (std::uint64_t i = first; i < first + batch; ++i) insert(i);
                 }).value();
    }
    /// Runs the transactions operation(0), operation(1), …, as many to warm up as are then counted.
    template <class F>
    void count(const std::string& operation_name, F&& operation) {
        persist::counters before;
        for (std::uint64_t i = 0; i < 2 * to_.operations; ++i) {
            if (i == to_.operations) before = persist::thread_counters();
            pool_->atomically([&] { operation(i); }).value();
        }
        note(operation_name, to_.operations, persist::thread_counters() - before);
    }
    /// Counts what bringing everything home costs now.
    void count_checkpoint() {
        const persist::counters before = persist::thread_counters();
        pool_->checkpoint().value();
        note("checkpoint", 1, persist::thread_counters() - before);
    }

private:
    void note(const std::string& operation, std::uint64_t times, const persist::counters& spent) {
        to_.note(std::string(Engine::description.name), structure_, operation, times, spent);
    }

    ledger& to_;
    std::string structure_;
    std::string path_;
    std::optional<basic_pool<Engine>> pool_;
};

/// The key of the i-th operation in a structure that holds the first `prefilled`.
inline std::int64_t fresh_key(std::uint64_t i) { return workload::scattered_key(prefilled + i); }
inline std::int64_t known_key(std::uint64_t i) { return workload::scattered_key(i * 7 % prefilled); }

template <class Engine>
void count_swaps(ledger& to) {
    counted_pool<Engine> pool(to, "sps");
    const workload::sps array(pool.access(), pool.template plain_root<workload::sps_root>());
    array.create(prefilled, 64);
    for (const std::uint64_t swaps : {1u, 8u, 64u}) {
        workload::random numbers(swaps);
        pool.count("swap" + std::to_string(swaps), [&](std::uint64_t) { array.swap_random(numbers, swaps); });
    }
    pool.count_checkpoint();
}

template <class Engine, class Root, template <class> class Structure>
void count_map(ledger& to, const std::string& name) {
    counted_pool<Engine> pool(to, name);
    const Structure<pool_access<Engine>> map(pool.access(), pool.template plain_root<Root>());
    if constexpr (requires { map.create(prefilled); }) map.create(prefilled);
    map.prefill(0, prefilled, 40);
    pool.count("insert", [&](std::uint64_t i) { map.insert(fresh_key(i), 1); });
    pool.count("update", [&](std::uint64_t i) { map.update(known_key(i), static_cast<std::int64_t>(i)); });
    pool.count("get", [&](std::uint64_t i) {
        std::int64_t value = 0;
        map.get(known_key(i), value);
    });
    pool.count("remove", [&](std::uint64_t i) { map.remove(fresh_key(i)); });
    pool.count_checkpoint();
}

template <class Engine, class Map>
void count_container_map(ledger& to, const std::string& name) {
    counted_pool<Engine> pool(to, name);
    auto& map = *pool.template root<Map>();
    pool.fill([&](std::uint64_t i) { map.try_emplace(workload::scattered_key(i), 1); });
    pool.count("insert", [&](std::uint64_t i) { map.try_emplace(fresh_key(i), 1); });
    pool.count("update", [&](std::uint64_t i) { map.at(known_key(i)) = static_cast<std::int64_t>(i + 5); });
    pool.count("find", [&](std::uint64_t i) { static_cast<void>(map.contains(known_key(i))); });
    pool.count("erase", [&](std::uint64_t i) { map.erase(fresh_key(i)); });
    pool.count_checkpoint();
}

template <class Engine>
void count_sequences(ledger& to) {
    {
        counted_pool<Engine> pool(to, "vector");
        auto& values = *pool.template root<vector<std::uint64_t, Engine>>();
        values.reserve(prefilled);
        pool.count("push_back", [&](std::uint64_t i) { values.push_back(i); });
        pool.count("assign", [&](std::uint64_t i) { values[i] = i + 1; });
        pool.count("pop_back", [&](std::uint64_t) { values.pop_back(); });
    }
    {
        counted_pool<Engine> pool(to, "queue");
        auto& values = *pool.template root<queue<std::uint64_t, Engine>>();
        pool.count("push", [&](std::uint64_t i) { values.push(i); });
        pool.count("pop", [&](std::uint64_t) { values.pop(); });
    }
    counted_pool<Engine> pool(to, "string");
    auto& text = *pool.template root<string<Engine>>();
    const std::string_view long_text = "a text that is too long to be kept inside the object";
    pool.count("assign8", [&](std::uint64_t i) { text.assign(long_text.substr(i % 8, 8)); });
    pool.count("assign48", [&](std::uint64_t i) { text.assign(long_text.substr(i % 4, 48)); });
}

/// Counts everything for one engine, level and medium.
template <class Engine>
void count_engine(ledger& to) {
    count_swaps<Engine>(to);
    count_map<Engine, workload::hash_root, workload::hash_table>(to, "hash");
    count_map<Engine, workload::btree_root, workload::btree>(to, "btree");
    count_map<Engine, workload::rbtree_root, workload::rbtree>(to, "rbtree");
    count_container_map<Engine, hash_map<std::int64_t, std::int64_t, Engine>>(to, "hash_map");
    count_container_map<Engine, btree_map<std::int64_t, std::int64_t, Engine>>(to, "btree_map");
    count_sequences<Engine>(to);
}

// One source each, count_ENGINE: they compile for a while.
#define HOLDFAST_DECLARE(engine) void count_##engine(ledger& to);
HOLDFAST_ENGINES(HOLDFAST_DECLARE)
#undef HOLDFAST_DECLARE
void count_line(ledger& to);

}  // namespace holdfast::bench::test
