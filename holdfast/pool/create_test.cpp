// Creating, opening, closing; sizes, modes, addresses.
#include <holdfast/log/replay.hpp>
#include <holdfast/pool/address.hpp>
#include <holdfast/pool/options.hpp>
#include <holdfast/pool/pool_test_support.hpp>

#include <sys/mman.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace holdfast {
namespace {

using namespace holdfast::test;
using persist::test::killed_at_system_call;
using persist::test::small_tmpfs;

/// KiB of the mapping at `base` that this process has touched.
std::uint64_t resident_kib(const std::byte* base) {
    char first[32];
    const auto address = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(base));
    std::snprintf(first, sizeof first, "%llx-", address);
    std::ifstream maps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.starts_with(first)) inside = true;
        if (inside && line.starts_with("Rss:")) return std::stoull(line.substr(4));
    }
    return ~std::uint64_t{0};
}

TEST(PoolCreate, APoolIsCreatedClosedAndOpenedAgain) {
    const scratch_directory scratch("/dev/shm");
    const std::string path = scratch.file("pool");
    auto options = small_pool(level::process);
    options.layout = "addresses";
    {
        auto pool = open_pool::create(path, redo_like, options);
        ASSERT_TRUE(pool) << pool.error().text();
        EXPECT_EQ((*pool)->base(), reinterpret_cast<std::byte*>(options.base));
        EXPECT_EQ((*pool)->size(), 256u << 10);
        EXPECT_EQ((*pool)->engine_name(), "redo_like");
        EXPECT_EQ((*pool)->durability(), level::process);
        EXPECT_FALSE((*pool)->info().clean);
        commit_word(**pool, 7);
        ASSERT_TRUE((*pool)->close());
    }
    auto pool = open_pool::open(path, redo_like, options);
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ(*last_word(**pool), 7u);
    EXPECT_EQ((*pool)->recovery().applied, 0u) << "a closed pool needs no recovery";
}

TEST(PoolCreate, AKillInsideCreateLeavesAWholePoolOrNothing) {
    if (persist::test::emulated()) GTEST_SKIP() << "qemu-user traces no child";
    const auto options = small_pool(level::power);
    int nothing = 0, whole = 0;
    for (bool killed = true; killed;) {
        const scratch_directory scratch(".");
        const std::string path = scratch.file("pool");
        killed = killed_at_system_call(nothing + whole, [&] {
            const auto pool = open_pool::create(path, redo_like, options);
            return pool.has_value();
        });
        const bool is_there = !std::filesystem::is_empty(scratch.path());
        ++(is_there ? whole : nothing);
        if (!is_there) continue;
        const auto pool = open_pool::open(path, redo_like, options);
        ASSERT_TRUE(pool) << pool.error().text() << ", killed at call " << nothing + whole - 1;
    }
    EXPECT_GT(nothing, 1);
    EXPECT_GT(whole, 1);
}

TEST(PoolCreate, InfoReadsTheHeaderAlsoOfAPoolInUse) {
    const scratch_directory scratch("/dev/shm");
    const std::string path = scratch.file("pool");
    auto options = small_pool(level::process);
    options.layout = "addresses";
    auto pool = open_pool::create(path, redo_like, options);
    ASSERT_TRUE(pool) << pool.error().text();
    const auto in_use = (*pool)->info();
    EXPECT_FALSE(in_use.clean);
    EXPECT_EQ(code_of(open_pool::info(path)), errc::busy) << "this process asks its handle";
    const int seen = persist::test::run_in_child([&] {
        const auto info = open_pool::info(path);
        return info && !info->clean && info->generation == in_use.generation ? 0 : 1;
    });
    EXPECT_TRUE(persist::test::exited_with(seen, 0));
    ASSERT_TRUE((*pool)->close());
    const auto closed = open_pool::info(path);
    ASSERT_TRUE(closed) << closed.error().text();
    EXPECT_TRUE(closed->clean);
    EXPECT_EQ(closed->layout, "addresses");
    EXPECT_EQ(closed->engine, "redo_like");
    EXPECT_EQ(closed->base, options.base);
    EXPECT_EQ(closed->bytes, 256u << 10);
    EXPECT_EQ(closed->reserved_bytes, options.reserved_bytes);
    EXPECT_EQ(closed->last_level, level::process);
    EXPECT_TRUE(closed->same_boot);
    EXPECT_GT(closed->generation, in_use.generation);
}

