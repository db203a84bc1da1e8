// A pool for a test: in memory, gone afterwards, and closed or killed on demand.
#pragma once

#include <holdfast/handle/pool.hpp>

#include <gtest/gtest.h>

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

#ifndef HOLDFAST_TEST_BASE_ADDRESS
#define HOLDFAST_TEST_BASE_ADDRESS 0
#endif

/// How a temporary pool is made. `order` keeps pools of one process apart.
struct pool_setup {
    level durability = level::power;
    std::uint64_t bytes = 64 << 20;
    std::uint64_t log_bytes = 0;
    std::uint64_t order = 0;
};

/// A pool on tmpfs standing for NVRAM, and its directory. Used by one thread.
template <class Engine>
class temporary_pool {
public:
    explicit temporary_pool(const pool_setup& setup = {}) : directory_(make_directory()) {
        // volatile_only promises nothing more.
        options_.durability = Engine::description.recovers ? setup.durability : level::process;
        options_.tmpfs_is_nvram = true;
        options_.bytes = setup.bytes;
        options_.log_bytes = setup.log_bytes;
        options_.reserved_bytes = std::uint64_t{1} << 30;
        if (HOLDFAST_TEST_BASE_ADDRESS != 0)
            options_.base = HOLDFAST_TEST_BASE_ADDRESS + (setup.order << 31);
        options_.accept_not_durable = !Engine::description.recovers;
        pool_.emplace(basic_pool<Engine>::create(path(), options_).value());
    }
    ~temporary_pool() {
        pool_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }
    temporary_pool(const temporary_pool&) = delete;
    temporary_pool& operator=(const temporary_pool&) = delete;

    basic_pool<Engine>& pool() { return *pool_; }
    std::string path() const { return directory_ + "/pool"; }

    /// Closes and opens again.
    void reopen() {
        pool_->close().value();
        open_again();
    }
    /// Lets the pool go as a killed process would, and recovers it.
    void kill() {
        pool_->abandon();
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
    static std::string make_directory() {
        std::string name = "/dev/shm/holdfast-test-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no directory in /dev/shm");
        return name;
    }
    void open_again() {
        pool_.reset();
        pool_.emplace(basic_pool<Engine>::open(path(), options_).value());
    }

    std::string directory_;
    create_options options_;
    std::optional<basic_pool<Engine>> pool_;
};

/// Bytes that f streams to the log, records' headers and padding included.
template <class F>
std::uint64_t streamed_bytes_of(F&& f) {
    const persist::counters before = persist::thread_counters();
    f();
    return (persist::thread_counters() - before).streamed_bytes;
}

}  // namespace holdfast::test
