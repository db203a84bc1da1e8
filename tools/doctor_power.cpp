#include "doctor_power.hpp"

#include <holdfast/engine/redo.hpp>
#include <holdfast/handle/check.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/power_daemon.hpp>
#include <holdfast/powerfail/shadow_log.hpp>
#include <holdfast/powerfail/triggers.hpp>

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::tools {
namespace {

constexpr std::uint64_t scratch_pool_bytes = 8 << 20;
constexpr unsigned most_threads = 64;

struct counters {
    std::array<redo::field<std::uint64_t>, most_threads> of;
};

constexpr std::string_view scratch_begins = "holdfast-doctor-", scratch_ends = ".pool";
constexpr const char* scratch_layout = "holdfast doctor";

/// Whether the name is that of a doctor's pool whose process is gone.
bool is_left_by_name(std::string_view name) {
    if (!name.starts_with(scratch_begins) || !name.ends_with(scratch_ends)) return false;
    name.remove_prefix(scratch_begins.size());
    name.remove_suffix(std::min(scratch_ends.size(), name.size()));
    pid_t process = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), process);
    return read.ec == std::errc{} && read.ptr == name.data() + name.size() && process > 0 &&
           ::kill(process, 0) != 0 && errno == ESRCH;
}

/// What a doctor that was killed has left: a pool with its layout that nobody uses, and the pool's log in memory.
void remove_left_pools(const std::string& directory) {
    std::error_code unreadable;
    for (const auto& each : std::filesystem::directory_iterator(directory, unreadable)) {
        std::error_code ignored;
        if (!each.is_regular_file(ignored) || each.is_symlink(ignored)) continue;
        if (!is_left_by_name(each.path().filename().native())) continue;
        const auto unused = persist::file::open_locked(each.path(), persist::file::access::read_write);
        const auto block = unused ? read_superblock(*unused) : result<format::superblock>(unused.error());
        const bool is_scratch = block && holdfast::text_of(block->layout) == scratch_layout &&
                                block->pool_bytes == scratch_pool_bytes;
        if (!is_scratch) continue;
        powerfail::shadow_log::remove(*block);
        std::filesystem::remove(each.path(), ignored);
    }
}

/// A pool that vanishes.
class scratch_pool {
public:
    scratch_pool(const std::string& directory, const persist::storage& on)
        : path_(directory + "/" + std::string(scratch_begins) + std::to_string(::getpid()) +
                std::string(scratch_ends)) {
        remove_left_pools(directory);
        create_options options;
        options.bytes = scratch_pool_bytes;
        options.layout = scratch_layout;
        options.durability = level::on_power_fail;
        options.tmpfs_is_nvram = on.kind == persist::medium::nvram;
        pool.emplace(redo::pool::create(path_, options).value());
    }
    ~scratch_pool() {
        pool.reset();
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    scratch_pool(const scratch_pool&) = delete;
    scratch_pool& operator=(const scratch_pool&) = delete;

    const std::string& path() const noexcept { return path_; }
    std::optional<redo::pool> pool;

private:
    std::string path_;
};

/// In use from construction to destruction. The drill wants all the time it needs: how long it took is what it says.
class handler_in_use {
public:
    explicit handler_in_use(bool drills) : handler(options(drills)) { powerfail::use_handler(&handler); }
    ~handler_in_use() { powerfail::use_handler(nullptr); }
    handler_in_use(const handler_in_use&) = delete;
    handler_in_use& operator=(const handler_in_use&) = delete;

    powerfail::process_handler handler;

private:
    powerfail::process_handler_options options(bool drills) {
        powerfail::process_handler_options made;
        made.on_sigpwr = false;
        made.hold_up = std::chrono::seconds{10};
        made.stays_after = std::chrono::milliseconds{0};
        if (drills) made.when_saved = [this] { handler.power_is_back(); };
        return made;
    }
};

/// Throws failure when that takes too long: a pool whose sync has failed goes no further.
template <class F>
void wait_until(const char* what, F&& has_come) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (!has_come()) {
        if (std::chrono::steady_clock::now() > end)
            throw failure(error{.code = errc::io, .what = std::string("timed out after a minute waiting for ") + what});
        std::this_thread::yield();
    }
}

