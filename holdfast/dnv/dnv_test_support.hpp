// A dnv pool for each test, and what must hold of it.
#pragma once

#include <holdfast/base/test_run.hpp>
#include <holdfast/dnv/audit.hpp>
#include <holdfast/dnv/check.hpp>
#include <holdfast/dnv/dnv_blocks_test.hpp>
#include <holdfast/dnv/placement.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/ecc/test_patterns.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/shadow_log.hpp>
#include <holdfast/powerfail/test_handler.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::dnv::test {
namespace fs = std::filesystem;
using holdfast::test::at_full_length;
using holdfast::test::seed_of_run;

class Dnv : public testing::Test {
protected:
    Dnv() {
        char name[] = "/dev/shm/holdfast-dnv-XXXXXX";
        directory_ = mkdtemp(name);
        options_.bytes = 16 << 20;
        options_.durability = level::process;
        // A run of its own for pools without codes.
        options_.protect = std::getenv("HOLDFAST_DNV_WITHOUT_CODES") == nullptr;
    }
    ~Dnv() override {
        if (the_space.pool != nullptr) static_cast<void>(dnv_close());
        remove_log_in_memory();
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
    }

    std::string path() const { return directory_ + "/pool"; }
    /// What a killed child whose pool was armed has left.
    void remove_log_in_memory() const {
        const auto file = persist::file::open(path(), persist::file::access::read_only);
        for (const unsigned copy : {0u, 1u}) {
            if (!file) return;
            if (const auto block = read_superblock_copy(*file, copy)) powerfail::shadow_log::remove(*block);
        }
    }
    void open() { open_at(path()); }
    void open_at(const std::string& where) {
        auto opened = dnv_open(where, options_);
        ASSERT_TRUE(opened) << opened.error().text();
    }
    void reopen() {
        ASSERT_TRUE(dnv_close());
        open();
    }
    void use_nvram() {
        options_.durability = level::power;
        options_.tmpfs_is_nvram = true;
    }
    /// One way after another in which commits are kept: `process`, `power` on byte-addressable media and on a file, and
    /// armed at `on_power_fail`, on byte-addressable media and on a file.
    void use_way(unsigned which) {
        remove_log_in_memory();
        std::error_code ignored;
        fs::remove_all(directory_, ignored);
        char in_memory[] = "/dev/shm/holdfast-dnv-XXXXXX";
        char on_disk[] = "/tmp/holdfast-dnv-XXXXXX";
        directory_ = mkdtemp(which == 2 || which == 4 ? on_disk : in_memory);
        options_.durability = which == 0 ? level::process : which >= 3 ? level::on_power_fail : level::power;
        options_.tmpfs_is_nvram = which == 1 || which == 3;
        handler_.reset();
        if (which >= 3) handler_.emplace();
    }
    static constexpr unsigned ways = 5;

    static void expect_sound_list(long expected_count) {
        const list_summary found = summary();
        EXPECT_EQ(found.count, expected_count);
        EXPECT_EQ(found.said, expected_count);
        EXPECT_EQ(found.sum_of_ids, found.sum_said);
        EXPECT_TRUE(found.payloads_right);
    }
    static void expect_sound_pool(std::uint64_t blocks) {
        const audit_report found = audit_open_pool(false);
        for (const error& each : found.problems) ADD_FAILURE() << each.text();
        EXPECT_EQ(found.flipped_words, 0u);
        EXPECT_EQ(found.blocks, blocks);
    }

    /// Of make_counters and push_front, and `others` blocks besides the counters'.
    static void expect_sound_bank(std::uint64_t others = 0) {
        EXPECT_EQ(sum_of_counters(), 64'000u);
        const list_summary found = summary();
        expect_sound_list(found.count);
        expect_sound_pool(static_cast<std::uint64_t>(found.count) + 1 + others);
    }

    /// Runs `use` in a child, which has the pool open and then is killed by itself.
    void in_killed_child(const std::function<void()>& use) {
        const pid_t child = ::fork();
        if (child == 0) {
            if (!dnv_open(path(), options_)) ::_exit(3);
            use();
            ::kill(::getpid(), SIGKILL);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    }
    /// Runs `use` in a child with the pool open, and kills it so long after it has written to the file it is given.
    void kill_in(std::chrono::microseconds after, const std::function<void(int started)>& use) {
        int started[2];
        ASSERT_EQ(::pipe(started), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            ::close(started[0]);
            if (!dnv_open(path(), options_)) ::_exit(3);
            use(started[1]);
        }
        ::close(started[1]);
        char one = 0;
        EXPECT_EQ(::read(started[0], &one, 1), 1) << "the child has ended";
        ::close(started[0]);
        std::this_thread::sleep_for(after);
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    }
    /// Whether words of a block are all alike in the file, as it is.
    bool is_even(std::uint64_t offset, std::size_t words) const {
        std::vector<ecc::coded_word> found(words);
        auto file = persist::file::open(path(), persist::file::access::read_only).value();
        file.read_at(offset, found.data(), words * sizeof found[0]).value();
        return std::all_of(found.begin(), found.end(), [&](const auto& each) { return each.word == found[0].word; });
    }

    /// What a child that ends by a signal writes to standard error.
    std::string said_by_child(const std::function<void()>& use, int& status) {
        int out[2];
        EXPECT_EQ(::pipe(out), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            ::dup2(out[1], STDERR_FILENO);
            if (!dnv_open(path(), options_)) ::_exit(3);
            use();
            ::_exit(0);
        }
        ::close(out[1]);
        std::string said;
        char text[256];
        for (ssize_t count; (count = ::read(out[0], text, sizeof text)) > 0;)
            said.append(text, static_cast<std::size_t>(count));
        ::close(out[0]);
        ::waitpid(child, &status, 0);
        return said;
    }

    std::string directory_;
    dnv_options options_;
    std::optional<powerfail::test::test_handler> handler_;
};

inline void push_some(long count) {
    for (long id = 1; id <= count; ++id) push_front(id, static_cast<std::size_t>(id % 200));
}

}  // namespace holdfast::dnv::test
