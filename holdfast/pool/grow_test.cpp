// Growing a pool: what stands in file and header, what is refused, and what a kill or a failing device leaves.
#include <holdfast/log/replay.hpp>
#include <holdfast/pool/options.hpp>
#include <holdfast/pool/pool_test_support.hpp>

#include <sys/syscall.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <set>

namespace {
/// How many more syncs and durable writes succeed.
std::atomic<int> calls_before_failing{-1};

bool device_fails() { return calls_before_failing >= 0 && calls_before_failing-- == 0; }

/// Whether the kernel has pwritev2 (qemu-user has not): else a durable write is a write and a sync.
bool has_durable_writes() {
    static const bool has = ::syscall(SYS_pwritev2, -1, nullptr, 0ul, 0ul, 0ul, 0) == 0 || errno != ENOSYS;
    return has;
}
}  // namespace

// In place of the C library's: no file system here fails a sync on demand.
extern "C" int fdatasync(int descriptor) {
    if (!device_fails()) return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
    errno = EIO;
    return -1;
}
extern "C" ssize_t pwritev2(int descriptor, const iovec* pieces, int count, off_t offset, int flags) {
    // As in the C library.
    if (flags == 0) return ::pwritev(descriptor, pieces, count, offset);
    if (!has_durable_writes()) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (device_fails()) {
        errno = EIO;
        return -1;
    }
    return ::syscall(SYS_pwritev2, descriptor, pieces, count, static_cast<unsigned long>(offset), 0ul, flags);
}