/// Threads that each count in a counter of their own, as long as this lives.
class counting {
public:
    counting(redo::pool& pool, counters& to, unsigned threads) : counted_(threads) {
        for (unsigned i = 0; i < threads; ++i)
            threads_.emplace_back([this, &pool, &to, i] {
                std::mutex own;
                while (!ends_.load())
                    if (pool.atomically(own, [&] { to.of[i] = counted_[i].load() + 1; })) counted_[i].fetch_add(1);
            });
    }
    ~counting() { end(); }
    void end() {
        ends_ = true;
        for (auto& each : threads_)
            if (each.joinable()) each.join();
    }
    std::uint64_t counted_by(std::size_t thread) const { return counted_[thread].load(); }
    std::uint64_t sum() const {
        std::uint64_t all = 0;
        for (const auto& each : counted_) all += each.load();
        return all;
    }
    void wait_for_more() const {
        const std::uint64_t wanted = sum() + 100 * counted_.size();
        wait_until("commits", [&] { return sum() >= wanted; });
    }

private:
    std::vector<std::atomic<std::uint64_t>> counted_;
    std::atomic<bool> ends_{false};
    std::vector<std::thread> threads_;
};

power_drill drill(scratch_pool& scratch, powerfail::process_handler& handler, unsigned threads) {
    power_drill done;
    done.threads = threads;
    auto& values = *scratch.pool->root<counters>("counters").value();
    counting all(*scratch.pool, values, threads);
    all.wait_for_more();
    const auto begin = std::chrono::steady_clock::now();
    done.alarm = handler.fail_power().value();
    if (done.alarm.at_power != 0) {
        wait_until("the pool to continue at power", [&] { return scratch.pool->core().durability() == level::power; });
        done.at_power = std::chrono::steady_clock::now() - begin;
    }
    all.wait_for_more();
    all.end();
    done.commits = all.sum();
    bool is_whole = true;
    for (unsigned i = 0; i < threads; ++i) is_whole &= values.of[i] == all.counted_by(i);
    scratch.pool->close().value();
    done.is_clean = is_whole && check_pool(scratch.path(), {}).value().sound();
    return done;
}

}  // namespace

