// What suite powerfail measures besides saves: how soon a pool is at `power` once its handler is lost, and what commits
// cost on an ordinary file.
#pragma once

#include <bench/contest/contestant.hpp>
#include <bench/contest/threads.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/powerfail/process_handler.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sched.h>

namespace holdfast::bench {

inline constexpr std::uint64_t mib = 1 << 20;

/// Where the benchmark has a real-time priority, threads that never wait would keep the one that measures from running.
inline void run_behind_who_measures() noexcept {
    int policy = SCHED_OTHER;
    sched_param its{};
    ::pthread_getschedparam(::pthread_self(), &policy, &its);
    if (policy == SCHED_FIFO || policy == SCHED_RR)
        static_cast<void>(::pthread_setschedprio(::pthread_self(), std::max(its.sched_priority - 1, 1)));
}

/// Pools at `on_power_fail` whose handler is lost, again and again, while a thread commits: how soon they are at
/// `power`.
class fall_back_contestant final : public contestant {
public:
    fall_back_contestant(std::string path, std::uint64_t bytes, bool on_file) : path_(std::move(path)) {
        powerfail::use_handler(&handler_);
        options_.bytes = bytes;
        options_.durability = level::on_power_fail;
        options_.tmpfs_is_nvram = !on_file;
        pool_.emplace(redo::pool::create(path_, options_).value());
    }
    ~fall_back_contestant() override {
        pool_.reset();
        powerfail::use_handler(nullptr);
        std::filesystem::remove(path_);
    }

    batch run(const std::string&, std::uint64_t losses) override {
        batch done{0, losses, std::nullopt};
        for (std::uint64_t i = 0; i < losses; ++i) {
            if (pool_->core().durability() != level::on_power_fail)
                fail(errc::level_unavailable, handler_.last_decline());
            done.ns += lose_while_a_thread_commits();
            pool_->close().value();
            pool_.emplace(redo::pool::open(path_, options_).value());
        }
        return done;
    }

private:
    static powerfail::process_handler_options options() {
        powerfail::process_handler_options made;
        made.hold_up = std::chrono::minutes{1};
        made.stays_after = std::chrono::milliseconds{0};
        made.on_sigpwr = false;
        return made;
    }
    double lose_while_a_thread_commits() {
        auto* const word = pool_->root<redo::field<std::uint64_t>>("word").value();
        std::atomic<bool> over{false};
        std::atomic<std::uint64_t> commits{0};
        std::thread committing([&] {
            run_behind_who_measures();
            while (!over.load(std::memory_order_relaxed)) {
                pool_->atomically([&] { *word = commits.load() + 1; }).value();
                ++commits;
            }
        });
        while (commits.load() < 100) std::this_thread::yield();
        const auto begin = clock::now();
        const bool is_at_power = handler_.give_up();
        const double ns = ns_since(begin);
        over = true;
        committing.join();
        if (!is_at_power) fail(errc::io, "a pool did not go on at power");
        return ns;
    }

    std::string path_;
    create_options options_;
    powerfail::process_handler handler_{options()};
    std::optional<redo::pool> pool_;
};

/// One word after another, each in a transaction of its own, on an ordinary file.
class on_file_contestant final : public contestant {
public:
    on_file_contestant(std::string path, level durability) : path_(std::move(path)) {
        powerfail::process_handler_options how;
        how.hold_up = std::chrono::minutes{1};
        how.parks = false;
        how.on_sigpwr = false;
        handler_.emplace(how);
        powerfail::use_handler(&*handler_);
        create_options options;
        options.bytes = 8 * mib;
        options.durability = durability;
        pool_.emplace(redo::pool::create(path_, options).value());
        if (pool_->core().durability() != durability) fail(errc::level_unavailable, handler_->last_decline());
        words_ = pool_->root<std::array<redo::field<std::uint64_t>, words>>("words").value();
    }
    ~on_file_contestant() override {
        pool_.reset();
        powerfail::use_handler(nullptr);
        std::filesystem::remove(path_);
    }

    batch run(const std::string&, std::uint64_t commits) override {
        const auto begin = clock::now();
        for (std::uint64_t i = 0; i < commits; ++i)
            pool_->atomically([&] { (*words_)[i % words] = i; }).value();
        return {ns_since(begin), commits, std::nullopt};
    }

private:
    static constexpr std::size_t words = 4096;
    std::string path_;
    std::optional<powerfail::process_handler> handler_;
    std::optional<redo::pool> pool_;
    std::array<redo::field<std::uint64_t>, words>* words_ = nullptr;
};

/// The least that a commit costs which a kill does not lose: its record, written to the page cache.
class write_contestant final : public contestant {
public:
    explicit write_contestant(std::string path) : path_(std::move(path)) {
        file_.emplace(persist::file::prepare(path_, 0600).value());
        file_->allocate(mib).value();
    }

    batch run(const std::string&, std::uint64_t writes) override {
        const std::array<std::byte, 64> record{};
        const auto begin = clock::now();
        for (std::uint64_t i = 0; i < writes; ++i)
            file_->write_at(i * record.size() % mib, record.data(), record.size(), persist::site::measure).value();
        return {ns_since(begin), writes, std::nullopt};
    }

private:
    std::string path_;
    std::optional<persist::file> file_;
};

}  // namespace holdfast::bench
