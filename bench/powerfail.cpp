// Suite powerfail: what a save takes when the power fails. Dirty lines written back, a log copied, threads stopped,
// each by itself; and all of it, by the library's own handler, while threads commit, beside what it had planned. Then
// how soon a pool is at `power` once its handler is lost, and what commits cost on an ordinary file.
#include <bench/fall_back_contestants.hpp>
#include <bench/nvram.hpp>
#include <bench/pools.hpp>
#include <bench/suites.hpp>
#include <tools/streams.hpp>

#include <fmt/format.h>

#include <holdfast/engine/redo.hpp>

#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/powerfail/parking.hpp>
#include <holdfast/powerfail/process_handler.hpp>
#include <workload/random.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

namespace holdfast::bench {
namespace {

namespace site = persist::site;

/// Lines that are all dirty, as far as caches hold them.
class write_back_contestant final : public contestant {
public:
    write_back_contestant(std::uint64_t bytes, const std::string& directory)
        : bytes_(bytes), lines_(directory, bytes) {}

    batch run(const std::string&, std::uint64_t times) override {
        batch done{0, times, std::nullopt};
        for (std::uint64_t i = 0; i < times; ++i) {
            std::memset(lines_.data(), static_cast<int>(i), bytes_);
            const auto begin = clock::now();
            persist::write_back(lines_.path(), lines_.data(), bytes_, site::measure);
            persist::fence(lines_.path(), site::measure);
            done.ns += ns_since(begin);
        }
        return done;
    }

private:
    std::uint64_t bytes_;
    nvram lines_;
};

/// A log in memory to the one in the pool.
class copy_contestant final : public contestant {
public:
    copy_contestant(std::uint64_t bytes, const std::string& directory)
        : from_(directory, bytes), to_(directory, bytes), bytes_(bytes) {}

    batch run(const std::string&, std::uint64_t times) override {
        batch done{0, times, std::nullopt};
        for (std::uint64_t i = 0; i < times; ++i) {
            std::memset(from_.data(), static_cast<int>(i), bytes_);
            const auto begin = clock::now();
            persist::copy(to_.data(), from_.data(), bytes_, site::measure);
            done.ns += ns_since(begin);
        }
        return done;
    }

private:
    nvram from_;
    nvram to_;
    std::uint64_t bytes_;
};

/// Threads of which as many run as there are processors, and the others wait.
class park_contestant final : public contestant {
public:
    explicit park_contestant(unsigned threads) {
        powerfail::parking::prepare();
        const unsigned running = std::min(threads, std::max(std::thread::hardware_concurrency(), 1u));
        for (unsigned i = 0; i < threads; ++i)
            threads_.emplace_back([this, runs = i < running] {
                run_behind_who_measures();
                if (!runs) return over_.wait(false);
                while (!over_.load(std::memory_order_relaxed)) {
                }
            });
    }
    ~park_contestant() override {
        over_ = true;
        over_.notify_all();
        for (auto& each : threads_) each.join();
    }

