// Suite cchtm: who takes part, and on what memory. Each case is in a source of its own, which asks for all contestants
// by make_cchtm_match.
#pragma once

#include <bench/cchtm.hpp>
#include <bench/contest/cpu_clock.hpp>
#include <bench/floor.hpp>
#include <bench/nvram.hpp>
#include <bench/pools.hpp>
#include <bench/tl2/memory.hpp>
#include <bench/tl2/volatile_memory.hpp>

#include <holdfast/engine/cc_htm.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/htm/rtm.hpp>
#include <holdfast/log/retirement.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

namespace holdfast::bench {

/// A batch with the CPU time of all threads of the process, those in the background too: where there are fewer
/// processors than threads, wall time does not say what was saved.
template <class F>
batch with_cpu_time(F&& measure) {
    const double before_ns = process_cpu_ns();
    batch done = measure();
    const double spent_ns = process_cpu_ns() - before_ns;
    done.seen.push_back({"cpu_ns_per_tx", "ns", spent_ns / static_cast<double>(done.transactions)});
    return done;
}

/// A batch with what became of the transactions of the processor, where `Isolation` uses those. `measure(body)` runs it
/// on the threads of the batch.
template <class Isolation, class Body, class Measure>
batch with_hardware_counts(Body&& body, Measure&& measure) {
    if constexpr (requires { Isolation::of_this_thread().counts().fallbacks; }) {
        std::atomic<std::uint64_t> aborts{0}, fallbacks{0};
        batch done = measure([&](unsigned thread, std::uint64_t transactions) {
            const htm::rtm_counts before = Isolation::of_this_thread().counts();
            body(thread, transactions);
            const htm::rtm_counts after = Isolation::of_this_thread().counts();
            aborts += after.aborts - before.aborts;
            fallbacks += after.fallbacks - before.fallbacks;
        });
        const auto of_each = [&](std::uint64_t all) {
            return static_cast<double>(all) / static_cast<double>(done.transactions);
        };
        done.seen.push_back({"aborts_per_tx", "1", of_each(aborts)});
        done.seen.push_back({"fallbacks_per_tx", "1", of_each(fallbacks)});
        return done;
    } else {
        return measure(body);
    }
}

/// The memory of a rival: `Sessions` (tl2_memory, volatile_memory) over bare lines that stand for NVRAM.
/// `prefill(memory)` fills it, without making that durable.
template <class Sessions>
class rival_memory {
public:
    template <class Prefill>
    rival_memory(const cchtm_setting& where, scratch& space, std::uint64_t bytes, Prefill&& prefill)
        : lines_(space.memory_directory(), bytes + where.threads * where.log_bytes),
          region_({.begin = lines_.data(),
                   .bytes = bytes + where.threads * where.log_bytes,
                   .path = path_of(where),
                   .sessions = where.threads,
                   .log_bytes = where.log_bytes}),
          sessions_(region_) {
        region_.set_durable(false);
        prefill(*this);
        region_.set_durable(Sessions::is_durable);
    }

    auto access(unsigned thread) noexcept { return sessions_.access(thread); }
    template <class T>
    T* root() {
        return region_.root<T>();
    }
    /// run_on_threads with what the log did besides.
    template <class F>
    batch measure(unsigned threads, std::uint64_t transactions, F&& body) {
        const std::uint64_t truncations = sessions_.truncations();
        batch done = with_hardware_counts<typename Sessions::isolation>(body, [&](auto&& counted) {
            return with_cpu_time([&] { return run_on_threads(threads, transactions, counted); });
        });
        done.spent->truncations = sessions_.truncations() - truncations;
        done.spent->has_log = Sessions::has_log;
        return done;
    }

private:
    /// As a pool would send its records.
    persist::line_path path_of(const setting& where) {
        persist::line_path path = lines_.path();
        path.delay_ns = where.delay_ns;
        path.streamed_from_bytes = persist::choose_streamed_from(persist::record_way_named(setting::records).value(),
                                                                 path, {lines_.data(), measured_bytes});
        return path;
    }
    static constexpr std::size_t measured_bytes = 1 << 20;

