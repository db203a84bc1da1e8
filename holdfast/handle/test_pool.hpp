// A pool for a test: of any engine, gone afterwards, and closed or killed on demand.
#pragma once

#include <holdfast/handle/pool.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

#ifndef HOLDFAST_TEST_BASE_ADDRESS
#define HOLDFAST_TEST_BASE_ADDRESS 0
#endif

struct pool_setup {
    level durability = level::power;
    std::uint64_t bytes = 1 << 20;
    std::uint64_t log_bytes = 64 << 10;
    std::uint64_t order = 0;  ///< keeps pools of one process apart
    std::uint32_t delay_ns = 0;
    const char* directory = "/dev/shm";
    wrap_options wraps{};
    lag_options lag{};
    pace_options pace{};
    persist::record_way records = persist::record_way::streamed;  ///< measured, counts would depend on the machine
};

/// A pool on tmpfs standing for NVRAM, or on a file where the directory is on one.
template <class Engine>
class test_pool {
public:
    explicit test_pool(const pool_setup& setup = {}) : directory_(setup.directory) {
        options_.durability = Engine::description.recovers ? setup.durability : level::process;
        options_.tmpfs_is_nvram = true;
        options_.records = setup.records;
        options_.bytes = setup.bytes;
        options_.log_bytes = setup.log_bytes;
        options_.reserved_bytes = std::uint64_t{1} << 30;
        if (HOLDFAST_TEST_BASE_ADDRESS != 0) options_.base = HOLDFAST_TEST_BASE_ADDRESS + (setup.order << 31);
        options_.delay_ns = setup.delay_ns;
        options_.wraps = setup.wraps;
        options_.pace = setup.pace;
        options_.lag = setup.lag;
        options_.accept_not_durable = !Engine::description.recovers;
        pool_.emplace(basic_pool<Engine>::create(path(), options_).value());
    }

    basic_pool<Engine>& operator*() { return *pool_; }
    basic_pool<Engine>* operator->() { return &*pool_; }
    basic_pool<Engine>& pool() { return *pool_; }
    std::string path() const { return file("pool"); }
    /// A name beside the pool.
    std::string file(const std::string& name) const { return directory_.file(name); }

    /// The level at which it is opened from now on.
    void set_level(level durability) { options_.durability = durability; }
    void reopen() {
        pool_->close().value();
        open_again();
    }
    /// Another pool in this one's place: one address, one pool.
    void replace_by(const std::string& other) {
        if (pool_->is_open()) pool_->close().value();
        std::filesystem::rename(other, path());
        open_again();
    }
    /// Lets the pool go as a killed process would, and recovers it.
    void kill() {
        pool_->abandon();
        open_again();
    }

    /// Keeps the bytes of this moment; kill_at_snapshot restores them, as if killed then.
    void take_snapshot() { std::filesystem::copy_file(path(), directory_.file("snapshot")); }
    void kill_at_snapshot() {
        pool_->abandon();
        std::filesystem::rename(directory_.file("snapshot"), path());
        open_again();
    }

    /// Checks the heap against the blocks of its roots and of `containers`, which have visit_blocks.
    template <class... Containers>
    ::testing::AssertionResult audit(const Containers&... containers) {
        // It looks at homes, past the engine.
        if constexpr (Engine::has_shared_aliases) pool_->checkpoint().value();
        std::vector<const void*> owned;
        const open_pool& core = pool_->core();
        const std::vector<root_listing> roots = pool_->roots().value();
        for (const root_listing& root : roots) owned.push_back(core.base() + root.offset);
        (containers.visit_blocks([&](const void* block) { owned.push_back(block); }), ...);
        const heap_audit found = heap::audit(core.base(), core.zones(), owned, true);
        if (found.clean()) return ::testing::AssertionSuccess();
        auto failed = ::testing::AssertionFailure();
        failed << found.leaked_blocks << " leaked, " << found.double_owners << " owned twice, "
               << found.dangling_owners << " dangling, " << found.bad_metadata << " bad";
        for (const std::string& problem : found.problems) failed << "\n" << problem;
        return failed;
    }

private:
    void open_again() {
        pool_.reset();
        pool_.emplace(basic_pool<Engine>::open(path(), options_).value());
    }

    persist::test::scratch_directory directory_;
    create_options options_;
    std::optional<basic_pool<Engine>> pool_;
};

}  // namespace holdfast::test