    batch run(const std::string&, std::uint64_t times) override {
        batch done{0, times, std::nullopt};
        for (std::uint64_t i = 0; i < times; ++i) {
            const auto begin = clock::now();
            if (!powerfail::parking::stop(std::chrono::seconds{10})) fail(errc::io, "a thread could not be stopped");
            done.ns += ns_since(begin);
            powerfail::parking::release();
            std::this_thread::sleep_for(std::chrono::microseconds{200});
        }
        return done;
    }

private:
    std::atomic<bool> over_{false};
    std::vector<std::thread> threads_;
};

struct words_root {
    std::uint64_t* words;
};

/// Alarms while threads update words at random.
class save_contestant final : public contestant {
public:
    save_contestant(std::string path, std::uint64_t bytes, unsigned threads) : path_(std::move(path)) {
        powerfail::use_handler(&handler_);
        create_options options;
        options.bytes = bytes;
        options.log_bytes = mib;
        options.durability = level::on_power_fail;
        options.tmpfs_is_nvram = true;
        pool_.emplace(redo::pool::create(path_, options).value());
        if (pool_->core().durability() != level::on_power_fail) fail(errc::level_unavailable, handler_.last_decline());
        budget_us_ = handler_.budget().sum_us();
        const std::uint64_t words = bytes / 2 / sizeof(std::uint64_t);
        auto* const root = pool_->plain_root<words_root>("words").value();
        pool_->atomically([&] {
                 auto* const made = reinterpret_cast<std::uint64_t*>(redo::allocate(words * sizeof(std::uint64_t)));
                 store_value(current_transaction<redo>(), &root->words, made);
             }).value();
        for (unsigned i = 0; i < threads; ++i)
            threads_.emplace_back([this, i, root, slice = words / threads] {
                run_behind_who_measures();
                workload::random numbers(i);
                while (!over_.load(std::memory_order_relaxed))
                    pool_->atomically([&] {
                             store_value(current_transaction<redo>(), root->words + i * slice + numbers.below(slice),
                                         numbers.next());
                         }).value();
            });
    }
    ~save_contestant() override {
        over_ = true;
        for (auto& each : threads_) each.join();
        pool_.reset();
        powerfail::use_handler(nullptr);
        std::filesystem::remove(path_);
    }

    batch run(const std::string&, std::uint64_t alarms) override {
        batch done{0, alarms, std::nullopt};
        double kept = 0, parked_ns = 0, copied_ns = 0, written_ns = 0;
        for (std::uint64_t i = 0; i < alarms; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            const powerfail::alarm_report alarm = handler_.fail_power().value();
            if (alarm.pools != 1) fail(errc::io, "a pool was not saved");
            const auto ns = [](auto time) { return static_cast<double>(time.count()); };
            done.ns += ns(alarm.sealed);
            parked_ns += ns(alarm.parked);
            copied_ns += ns(alarm.log_copied - alarm.parked);
            written_ns += ns(alarm.written_back - alarm.log_copied);
            if (ns(alarm.sealed) <= static_cast<double>(budget_us_) * 1000) ++kept;
        }
        const auto count = static_cast<double>(alarms);
        done.seen = {{"parked_ns", "ns", parked_ns / count},
                     {"log_copied_ns", "ns", copied_ns / count},
                     {"written_back_ns", "ns", written_ns / count},
                     {"budget_ns", "ns", static_cast<double>(budget_us_) * 1000},
                     {"kept_per_100", "runs", kept * 100 / count}};
        return done;
    }

private:
    powerfail::process_handler_options options() {
        powerfail::process_handler_options made;
        // Whatever this machine takes is measured.
        made.hold_up = std::chrono::minutes{1};
        made.stays_after = std::chrono::milliseconds{0};
        made.on_sigpwr = false;
        made.when_saved = [this] { handler_.power_is_back(); };
        return made;
    }

