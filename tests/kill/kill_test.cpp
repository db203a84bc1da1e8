// Real SIGKILLs: a worker process changes containers in a pool and is killed at random moments; then the pool
// must hold exactly what the acknowledged transactions say, and at most the one that each thread had not yet
// acknowledged. A pool lives many times: it is killed, killed while it recovers, opened at another level, grown,
// closed. 100 kills, or 1,000 with HOLDFAST_SOAK=1. HOLDFAST_SEED repeats the random numbers of a run.
#include "process.hpp"
#include "state.hpp"
#include "verifier.hpp"

#include <holdfast/engine/cc_htm.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/engine/steal_no_force.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/persist/storage.hpp>

#include <gtest/gtest.h>

#include <stdlib.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>
#include <ostream>
#include <string>
#include <vector>

namespace holdfast::kill {
namespace {

enum class place { tmpfs, nvram, file };

struct combination {
    std::string engine;
    level durability;
    place where;
    std::uint64_t threads;

    std::string name() const {
        static constexpr const char* names[] = {"tmpfs", "nvram", "file"};
        return engine + "_" + std::string(name_of(durability)) + "_" + names[static_cast<int>(where)] + "_" +
               std::to_string(threads) + (threads == 1 ? "_thread" : "_threads");
    }
    friend std::ostream& operator<<(std::ostream& to, const combination& one) { return to << one.name(); }
};

std::vector<combination> combinations() {
    std::vector<combination> all;
    for (const char* engine : {"redo", "undo", "undo_paper"}) {
        all.push_back({engine, level::process, place::tmpfs, 1});
        all.push_back({engine, level::process, place::file, 1});
        all.push_back({engine, level::power, place::nvram, 1});
    }
    all.push_back({"redo", level::power, place::file, 1});
    all.push_back({"redo", level::process, place::tmpfs, 3});
    all.push_back({"redo", level::power, place::nvram, 3});
    all.push_back({"redo", level::power, place::file, 6});
    all.push_back({"undo", level::power, place::nvram, 3});
    for (const char* engine : {"softwrap_lat", "softwrap"}) {
        all.push_back({engine, level::process, place::tmpfs, 3});
        all.push_back({engine, level::power, place::nvram, 3});
    }
    for (const char* engine : {"steal_no_force", "cc_htm"}) all.push_back({engine, level::power, place::nvram, 3});
    return all;
}

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = ::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t seed_of_this_run() {
    static const std::uint64_t seed = number_from_environment("HOLDFAST_SEED", std::random_device{}());
    return seed;
}

std::uint64_t kills_per_combination() {
    const std::uint64_t all = number_from_environment("HOLDFAST_SOAK", 0) != 0 ? 1000 : 100;
    const std::uint64_t count = combinations().size();
    return (all + count - 1) / count;
}

/// A directory on the medium, removed in the end unless the test failed.
class directory {
public:
    explicit directory(place where) {
        name_ = std::string(where == place::file ? "." : "/dev/shm") + "/holdfast-kill-XXXXXX";
        if (::mkdtemp(name_.data()) == nullptr) throw std::runtime_error("no directory " + name_);
    }
    ~directory() {
        if (!::testing::Test::HasFailure()) std::filesystem::remove_all(name_);
    }
    directory(const directory&) = delete;
    directory& operator=(const directory&) = delete;
    const std::string& name() const { return name_; }

private:
    std::string name_;
};

/// One pool, the workers that die over it, and what it must hold.
class campaign {
public:
    campaign(const combination& of, std::uint64_t seed)
        : of_(of), seed_(seed), random_(seed), directory_(of.where), pool_(directory_.name() + "/pool"),
          models_(of.threads), acknowledged_(of.threads) {}

    void run(std::uint64_t kills) {
        // A sync may take milliseconds, and a worker some of them before its first transaction.
        const double longest_us = of_.where != place::file ? 150e3 : of_.durability == level::power ? 1000e3 : 300e3;
        const std::uint64_t most_kills = kills + 20;
        for (; kills_ < kills || (transactions_ == 0 && kills_ < most_kills); verify()) {
            if (::testing::Test::HasFailure()) break;
            kill_one(kills_ < kills ? longest_us : 10 * longest_us);
            // The next worker dies early: while it recovers, most likely. (Half a pool cannot be opened.)
            if (kills_ < kills && pool_is_made_ && random_.below(3) == 0) {
                ++early_kills_;
                kill_one(6e3);
            }
        }
        EXPECT_GT(transactions_, 0u) << "no worker ever came so far as to commit";
        std::printf("  %-36s %3llu kills, %llu of them early; %llu transactions acknowledged, all there\n",
                    of_.name().c_str(), static_cast<unsigned long long>(kills_),
                    static_cast<unsigned long long>(early_kills_), static_cast<unsigned long long>(transactions_));
    }

private:
    bool takes_power() const {
        return of_.where == place::nvram || (of_.where == place::file && !of_.engine.starts_with("undo"));
    }
    /// Mostly the combination's own; now and then another that the engine takes there.
    level level_of_next_life() {
        if (!takes_power() || random_.below(4) != 0) return of_.durability;
        return of_.durability == level::power ? level::process : level::power;
    }

