// Pools as contestants: what is the same for every workload.
#pragma once

#include <bench/contest/scratch.hpp>
#include <bench/contest/setting.hpp>
#include <bench/contest/threads.hpp>

#include <holdfast/engine/access.hpp>
#include <holdfast/engine/volatile_only.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/log/groups.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/persist/record_way.hpp>

#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace holdfast::bench {

/// How a pool is opened under `where`. What only some engines know is asked for here.
inline open_options options_of(const setting& where) {
    open_options asked;
    asked.durability = level_named(where.level).value();
    asked.tmpfs_is_nvram = where.medium == "nvram";
    asked.records = persist::record_way_named(setting::records).value();
    asked.delay_ns = where.delay_ns;
    asked.populate = true;
    if (where.batch != 0) asked.wraps.trim_batch = static_cast<std::uint32_t>(where.batch);
    asked.lag.commits = static_cast<std::uint32_t>(where.lag);
    if (where.alias_bytes != 0) asked.lag.set_bytes = where.alias_bytes;
    if (where.alias_ways != 0) asked.lag.set_ways = static_cast<std::uint32_t>(where.alias_ways);
    if (where.retire == "cooperative") asked.lag.retire = retiring::cooperative;
    if (where.retire == "thread") asked.lag.retire = retiring::by_thread;
    if (where.variant == "early") asked.wraps.lines_kept = 0;
    if (where.variant == "word_by_word") asked.wraps.writes_back_each_word = true;
    if (where.variant == "by_commits") {
        asked.wraps.retires_in_background = false;
        asked.pace.write_back = retiring::cooperative;
    }
    if (where.variant == "no_log") asked.wraps.logs = false;
    return asked;
}

/// A pool of `Engine` under `where`. `prefill(pool)` fills it at level process, which costs no fence
/// and no sync; then it is closed and opened as `where` says.
/// volatile_only is opened at process whatever the level: it keeps no promise, and so costs the same.
template <class Engine>
class bench_pool {
public:
    template <class Prefill>
    bench_pool(std::string path, const setting& where, std::uint64_t bytes, Prefill&& prefill)
        : path_(std::move(path)) {
        create_options made{options_of(where)};
        made.durability = level::process;
        made.delay_ns = 0;
        made.bytes = bytes;
        made.log_bytes = where.log_bytes;
        {
            auto filling = basic_pool<Engine>::create(path_, made).value();
            prefill(filling);
            filling.close().value();
        }
        open_options opened = options_of(where);
        if (std::is_same_v<Engine, volatile_only>) opened.durability = level::process;
        pool_.emplace(basic_pool<Engine>::open(path_, opened).value());
    }
    ~bench_pool() {
        // Nobody looks at it again: bringing it home would only take time.
        if (pool_) pool_->abandon();
        std::remove(path_.c_str());
    }
    bench_pool(const bench_pool&) = delete;
    bench_pool& operator=(const bench_pool&) = delete;

    basic_pool<Engine>& pool() noexcept { return *pool_; }
    pool_access<Engine> access() noexcept { return pool_access<Engine>(pool_->core()); }

    /// run_on_threads with what the log did besides.
    template <class F>
    batch measure(unsigned threads, std::uint64_t transactions, F&& body) {
        const std::uint64_t truncations = log_truncations();
        const std::uint64_t groups = pool_->core().groups() != nullptr ? pool_->core().groups()->groups() : 0;
        batch done = run_on_threads(threads, transactions, std::forward<F>(body));
        done.spent->has_log = true;
        done.spent->truncations = log_truncations() - truncations;
        if (pool_->core().groups() != nullptr) done.spent->groups = pool_->core().groups()->groups() - groups;
        return done;
    }

    /// Of the log so far; checkpoints on a file at `power`.
    std::uint64_t log_truncations() {
        auto& core = pool_->core();
        return core.groups() != nullptr ? core.groups()->checkpoints() : core.lanes()->truncations();
    }

private:
    std::string path_;
    std::optional<basic_pool<Engine>> pool_;
};

}  // namespace holdfast::bench