    std::string path_;
    powerfail::process_handler handler_{options()};
    std::optional<redo::pool> pool_;
    std::uint64_t budget_us_ = 0;
    std::atomic<bool> over_{false};
    std::vector<std::thread> threads_;
};

parameters powerfail_parameters(std::uint64_t bytes, const std::string& medium = "nvram",
                                level durability = level::on_power_fail) {
    return {{"level", std::string(name_of(durability))}, {"medium", medium}, {"delay_ns", std::uint64_t{0}},
            {"bytes", bytes}};
}

match begun_match(const std::string& what, double wanted_ns, const std::string& medium = "nvram") {
    match made;
    made.suite = "powerfail";
    made.title = "powerfail: " + what + "   level on_power_fail   medium " + medium;
    made.limits.wanted_ns = wanted_ns;
    return made;
}

match lines_match(const options& wanted, scratch& space) {
    match made = begun_match("lines written back, a log copied", wanted.quick ? 20e6 : 100e6);
    for (const std::uint64_t bytes : {mib, 8 * mib, 64 * mib})
        made.entries.push_back({"process_handler",
                                std::make_unique<write_back_contestant>(bytes, space.memory_directory()),
                                {"write-back"}, powerfail_parameters(bytes)});
    for (const std::uint64_t bytes : {mib, 64 * mib})
        made.entries.push_back({"process_handler", std::make_unique<copy_contestant>(bytes, space.memory_directory()),
                                {"copy"}, powerfail_parameters(bytes)});
    return made;
}

match park_match(const options& wanted, unsigned threads) {
    match made = begun_match("threads stopped: " + std::to_string(threads), wanted.quick ? 20e6 : 100e6);
    made.threads = threads;
    made.entries.push_back({"process_handler", std::make_unique<park_contestant>(threads), {"park"},
                            powerfail_parameters(0)});
    return made;
}

match save_match(scratch& space, std::uint64_t bytes, unsigned threads) {
    match made = begun_match("whole saves of a pool of " + std::to_string(bytes / mib) + " MiB, threads " +
                                 std::to_string(threads), 0);
    made.threads = threads;
    // So that a batch says how many of 100 kept what was planned.
    made.limits.fixed_transactions = 100;
    made.entries.push_back({"process_handler",
                            std::make_unique<save_contestant>(space.path("nvram", "powerfail"), bytes, threads),
                            {"save"}, powerfail_parameters(bytes)});
    return made;
}

match fall_back_match(scratch& space, bool on_file) {
    const std::string medium = on_file ? "file" : "nvram";
    constexpr std::uint64_t bytes = 64 * mib;
    match made = begun_match("a handler is lost, and the pool of 64 MiB is at power", 0, medium);
    made.limits.fixed_transactions = 10;
    made.entries.push_back({"process_handler",
                            std::make_unique<fall_back_contestant>(space.path(medium, "powerfail"), bytes, on_file),
                            {"fall back"}, powerfail_parameters(bytes, medium)});
    return made;
}

match on_file_match(const options& wanted, scratch& space) {
    match made = begun_match("commits on an ordinary file", wanted.quick ? 20e6 : 100e6, "file");
    made.entries.push_back({"none", std::make_unique<write_contestant>(space.path("file", "floor")), {"floor"},
                            powerfail_parameters(mib, "file")});
    for (const level each : {level::on_power_fail, level::process, level::power})
        made.entries.push_back({"redo",
                                std::make_unique<on_file_contestant>(
                                    space.path("file", "powerfail-" + std::string(name_of(each))), each),
                                {"commit"}, powerfail_parameters(8 * mib, "file", each)});
    return made;
}

/// The record of whole saves of a pool of that size, or nullptr.
const record* save_record(const report& of, const std::string& metric, const parameters& params) {
    for (const record& each : of.records())
        if (each.case_name == "save" && each.metric == metric && each.params == params) return &each;
    return nullptr;
}

}  // namespace

void conclude_powerfail(report& to) {
    for (const record& kept : to.records()) {
        if (kept.metric != "kept_per_100") continue;
        const record* const budget = save_record(to, "budget_ns", kept.params);
        const record* const took = save_record(to, "ns_per_tx", kept.params);
        if (budget == nullptr || took == nullptr) continue;
        tools::show(fmt::format("  a pool of {} MiB: planned {:.2f} ms, took {:.2f} ms; of 100 saves {:.0f} kept what "
                                "was planned ({:.0f} to {:.0f} in {} batches)\n",
                                std::get<std::uint64_t>(kept.params[3].second) / mib, budget->value / 1e6,
                                took->value / 1e6, kept.value, kept.min, kept.max, kept.runs));
    }
}

std::vector<planned_match> plan_powerfail(const options& wanted, scratch& space) {
    std::vector<planned_match> plan;
    if (!chosen(wanted, "process_handler")) return plan;
    plan.push_back([&] { return lines_match(wanted, space); });
    for (const unsigned threads : {1u, 4u, 16u, 64u})
        plan.push_back([&wanted, threads] { return park_match(wanted, threads); });
    for (const std::uint64_t bytes : {8 * mib, 64 * mib})
        plan.push_back([&space, bytes] { return save_match(space, bytes, 2); });
    for (const bool on_file : {false, true})
        plan.push_back([&space, on_file] { return fall_back_match(space, on_file); });
    plan.push_back([&] { return on_file_match(wanted, space); });
    return plan;
}

}  // namespace holdfast::bench