    /// Kills after a random time, short ones as likely as long ones.
    void kill_one(double longest_us) {
        const double share = static_cast<double>(random_.below(1 << 20)) / (1 << 20);
        const auto after = std::chrono::microseconds(static_cast<long>(200 * std::pow(longest_us / 200, share)));
        worker_process worker({HOLDFAST_KILL_WORKER, of_.engine, std::string(name_of(level_of_next_life())),
                               of_.where == place::nvram ? "nvram" : "plain", pool_, std::to_string(of_.threads),
                               std::to_string(seed_)});
        const auto note = [&](const acknowledgement& told) {
            ASSERT_LT(told.thread, acknowledged_.size());
            EXPECT_GT(told.number, acknowledged_[told.thread]);
            acknowledged_[told.thread] = told.number;
            ++transactions_;
        };
        worker.listen(after, note);
        EXPECT_TRUE(worker.kill_and_listen(note)) << "the worker ended by itself";
        ++kills_;
        ++kills_since_verified_;
    }

    void verify() {
        if (of_.engine == "redo") return verify_with<redo>();
        if (of_.engine == "softwrap_lat") return verify_with<softwrap_lat>();
        if (of_.engine == "softwrap") return verify_with<softwrap>();
        if (of_.engine == "undo") return verify_with<undo>();
        if (of_.engine == "steal_no_force") return verify_with<steal_no_force>();
        if (of_.engine == "cc_htm") return verify_with<cc_htm>();
        verify_with<undo_paper>();
    }

    template <class Engine>
    void verify_with() {
        // Any level must open what another one left.
        const level at = random_.below(2) == 0 ? of_.durability : level::process;
        auto opened = basic_pool<Engine>::open(pool_, options_for<Engine>(at, of_.where == place::nvram));
        if (!opened) return no_pool(opened.error());
        pool_is_made_ = true;
        for (std::uint64_t thread = 0; thread < of_.threads; ++thread)
            expect_between(transactions_done(*opened, thread), thread);
        if (::testing::Test::HasFailure()) return;
        for (const std::string& problem : verifier(*opened, seed_, models_).problems()) ADD_FAILURE() << problem;
        EXPECT_TRUE(opened->close().has_value());
        kills_since_verified_ = 0;
    }

    /// Killed before there was a pool: then nothing can have been acknowledged.
    void no_pool(const error& reason) {
        EXPECT_TRUE(reason.code == errc::not_found || reason.code == errc::not_a_pool || reason.code == errc::truncated)
            << reason.text();
        EXPECT_FALSE(pool_is_made_) << reason.text();
        EXPECT_EQ(transactions_, 0u) << reason.text();
        std::filesystem::remove(pool_);
    }

    void expect_between(std::uint64_t done, std::uint64_t thread) {
        EXPECT_GE(done, acknowledged_[thread]) << "an acknowledged transaction of thread " << thread << " is lost";
        // Each killed worker may have died between a commit and its acknowledgement.
        EXPECT_LE(done, std::max(acknowledged_[thread], models_[thread].done) + kills_since_verified_);
        acknowledged_[thread] = done;
    }

    combination of_;
    std::uint64_t seed_;
    workload::random random_;
    directory directory_;
    std::string pool_;
    std::vector<thread_model> models_;
    std::vector<std::uint64_t> acknowledged_;
    bool pool_is_made_ = false;
    std::uint64_t kills_ = 0;
    std::uint64_t early_kills_ = 0;
    std::uint64_t kills_since_verified_ = 0;
    std::uint64_t transactions_ = 0;
};

class Sigkill : public ::testing::TestWithParam<combination> {};

TEST_P(Sigkill, LosesNothingAcknowledgedTearsNothingLeaksNothing) {
    const combination& of = GetParam();
    if (of.where == place::file && persist::discover(".").value().kind != persist::medium::file)
        GTEST_SKIP() << "the working directory is not on an ordinary file system";
    const std::uint64_t seed = seed_of_this_run();
    SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
    std::printf("  seed %llu\n", static_cast<unsigned long long>(seed));
    campaign(of, seed).run(kills_per_combination());
}

INSTANTIATE_TEST_SUITE_P(Of, Sigkill, ::testing::ValuesIn(combinations()),
                         [](const auto& parameter) { return parameter.param.name(); });

}  // namespace
}  // namespace holdfast::kill