namespace {

void examine_module(power_findings& found, bool drills) {
    auto module = powerfail::kernel_module::open();
    auto state = module ? module->state() : result<powerfail::module_state>(module.error());
    if (!state) {
        found.without_module = state.error().code == errc::not_found
                                   ? "there is no " + std::string(powerfail::usual_module_device)
                                   : state.error().text();
        return;
    }
    found.module = *state;
    found.saves = module->saves();
    if (!drills) return;
    auto done = module->drill();
    if (done) found.module_drill = *done;
    else found.without_module_drill = done.error().text();
}

json json_of(const powerfail::module_state& module) {
    return {{"triggers", module.triggers},
            {"hold_up_us", module.hold_up.count() / 1000},
            {"budget_us", module.budget.count() / 1000},
            {"save_us", module.save.count() / 1000},
            {"stop_us", module.stop.count() / 1000},
            {"flush_us", module.flush.count() / 1000},
            {"copy_us_per_mib", module.copy_of_mib.count() / 1000},
            {"registered_bytes", module.registered_bytes}};
}

std::string text_of_key(std::uint64_t key) { return fmt::format("{:016x}", key); }

json json_of(const std::vector<powerfail::module_save>& saves) {
    json all = json::array();
    for (const auto& each : saves) all.push_back({{"key", text_of_key(each.name.key)}, {"bytes", each.bytes}});
    return all;
}

json json_of(const powerfail::module_drill& drill) {
    return {{"processors", drill.processors},       {"missed", drill.missed},
            {"copied_bytes", drill.copied_bytes},   {"stopped_ns", drill.stopped.count()},
            {"log_copied_ns", drill.copied.count()}, {"written_back_ns", drill.flushed.count()},
            {"sealed_ns", drill.sealed.count()},    {"released_ns", drill.ended.count()}};
}

std::string text_of_time(std::chrono::nanoseconds time) { return readable_ns(static_cast<double>(time.count())); }

void add_module(table& rows, const power_findings& found) {
    if (!found.module) {
        rows.add("kernel module", "none: " + found.without_module);
        return;
    }
    const powerfail::module_state& module = *found.module;
    std::string on;
    for (const std::string& each : module.triggers) on += (on.empty() ? "" : ", ") + each;
    if (on.empty()) on = "none";
    rows.add("kernel module", std::string(powerfail::usual_module_device) + ", triggers: " + on);
    rows.add("its save", fmt::format("{} for the {} that are registered; it may take {} of a hold-up of {}",
                                     text_of_time(module.save), readable_bytes(module.registered_bytes),
                                     text_of_time(module.budget), text_of_time(module.hold_up)));
    for (const powerfail::module_save& each : found.saves)
        rows.add("kept by it", fmt::format("a save of {} that no pool has replayed, key {}", readable_bytes(each.bytes),
                                           text_of_key(each.name.key)));
}

std::string text_of_module_drill(const power_findings& found) {
    const std::string title = "\nDrill of the kernel module: ";
    if (!found.without_module_drill.empty()) return title + found.without_module_drill + "\n";
    if (!found.module_drill) return {};
    const powerfail::module_drill& drill = *found.module_drill;
    table times;
    times.add(fmt::format("{} processors stopped", drill.processors - drill.missed), text_of_time(drill.stopped));
    times.add(fmt::format("{} copied", readable_bytes(drill.copied_bytes)), text_of_time(drill.copied));
    times.add("written back", text_of_time(drill.flushed));
    times.add("sealed", text_of_time(drill.sealed));
    times.add("revoked, and all run on", text_of_time(drill.ended));
    if (drill.missed != 0) times.add("DID NOT STOP IN TIME", fmt::format("{} processors", drill.missed));
    return title + "a false alarm of the whole machine, times since the alarm\n" + times.text();
}

}  // namespace

void forget_save(std::uint64_t key) {
    auto module = powerfail::kernel_module::open().value();
    const auto name = module.name_of_save(key).value();
    module.acknowledge(name).value();
}

power_findings examine_power(const std::string& directory, const persist::storage& on, unsigned drill_threads) {
    power_findings found;
    examine_module(found, drill_threads != 0);
    found.has_daemon = powerfail::daemon_link(powerfail::usual_daemon_socket, {}).has_value();
    found.hold_up = powerfail::process_handler_options{}.hold_up;
    found.is_on_file = on.kind == persist::medium::file;
    if (on.kind == persist::medium::tmpfs) {
        found.obstacle = "the medium loses its contents when power fails";
    } else if (!found.is_on_file && !on.lines(0).write_back_needed) {
        found.obstacle = "the CPU caches are in the persistence domain; no save is needed";
    }
    if (!found.obstacle.empty()) {
        if (drill_threads != 0)
            throw failure(error{.code = errc::level_unavailable, .what = "no drill here: " + found.obstacle,
                                .path = directory, .remedy = "try it on /dev/shm with --nvram"});
        return found;
    }
    handler_in_use used(drill_threads != 0);
    scratch_pool scratch(directory, on);
    found.pool_bytes = scratch_pool_bytes;
    found.budget = used.handler.budget();
    found.obstacle = used.handler.last_decline();
    if (drill_threads != 0 && found.obstacle.empty()) found.drill = drill(scratch, used.handler, drill_threads);
    return found;
}