    nvram lines_;
    region region_;
    Sessions sessions_;
};

/// The memory of a pool of `Engine`. `Lock`: what all transactions take, for an engine that does not isolate.
template <class Engine, class Lock = void>
class pooled_memory {
    struct no_lock {};
    using held_lock = std::conditional_t<std::is_void_v<Lock>, no_lock, Lock>;

    class locking_access : public pool_access<Engine> {
    public:
        locking_access(pool_access<Engine> inner, held_lock& lock) noexcept
            : pool_access<Engine>(inner), lock_(&lock) {}
        template <class F>
        bool atomically(F&& f) const {
            return pool_access<Engine>::atomically(*lock_, f);
        }
        template <class Other, class F>
        bool atomically(Other&, F&& f) const {
            return atomically(f);
        }

    private:
        held_lock* lock_;
    };
    using access_type = std::conditional_t<std::is_void_v<Lock>, pool_access<Engine>, locking_access>;

    static access_type access_to(basic_pool<Engine>& pool, held_lock& lock) {
        if constexpr (std::is_void_v<Lock>) return pool_access<Engine>(pool.core());
        else return locking_access(pool_access<Engine>(pool.core()), lock);
    }
    template <class T>
    static T* root_of(basic_pool<Engine>& pool) {
        return pool.template plain_root<T>("data").value();
    }
    struct filling {
        basic_pool<Engine>& pool;
        held_lock& lock;
        access_type access(unsigned) const { return access_to(pool, lock); }
        template <class T>
        T* root() const {
            return root_of<T>(pool);
        }
    };

public:
    template <class Prefill>
    pooled_memory(const cchtm_setting& where, scratch& space, std::uint64_t bytes, Prefill&& prefill)
        : pool_(space.path(where.medium, std::string(Engine::description.name)), where, bytes + where.log_bytes,
                [&](basic_pool<Engine>& pool) {
                    filling view{pool, lock_};
                    prefill(view);
                }) {
        copy_pages();
    }

    access_type access(unsigned) { return access_to(pool_.pool(), lock_); }
    template <class T>
    T* root() {
        return root_of<T>(pool_.pool());
    }
    template <class F>
    batch measure(unsigned threads, std::uint64_t transactions, F&& body) {
        using isolation = std::conditional_t<std::is_same_v<Engine, cc_htm_hardware>,
                                             holdfast::detail::isolation_by_hardware, void>;
        retirement* const queue = pool_.pool().core().retiring();
        const std::uint64_t before_ns = queue != nullptr ? queue->retiring_ns() : 0;
        const double cpu_before_ns = process_cpu_ns();
        batch done = with_hardware_counts<isolation>(body, [&](auto&& counted) {
            return with_cpu_time([&] { return pool_.measure(threads, transactions, counted); });
        });
        // Where there are as many threads as processors, a thread of its own would take this from the others.
        if (queue != nullptr)
            done.seen.push_back({"retirement_share", "1",
                                 static_cast<double>(queue->retiring_ns() - before_ns) /
                                     (process_cpu_ns() - cpu_before_ns)});
        return done;
    }
    /// Requires: an engine that checkpoints, on byte-addressable media.
    pending_commits pending() noexcept { return pool_.pool().core().retiring()->pending(); }

private:
    /// A page that nobody has stored to yet is copied at its first store, once, at the cost of a page fault. Batches
    /// measure what follows.
    void copy_pages() {
        const auto& core = pool_.pool().core();
        constexpr std::uint64_t page_bytes = 4096;
        for (std::uint64_t at = 0; at < core.size(); at += page_bytes)
            std::atomic_ref(reinterpret_cast<unsigned char&>(core.base()[at])).fetch_or(0);
    }

    held_lock lock_;
    bench_pool<Engine> pool_;
};

/// Takes contestants of one match of one case. `Case<Memory>` is a contestant, constructible from (setting, scratch).
template <template <class> class Case>
class cchtm_field {
public:
    cchtm_field(match& to, cchtm_setting where, const options& asked, scratch& space)
        : to_(to), where_(std::move(where)), asked_(asked), space_(space) {}

    /// Of the case, whatever its memory is.
    static constexpr const char* name = Case<rival_memory<volatile_memory<stm::value>>>::name;