namespace holdfast {
namespace {

using namespace holdfast::test;
using persist::test::killed_at_system_call;
using persist::test::small_tmpfs;

std::uint64_t file_bytes(const std::string& path) { return std::filesystem::file_size(path); }

bool heap_is_sound(const open_pool& pool) { return heap::audit(pool.base(), pool.zones(), {}, true).clean(); }

TEST(PoolGrow, TheNewSizeStandsInTheFileAndInTheHeader) {
    const scratch_directory scratch("/dev/shm");
    const std::string path = scratch.file("pool");
    const auto options = small_pool(level::process);
    {
        auto pool = open_pool::create(path, redo_like, options);
        ASSERT_TRUE(pool) << pool.error().text();
        commit_word(**pool, 7);
        const std::uint64_t* const kept = last_word(**pool);
        const auto grown = (*pool)->grow((512 << 10) - 1);
        ASSERT_TRUE(grown) << grown.error().text();
        EXPECT_EQ((*pool)->size(), 512u << 10) << "rounded up to whole pages";
        EXPECT_EQ((*pool)->info().bytes, 512u << 10);
        EXPECT_EQ((*pool)->info().zones, 2u);
        EXPECT_EQ(*kept, 7u);
        EXPECT_EQ(find_open_pool((*pool)->base() + (512 << 10) - 1), pool->get());
        commit_word(**pool, 8);
        ASSERT_TRUE((*pool)->close());
    }
    EXPECT_EQ(file_bytes(path), 512u << 10);
    auto pool = open_pool::open(path, redo_like, options);
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ((*pool)->size(), 512u << 10);
    EXPECT_EQ((*pool)->zones().size(), 2u);
    EXPECT_EQ(*last_word(**pool), 8u) << "the last word is in the new zone";
    EXPECT_TRUE(heap_is_sound(**pool));
}

TEST(PoolGrow, WhatCannotBeIsRefusedAndChangesNothing) {
    const scratch_directory scratch("/dev/shm");
    const std::string path = scratch.file("pool");
    auto pool = open_pool::create(path, redo_like, small_pool(level::process));
    ASSERT_TRUE(pool) << pool.error().text();
    const auto before = (*pool)->info();
    const auto refused = [&](std::uint64_t bytes, const char* words) {
        const auto grown = (*pool)->grow(bytes);
        EXPECT_EQ(code_of(grown), errc::invalid_argument) << bytes;
        EXPECT_NE(grown.error().text().find(words), std::string::npos) << grown.error().text();
        EXPECT_NE(grown.error().text().find(path), std::string::npos) << grown.error().text();
        EXPECT_EQ((*pool)->info().generation, before.generation);
        EXPECT_EQ((*pool)->size(), before.bytes);
        EXPECT_EQ(file_bytes(path), before.bytes);
    };
    refused(0, "only grows");
    refused(before.bytes - 4096, "only grows");
    refused(before.bytes, "more than 262144 bytes");
    refused(before.bytes + 8192, "at least 274432 bytes");
    refused(before.reserved_bytes + 1, "at most 1073741824 bytes");
    refused(~std::uint64_t{0}, "--reserve");
}

TEST(PoolGrow, TheWholeReserveCanBeUsed) {
    const scratch_directory scratch("/dev/shm");
    auto options = small_pool(level::process);
    options.reserved_bytes = 1 << 20;
    auto pool = open_pool::create(scratch.file("pool"), redo_like, options);
    ASSERT_TRUE(pool) << pool.error().text();
    ASSERT_TRUE((*pool)->grow(1 << 20));
    commit_word(**pool, 3);
    EXPECT_EQ(*last_word(**pool), 3u);
    EXPECT_EQ(code_of((*pool)->grow((1 << 20) + 1)), errc::invalid_argument);
}

TEST(PoolGrow, AThirtyThirdZoneIsRefusedAndSaysWhatToDo) {
    const scratch_directory scratch("/dev/shm");
    const std::string path = scratch.file("pool");
    const auto options = small_pool(level::process);
    auto pool = open_pool::create(path, redo_like, options);
    ASSERT_TRUE(pool) << pool.error().text();
    for (int i = 0; i < 31; ++i) {
        const auto grown = (*pool)->grow((*pool)->size() + (12 << 10));
        ASSERT_TRUE(grown) << grown.error().text();
        commit_word(**pool, 100);
    }
    const auto refused = (*pool)->grow(64 << 20);
    EXPECT_EQ(code_of(refused), errc::invalid_argument);
    EXPECT_NE(refused.error().text().find("larger steps"), std::string::npos) << refused.error().text();
    ASSERT_TRUE((*pool)->close());
    pool = open_pool::open(path, redo_like, options);
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ((*pool)->zones().size(), 32u);
    EXPECT_TRUE(heap_is_sound(**pool));
}

TEST(PoolGrow, AFullDiskLeavesPoolAndFileAsTheyWere) {
    const small_tmpfs disk("size=1m");
    if (!disk.mounted()) GTEST_SKIP() << "may not mount";
    auto pool = open_pool::create(disk.file("pool"), redo_like, small_pool(level::process));
    ASSERT_TRUE(pool) << pool.error().text();
    const auto grown = (*pool)->grow(4 << 20);
    ASSERT_EQ(code_of(grown), errc::no_space);
    EXPECT_FALSE(grown.error().found.empty());
    EXPECT_EQ(file_bytes(disk.file("pool")), 256u << 10);
    commit_word(**pool, 5);
    EXPECT_EQ(*last_word(**pool), 5u);
    ASSERT_TRUE((*pool)->grow(512 << 10)) << "what fits is still possible";
}

TEST(PoolGrow, WhatLayBehindThePoolsEndIsNoPartOfTheNewZone) {
    const scratch_directory scratch("/dev/shm");
    const std::string path = scratch.file("pool");
    const auto options = small_pool(level::process);
    make_closed(path, options);
    const std::vector<unsigned char> noise(1 << 20, 0x5A);
    write_bytes(path, 256 << 10, noise.data(), noise.size());
    auto pool = open_pool::open(path, redo_like, options);
    ASSERT_TRUE(pool) << pool.error().text();
    ASSERT_TRUE((*pool)->grow(1 << 20));
    EXPECT_TRUE(heap_is_sound(**pool));
    EXPECT_EQ((*pool)->heap().usage().allocated_blocks, 0u);
    EXPECT_EQ(*last_word(**pool), 0u);
}

TEST(PoolGrow, EitherCopyOfTheSuperblockAloneKnowsTheNewSize) {
    for (const unsigned damaged : {0u, 1u}) {
        const scratch_directory scratch("/dev/shm");
        const std::string path = scratch.file("pool");
        const auto options = small_pool(level::process);
        auto pool = open_pool::create(path, redo_like, options);
        ASSERT_TRUE(pool) << pool.error().text();
        ASSERT_TRUE((*pool)->grow(1 << 20));
        commit_word(**pool, 9);
        (*pool)->abandon();
        damage_superblock(path, damaged);
        pool = open_pool::open(path, redo_like, options);
        ASSERT_TRUE(pool) << pool.error().text();
        EXPECT_EQ((*pool)->size(), 1u << 20);
        EXPECT_EQ(*last_word(**pool), 9u);
    }
}

TEST(PoolGrow, AKillInsideGrowLeavesTheOldPoolOrTheNew) {
    if (persist::test::emulated()) GTEST_SKIP() << "qemu-user traces no child";
    const auto options = small_pool(level::power);
    constexpr std::uint64_t size = 256 << 10, step = 64 << 10, growths = 3;
    std::set<std::uint64_t> sizes;
    bool killed = true;
    for (int call = 0; killed; ++call) {
        const scratch_directory scratch(".");
        const std::string path = scratch.file("pool");
        make_closed(path, options);
        killed = killed_at_system_call(call, [&] {
            auto pool = open_pool::open(path, redo_like, options);
            for (std::uint64_t next = size + step; pool && next <= size + step * growths; next += step) {
                if (!(*pool)->grow(next)) return false;
                commit_word(**pool, next);
            }
            return pool.has_value();
        });
        auto pool = open_pool::open(path, redo_like, options);
        ASSERT_TRUE(pool) << pool.error().text() << ", killed at call " << call;
        const std::uint64_t found = (*pool)->size();
        const std::uint64_t word = *last_word(**pool);
        EXPECT_TRUE(word == 0 || (word == found && found != size)) << word << " behind the growth to " << found;
        EXPECT_TRUE(heap_is_sound(**pool)) << "killed at call " << call;
        sizes.insert(found);
    }
    EXPECT_EQ(sizes, (std::set<std::uint64_t>{size, size + step, size + 2 * step, size + 3 * step}));
}

TEST(PoolGrow, AForkedChildAndAnInspectorAreRefused) {
    const scratch_directory scratch("/dev/shm");
    const std::string path = scratch.file("pool");
    {
        auto pool = open_pool::create(path, redo_like, small_pool(level::process));
        ASSERT_TRUE(pool) << pool.error().text();
        const int status = persist::test::run_in_child([&] {
            const auto grown = (*pool)->grow(1 << 20);
            const bool refused = !grown && grown.error().code == errc::misuse;
            ::_exit(refused ? 0 : 1);
            return 1;
        });
        EXPECT_TRUE(persist::test::exited_with(status, 0));
        ASSERT_TRUE((*pool)->close());
    }
    auto seen = open_pool::inspect(path);
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(code_of((*seen)->grow(1 << 20)), errc::misuse);
    EXPECT_EQ(file_bytes(path), 256u << 10);
}

/// What a device does that fails after so many syncs and durable writes, on a pool with private homes or shared ones.
class PoolGrowOnAFailingDevice : public ::testing::TestWithParam<level> {
protected:
    const scratch_directory scratch_{"."};
    const std::string path_ = scratch_.file("pool");
    const create_options options_ = small_pool(GetParam());