TEST(PoolCreate, TheSmallestPoolHas256KiBAndSizesAreRoundedUpToPages) {
    const scratch_directory scratch("/dev/shm");
    auto options = small_pool(level::process);
    options.bytes = (256 << 10) - 4096;
    EXPECT_EQ(code_of(open_pool::create(scratch.file("small"), redo_like, options)), errc::invalid_argument);
    EXPECT_FALSE(std::filesystem::exists(scratch.file("small")));
    options.bytes = (256 << 10) + 1;
    auto pool = open_pool::create(scratch.file("odd"), redo_like, options);
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ((*pool)->size(), (256u << 10) + 4096);
    ASSERT_TRUE((*pool)->close());
    EXPECT_EQ(std::filesystem::file_size(scratch.file("odd")), (256u << 10) + 4096);
}

TEST(PoolCreate, WhatCannotBeIsRefusedBeforeAFileExists) {
    const scratch_directory scratch("/dev/shm");
    const std::string path = scratch.file("pool");
    const auto refused = [&](auto&& change) {
        create_options options = small_pool(level::process);
        change(options);
        const auto pool = open_pool::create(path, redo_like, options);
        EXPECT_EQ(code_of(pool), errc::invalid_argument) << (pool ? "created" : pool.error().text());
        EXPECT_FALSE(std::filesystem::exists(path));
    };
    refused([](auto& options) { options.bytes = 0; });
    refused([](auto& options) { options.bytes = ~std::uint64_t{0}; });
    refused([](auto& options) { options.log_bytes = 4096; });
    refused([](auto& options) { options.log_bytes = 200 << 10; });
    refused([](auto& options) { options.layout = std::string(64, 'x'); });
    refused([](auto& options) { options.base += 4096; });
    refused([](auto& options) { options.base = std::uint64_t{1} << 47; });
    refused([](auto& options) { options.reserved_bytes = ~std::uint64_t{0}; });
    refused([](auto& options) { options.base = 0, options.reserved_bytes = ~std::uint64_t{0}; });
    refused([](auto& options) { options.base = 0, options.reserved_bytes = std::uint64_t{1} << 60; });
}

TEST(PoolCreate, TheFileIsPrivateToItsOwnerUnlessAskedOtherwise) {
    const scratch_directory scratch("/dev/shm");
    const auto mode_of = [](const std::string& path) {
        struct stat status {};
        EXPECT_EQ(::stat(path.c_str(), &status), 0);
        return status.st_mode & 07777;
    };
    make_closed(scratch.file("private"), small_pool(level::process));
    EXPECT_EQ(mode_of(scratch.file("private")), 0600u);
    auto options = small_pool(level::process);
    options.mode = 0664;
    make_closed(scratch.file("shared"), options);
    EXPECT_EQ(mode_of(scratch.file("shared")), 0664u) << "whatever the umask";
}

TEST(PoolCreate, AnExistingFileIsLeftAlone) {
    const scratch_directory scratch("/dev/shm");
    const std::string path = scratch.file("letter");
    persist::test::write_text(path, "dear reader");
    EXPECT_EQ(code_of(open_pool::create(path, redo_like, small_pool(level::process))), errc::already_exists);
    EXPECT_EQ(bytes_of(path).size(), 11u);
    EXPECT_EQ(code_of(open_pool::create(scratch.file("no/such"), redo_like, small_pool(level::process))),
              errc::not_found);
}

TEST(PoolCreate, AFullDiskIsSaidAtOnceAndTheFileIsRemoved) {
    const small_tmpfs disk("size=1m");
    if (!disk.mounted()) GTEST_SKIP() << "may not mount";
    auto options = small_pool(level::process);
    options.bytes = 4 << 20;
    const auto pool = open_pool::create(disk.file("pool"), redo_like, options);
    ASSERT_EQ(code_of(pool), errc::no_space);
    EXPECT_NE(pool.error().text().find(disk.file("pool")), std::string::npos);
    EXPECT_FALSE(pool.error().expected.empty());
    EXPECT_FALSE(pool.error().found.empty());
    EXPECT_FALSE(std::filesystem::exists(disk.file("pool")));
}

TEST(PoolCreate, SpaceIsAllocatedUpFront) {
    const scratch_directory scratch(".");
    auto options = small_pool(level::process);
    options.bytes = 8 << 20;
    make_closed(scratch.file("pool"), options);
    struct stat status {};
    ASSERT_EQ(::stat(scratch.file("pool").c_str(), &status), 0);
    EXPECT_GE(status.st_blocks * 512, 8 << 20);
}

#if !defined(__SANITIZE_THREAD__)
TEST(PoolAddress, ARandomBaseIsAlignedAndInRange) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t reserved = std::uint64_t{64} << 30;
        const std::uint64_t base = random_base(reserved);
        ASSERT_EQ(base % (std::uint64_t{1} << 30), 0u);
        ASSERT_GE(base, 0x2000'0000'0000u);
        ASSERT_LE(base + reserved, 0x3fff'0000'0000u);
        seen.insert(base);
    }
    EXPECT_GT(seen.size(), 900u);
}
#endif