    unsigned threads() const noexcept { return where_.threads; }
    const std::vector<std::uint64_t>& lags() const noexcept { return where_.lags; }
    template <class Memory>
    void add(const std::string& engine, const cchtm_way& way) {
        add(engine, way, [this](const cchtm_setting& where) { return std::make_unique<Case<Memory>>(where, space_); });
    }
    /// make(setting) returns a contestant.
    template <class Make>
    void add(const std::string& engine, const cchtm_way& way, Make&& make) {
        if (!chosen(asked_, engine)) return;
        cchtm_setting where = where_;
        where.way = way;
        where.level = way.level;
        where.lag = way.lag;
        where.retire = way.retire;
        where.alias_bytes = way.alias_bytes;
        where.alias_ways = way.alias_ways;
        to_.entries.push_back({engine, make(where), {name}, where.as_parameters()});
    }

private:
    match& to_;
    cchtm_setting where_;
    const options& asked_;
    scratch& space_;
};

/// cc_htm with as many commits missing as is usual, with none, and with a thread that retires; or with each lag of the
/// setting.
template <class Engine, template <class> class Case>
void add_cc_htm(cchtm_field<Case>& to, const std::string& concurrency) {
    constexpr std::uint64_t usual_lag = 128;
    const auto with = [&](std::uint64_t lag, const char* retire) {
        const char* const level = lag == 0 ? "power" : "lag";
        to.template add<pooled_memory<Engine>>("cc_htm", {concurrency, level, lag, "pages", retire});
    };
    for (const std::uint64_t lag : to.lags()) with(lag, "cooperative");
    if (!to.lags().empty()) return;
    with(usual_lag, "cooperative");
    with(usual_lag, "thread");
    with(0, "cooperative");
}

/// All contestants of the suite stand here and nowhere else. `redo` stands for what a program's own lock costs; with
/// one thread, for with more it is the lock that is measured.
template <template <class> class Case>
void add_cchtm_contestants(cchtm_field<Case>& to) {
    add_cc_htm<cc_htm>(to, "value");
    add_cc_htm<cc_htm_versioned>(to, "versioned");
    const bool has_rtm = htm::obstacle_here() == nullptr;
    if (has_rtm) add_cc_htm<cc_htm_hardware>(to, "rtm");
    if (!to.lags().empty()) return;
    to.template add<rival_memory<volatile_memory<stm::value>>>("htm_only", {.concurrency = "value"});
    to.template add<rival_memory<volatile_memory<stm::versioned>>>("htm_only", {.concurrency = "versioned"});
    if (has_rtm) to.template add<rival_memory<volatile_memory<htm::rtm>>>("htm_only", {.concurrency = "rtm"});
    to.template add<rival_memory<tl2_memory<undo_each>>>("ptl2", {.concurrency = "tl2"});
    to.template add<rival_memory<tl2_memory<undo_once>>>("ptl2_best", {.concurrency = "tl2"});
    to.template add<rival_memory<tl2_memory<redo_aside>>>("redo_tl2", {.concurrency = "tl2"});
    if (to.threads() == 1) to.template add<pooled_memory<redo, std::mutex>>("redo", {.concurrency = "lock"});
}

/// The match of one case at one point: the floor, and those whom `add_all(field)` adds.
template <template <class> class Case, class AddAll = decltype(add_cchtm_contestants<Case>)>
match make_cchtm_match(const cchtm_setting& where, const std::string& title, bool floor_is_recorded,
                       const options& asked, scratch& space, AddAll&& add_all = add_cchtm_contestants<Case>) {
    match made;
    made.suite = "cchtm";
    made.title = where.title("cchtm: " + title);
    made.threads = where.threads;
    made.limits.wanted_ns = asked.quick ? 5e6 : 30e6;
    made.limits.longest_ns = asked.quick ? 30e6 : 500e6;
    made.limits.log_bytes = where.log_bytes;
    made.limits.laps = 1.2;
    if (chosen(asked, "none"))
        made.entries.push_back(floor_entry(where.medium, 1, where.log_bytes, space, floor_is_recorded));
    cchtm_field<Case> field(made, where, asked, space);
    add_all(field);
    return made;
}

}  // namespace holdfast::bench