json json_of(const power_findings& found) {
    json value;
    value["module"] = found.module ? json_of(*found.module) : json(nullptr);
    if (found.module_drill) value["module_drill"] = json_of(*found.module_drill);
    value["module_saves"] = json_of(found.saves);
    value["daemon"] = found.has_daemon;
    value["obstacle"] = found.obstacle.empty() ? json(nullptr) : json(found.obstacle);
    value["hold_up_us"] = found.hold_up.count();
    if (!found.obstacle.empty()) return value;
    value["on_file"] = found.is_on_file;
    value["save"] = {{"pool_bytes", found.pool_bytes},
                     {"park_us", found.budget.park_us},
                     {"copy_us", found.budget.copy_us},
                     {"write_back_us", found.budget.write_back_us}};
    if (!found.drill) return value;
    const auto& alarm = found.drill->alarm;
    value["drill"] = {{"threads", found.drill->threads},       {"stopped", alarm.threads},
                      {"parked_ns", alarm.parked.count()},     {"log_copied_ns", alarm.log_copied.count()},
                      {"written_back_ns", alarm.written_back.count()}, {"sealed_ns", alarm.sealed.count()},
                      {"resumed_ns", alarm.resumed.count()},   {"released_ns", alarm.released.count()},
                      {"at_power_ns", found.drill->at_power.count()},
                      {"commits", found.drill->commits},       {"clean", found.drill->is_clean}};
    return value;
}

std::string text_of(const power_findings& found) {
    table rows;
    add_module(rows, found);
    rows.add("power daemon", std::string(found.has_daemon ? "answers at " : "none answers at ") +
                                 powerfail::usual_daemon_socket);
    if (!found.is_on_file)
        rows.add("hold-up assumed",
                 readable_ns(static_cast<double>(found.hold_up.count()) * 1000) + ", half for a save");
    if (!found.obstacle.empty()) {
        rows.add("on_power_fail here", "no: " + found.obstacle);
    } else if (const auto us = [](std::uint64_t time) { return readable_ns(static_cast<double>(time) * 1000); };
               found.is_on_file) {
        rows.add("save planned",
                 fmt::format("{} to sync a pool of {}: the warning must come that early; set `hold_up` accordingly",
                             us(found.budget.sum_us()), readable_bytes(found.pool_bytes)));
    } else {
        rows.add("save planned", fmt::format("{} for a pool of {}: {} to stop threads, {} to copy the log, {} to write "
                                             "its lines back",
                                             us(found.budget.sum_us()), readable_bytes(found.pool_bytes),
                                             us(found.budget.park_us), us(found.budget.copy_us),
                                             us(found.budget.write_back_us)));
    }
    std::string text = "\nPower failures\n" + rows.text() + text_of_module_drill(found);
    if (!found.drill) return text;
    const auto& alarm = found.drill->alarm;
    const auto ns = [](auto time) { return readable_ns(static_cast<double>(time.count())); };
    table times;
    if (found.is_on_file) {
        times.add("synced, and at power", ns(found.drill->at_power));
    } else {
        times.add(fmt::format("{} threads stopped", alarm.threads), ns(alarm.parked));
        times.add("log copied", ns(alarm.log_copied));
        times.add("written back", ns(alarm.written_back));
        times.add("sealed", ns(alarm.sealed));
        times.add("revoked, as the power stays", ns(alarm.resumed));
        times.add("threads run on", ns(alarm.released));
    }
    times.add("pool afterwards", found.drill->is_clean ? fmt::format("clean, with all of {} commits",
                                                                     readable_count(found.drill->commits))
                                                       : "DAMAGED, or commits are missing");
    return text + fmt::format("\nDrill: a false alarm while {} threads commit, times since the alarm\n",
                              found.drill->threads) + times.text();
}

}  // namespace holdfast::tools