    void check_that_nobody_relies_on(open_pool& pool) {
        calls_before_failing = -1;
        EXPECT_EQ(pool.size(), 256u << 10);
        EXPECT_EQ(code_of(pool.grow(1 << 20)), errc::poisoned);
        EXPECT_EQ(code_of(pool.close()), errc::poisoned) << "a clean pool would promise what nobody knows";
    }
};
INSTANTIATE_TEST_SUITE_P(Levels, PoolGrowOnAFailingDevice, ::testing::Values(level::process, level::power));

TEST_P(PoolGrowOnAFailingDevice, AFailedSyncLeavesTheOldPoolAndTheFileAsItWas) {
    auto pool = open_pool::create(path_, redo_like, options_);
    ASSERT_TRUE(pool) << pool.error().text();
    commit_word(**pool, 4);
    calls_before_failing = 0;
    EXPECT_EQ(code_of((*pool)->grow(1 << 20)), errc::io);
    EXPECT_EQ(file_bytes(path_), 256u << 10);
    check_that_nobody_relies_on(**pool);
    pool = open_pool::open(path_, redo_like, options_);
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_FALSE((*pool)->recovery().records == 0 && GetParam() == level::power) << "it was not closed";
    EXPECT_EQ((*pool)->size(), 256u << 10);
    EXPECT_EQ(*last_word(**pool), 4u);
}

TEST_P(PoolGrowOnAFailingDevice, AFailedSuperblockIsAnUnknownOutcomeAndEitherPoolIsWhole) {
    for (const int superblocks : {0, 1}) {
        std::filesystem::remove(path_);
        auto pool = open_pool::create(path_, redo_like, options_);
        ASSERT_TRUE(pool) << pool.error().text();
        commit_word(**pool, 4);
        calls_before_failing = 1 + superblocks;
        EXPECT_EQ(code_of((*pool)->grow(1 << 20)), errc::outcome_unknown);
        check_that_nobody_relies_on(**pool);
        pool = open_pool::open(path_, redo_like, options_);
        ASSERT_TRUE(pool) << pool.error().text();
        // What a write without its sync left is in the page cache.
        const bool is_written = superblocks != 0 || !has_durable_writes();
        EXPECT_EQ((*pool)->size(), is_written ? 1u << 20 : 256u << 10);
        EXPECT_TRUE(heap_is_sound(**pool));
        EXPECT_EQ(*reinterpret_cast<std::uint64_t*>((*pool)->base() + (256 << 10) - 8), 4u);
        ASSERT_TRUE((*pool)->grow(2 << 20)) << "and it grows again";
    }
}

}  // namespace
}  // namespace holdfast