TEST(PoolAddress, APoolWithoutABaseGetsItsOwnAndKeepsIt) {
    const scratch_directory scratch("/dev/shm");
    auto options = small_pool(level::process);
    options.base = 0;
    auto pool = open_pool::create(scratch.file("pool"), redo_like, options);
    ASSERT_TRUE(pool) << pool.error().text();
    const auto* base = (*pool)->base();
    ASSERT_TRUE((*pool)->close());
    pool = open_pool::open(scratch.file("pool"), redo_like, options);
    ASSERT_TRUE(pool);
    EXPECT_EQ((*pool)->base(), base);
}

TEST(PoolAddress, OverlappingPoolsAreRefusedAndTheCreatedFileIsRemoved) {
    const scratch_directory scratch("/dev/shm");
    auto first = open_pool::create(scratch.file("first"), redo_like, small_pool(level::process));
    ASSERT_TRUE(first) << first.error().text();
    commit_word(**first, 3);
    const auto second = open_pool::create(scratch.file("second"), redo_like, small_pool(level::process));
    ASSERT_EQ(code_of(second), errc::address_taken);
    EXPECT_NE(second.error().text().find("nothing mapped at 0x"), std::string::npos) << second.error().text();
    EXPECT_FALSE(std::filesystem::exists(scratch.file("second")));
    EXPECT_EQ(*last_word(**first), 3u);
    auto apart = open_pool::create(scratch.file("apart"), redo_like, small_pool(level::process, 1));
    EXPECT_TRUE(apart) << apart.error().text();
}

TEST(PoolAddress, ATakenRangeIsRefusedAndTheFileStaysAsItWas) {
    const scratch_directory scratch("/dev/shm");
    const auto options = small_pool(level::process);
    make_closed(scratch.file("pool"), options);
    const auto before = bytes_of(scratch.file("pool"));
    // Inside the reserved range, behind the pool itself.
    void* const wanted = reinterpret_cast<void*>(options.base + (512 << 20));
    void* const taken = ::mmap(wanted, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ASSERT_EQ(taken, wanted);
    EXPECT_EQ(code_of(open_pool::open(scratch.file("pool"), redo_like, options)), errc::address_taken);
    EXPECT_EQ(bytes_of(scratch.file("pool")), before);
    ::munmap(taken, 4096);
    EXPECT_TRUE(open_pool::open(scratch.file("pool"), redo_like, options));
}

TEST(PoolAddress, ThePoolOfAnAddressIsFoundWhileItIsOpen) {
    const scratch_directory scratch("/dev/shm");
    auto first = open_pool::create(scratch.file("first"), redo_like, small_pool(level::process));
    auto second = open_pool::create(scratch.file("second"), redo_like, small_pool(level::process, 1));
    ASSERT_TRUE(first && second);
    std::byte* const base = (*second)->base();
    EXPECT_EQ(find_open_pool(base), second->get());
    EXPECT_EQ(find_open_pool(base + (*second)->size() - 1), second->get());
    EXPECT_EQ(find_open_pool(base + (*second)->size()), nullptr) << "reserved, not the pool";
    EXPECT_EQ(find_open_pool(base - 1), nullptr);
    EXPECT_EQ(find_open_pool((*first)->base()), first->get());
    EXPECT_EQ(find_open_pool(&first), nullptr);
    ASSERT_TRUE((*second)->close());
    EXPECT_EQ(find_open_pool(base), nullptr);
}

TEST(PoolOpen, TouchedMemoryDoesNotGrowWithThePoolUnlessPopulated) {
    if (persist::test::emulated()) GTEST_SKIP() << "the emulator's own memory is counted too";
    const scratch_directory scratch("/dev/shm");
    std::uint64_t touched[2];
    for (unsigned i = 0; i < 2; ++i) {
        auto options = small_pool(level::process);
        options.bytes = i == 0 ? 2 << 20 : 256 << 20;
        options.log_bytes = 256 << 10;
        const std::string path = scratch.file("pool" + std::to_string(i));
        make_unclean(path, options, redo_like, 5);
        auto pool = open_pool::open(path, redo_like, options);
        ASSERT_TRUE(pool) << pool.error().text();
        EXPECT_EQ((*pool)->recovery().applied, 1u);
        touched[i] = resident_kib((*pool)->base());
        ASSERT_NE(touched[i], ~std::uint64_t{0});
    }
    EXPECT_LT(touched[1], touched[0] + 256);
    auto options = small_pool(level::process);
    options.bytes = 2 << 20;
    options.populate = true;
    auto pool = open_pool::open(scratch.file("pool0"), redo_like, options);
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ(resident_kib((*pool)->base()), 2048u);
}

}  // namespace
}  // namespace holdfast
