// Copying a pool that is in use: a transaction boundary, every engine and medium, and what is refused.
#include <holdfast/handle/snapshot_test_support.hpp>
#include <holdfast/log/groups.hpp>
#include <holdfast/log/replay.hpp>

#include <sys/mount.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace holdfast::test;
using persist::test::killed_at_system_call;
using persist::test::small_tmpfs;

template <class Engine>
std::vector<pool_setup> places() {
    std::vector<pool_setup> all{pool_setup{}};
    pool_setup file{.directory = "."};
    if (Engine::description.power_on_files) all.push_back(file);
#ifndef HOLDFAST_FEW_PLACES
    pool_setup killed;
    killed.durability = level::process;
    all.push_back(killed);
    killed.directory = ".";
    all.push_back(killed);
#endif
    return all;
}

template <class Engine>
class Snapshot : public ::testing::Test {};
TYPED_TEST_SUITE(Snapshot, recovering_engines);

TYPED_TEST(Snapshot, HoldsExactlyTheTransactionsBeforeOneMomentWhileThreadsGoOn) {
    for (const pool_setup& setup : places<TypeParam>()) {
        test_pool<TypeParam> pool(setup);
        auto* books = bank_of(*pool);
        std::atomic<bool> closing{false};
        std::array<std::atomic<std::uint64_t>, clerks> begun{}, acknowledged{};
        std::vector<std::thread> threads;
        for (std::size_t clerk = 0; clerk < clerks; ++clerk)
            threads.emplace_back([&, clerk] {
                while (!closing) {
                    ++begun[clerk];
                    const auto done = pool->atomically([&] { books->transfer(clerk); });
                    ASSERT_TRUE(done) << done.error().text();
                    ++acknowledged[clerk];
                }
            });
        constexpr int copies = 4;
        std::array<std::array<std::uint64_t, clerks>, copies> least{}, most{};
        for (std::size_t i = 0; i < copies; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            for (std::size_t clerk = 0; clerk < clerks; ++clerk) least[i][clerk] = acknowledged[clerk];
            const auto copied = pool->snapshot(pool.file("copy" + std::to_string(i)));
            ASSERT_TRUE(copied) << copied.error().text();
            EXPECT_EQ(copied->bytes, setup.bytes);
            for (std::size_t clerk = 0; clerk < clerks; ++clerk) most[i][clerk] = begun[clerk];
        }
        closing = true;
        for (auto& each : threads) each.join();
        expect_whole(*pool);
        for (std::size_t i = 0; i < copies; ++i) {
            pool.replace_by(pool.file("copy" + std::to_string(i)));
            EXPECT_EQ(pool->core().recovery().records, 0u) << "a copy needs no recovery";
            expect_whole(*pool);
            for (std::size_t clerk = 0; clerk < clerks; ++clerk) {
                EXPECT_GE(bank_of(*pool)->done[clerk], least[i][clerk]);
                EXPECT_LE(bank_of(*pool)->done[clerk], most[i][clerk]);
            }
            // It lives as any other pool.
            ASSERT_TRUE(pool->atomically([&] { books->transfer(0); }));
            ASSERT_TRUE(pool->grow(pool->core().size() + (64 << 10)));
            pool.kill();
            expect_whole(*pool);
        }
    }
}

TYPED_TEST(Snapshot, OfASnapshotIsAnotherPoolWithTheSameContents) {
    for (const pool_setup& setup : places<TypeParam>()) {
        test_pool<TypeParam> pool(setup);
        auto* books = bank_of(*pool);
        ASSERT_TRUE(pool->grow(setup.bytes + (64 << 10)));
        for (int i = 0; i < 50; ++i) ASSERT_TRUE(pool->atomically([&] { books->transfer(0); }));
        const auto original = pool->info();
        ASSERT_TRUE(pool->snapshot(pool.file("copy")));
        pool.replace_by(pool.file("copy"));
        const auto first = pool->info();
        ASSERT_TRUE(pool->snapshot(pool.file("copy")));
        pool.replace_by(pool.file("copy"));
        const auto second = pool->info();
        EXPECT_NE(first.pool_id, original.pool_id);
        EXPECT_NE(second.pool_id, first.pool_id);
        EXPECT_EQ(second.base, original.base);
        EXPECT_EQ(second.bytes, original.bytes);
        EXPECT_EQ(second.zones, 2u);
        EXPECT_EQ(books->done[0], 50u);
        expect_whole(*pool);
    }
}

TYPED_TEST(Snapshot, WaitsForAnOpenTransactionThatStoresInPlaceAndForNoOther) {
    test_pool<TypeParam> pool;
    auto* books = bank_of(*pool);
    std::atomic<bool> stored{false}, copied{false};
    std::thread clerk([&] {
        const auto done = pool->atomically([&] {
            books->transfer(0);
            stored = true;
            // The copy waits for stores in place, so these must end first; it must not wait for the others.
            const auto patience = std::chrono::milliseconds(TypeParam::description.logs_new_values ? 60'000 : 100);
            const auto end = std::chrono::steady_clock::now() + patience;
            while (!copied && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        });
        EXPECT_TRUE(done) << done.error().text();
    });
    while (!stored) std::this_thread::yield();
    EXPECT_TRUE(pool->snapshot(pool.file("copy")));
    copied = true;
    clerk.join();
    pool.replace_by(pool.file("copy"));
    EXPECT_EQ(books->done[0], TypeParam::description.logs_new_values ? 0u : 1u);
    expect_whole(*pool);
}

TYPED_TEST(Snapshot, GivesWayToTransactionsThatWaitForOneAnother) {
    test_pool<TypeParam> pool;
    auto* books = bank_of(*pool);
    for (int round = 0; round < 5; ++round) {
        std::mutex ledger;
        std::atomic<bool> first_stored{false}, second_has_ledger{false};
        std::thread first([&] {
            EXPECT_TRUE(pool->atomically([&] {
                books->transfer(0);
                first_stored = true;
                while (!second_has_ledger) std::this_thread::yield();
                pool->atomically(ledger, [] {}).value();
            }));
        });
        std::thread second([&] {
            while (!first_stored) std::this_thread::yield();
            EXPECT_TRUE(pool->atomically(ledger, [&] {
                second_has_ledger = true;
                // Long enough for the copy to begin.
                std::this_thread::sleep_for(std::chrono::milliseconds(3));
                books->money[1] = books->money[1].get();
            }));
        });
        while (!second_has_ledger) std::this_thread::yield();
        const auto copied = pool->snapshot(pool.file("copy" + std::to_string(round)));
        EXPECT_TRUE(copied) << copied.error().text();
        first.join();
        second.join();
    }
}

TEST(SnapshotUndo, AnOpenTransactionThatStaysIsBusyAndLeavesNothing) {
    test_pool<undo> pool;
    auto* books = bank_of(*pool);
    std::atomic<bool> stored{false}, refused{false};
    std::thread clerk([&] {
        EXPECT_TRUE(pool->atomically([&] {
            books->transfer(0);
            stored = true;
            while (!refused) std::this_thread::yield();
        }));
    });
    while (!stored) std::this_thread::yield();
    const auto copied = pool->snapshot(pool.file("copy"), {.progress = {}, .patience = std::chrono::milliseconds(60)});
    EXPECT_EQ(code_of(copied), errc::busy);
    EXPECT_NE(copied.error().text().find(pool.path()), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(pool.file("copy")));
    refused = true;
    clerk.join();
    EXPECT_TRUE(pool->snapshot(pool.file("copy")));
}

/// What another thread's transactions do while a copy is half made.
template <class F>
snapshot_options in_the_middle(F f) {
    auto once = std::make_shared<bool>(false);
    return {.progress = [once, f](std::uint64_t, std::uint64_t) {
        if (!std::exchange(*once, true)) f();
    }, .patience = std::chrono::seconds(10)};
}

TEST(SnapshotOnAFile, CommitsGoOnWhileTheCopyIsMade) {
    test_pool<redo> pool({.directory = "."});
    ASSERT_TRUE(pool->core().homes_are_private());
    auto* books = bank_of(*pool);
    ASSERT_TRUE(pool->atomically([&] { books->transfer(0); }));
    const auto copied = pool->snapshot(pool.file("copy"), in_the_middle([&] {
        std::thread([&] { EXPECT_TRUE(pool->atomically([&] { books->transfer(0); })); }).join();
    }));
    ASSERT_TRUE(copied) << copied.error().text();
    EXPECT_EQ(books->done[0], 2u);
    pool.replace_by(pool.file("copy"));
    EXPECT_EQ(books->done[0], 1u);
    expect_whole(*pool);
}

TEST(SnapshotOnAFile, CommitsGoOnBesideACheckpointThatWaitsForTheCopy) {
    test_pool<redo> pool({.directory = "."});
    auto* books = bank_of(*pool);
    std::thread checkpointer, clerk;
    std::atomic<bool> has_committed{false}, is_home{false};
    const auto copied = pool->snapshot(pool.file("copy"), in_the_middle([&] {
        checkpointer = std::thread([&] {
            EXPECT_TRUE(pool->checkpoint());
            is_home = true;
        });
        // Long enough for it to begin.
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        clerk = std::thread([&] {
            EXPECT_TRUE(pool->atomically([&] { books->transfer(0); }));
            has_committed = true;
        });
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!has_committed && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        EXPECT_TRUE(has_committed);
        EXPECT_FALSE(is_home);
    }));
    ASSERT_TRUE(copied) << copied.error().text();
    clerk.join();
    checkpointer.join();
    EXPECT_TRUE(is_home);
    pool.replace_by(pool.file("copy"));
    EXPECT_EQ(books->done[0], 0u);
    expect_whole(*pool);
}

TYPED_TEST(Snapshot, ATransactionThatItWaitsForMayGrowThePool) {
    test_pool<TypeParam> pool;
    auto* books = bank_of(*pool);
    std::atomic<bool> stored{false};
    std::thread clerk([&] {
        const auto done = pool->atomically([&] {
            books->transfer(0);
            stored = true;
            // Long enough for the snapshot to wait.
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            const auto grown = pool->grow(2 << 20);
            EXPECT_TRUE(grown) << grown.error().text();
        });
        EXPECT_TRUE(done) << done.error().text();
    });
    while (!stored) std::this_thread::yield();
    const auto copied = pool->snapshot(pool.file("copy"), {.progress = {}, .patience = std::chrono::seconds(60)});
    ASSERT_TRUE(copied) << copied.error().text();
    clerk.join();
    EXPECT_EQ(pool->info().bytes, 2u << 20);
    pool.replace_by(pool.file("copy"));
    EXPECT_EQ(pool->info().bytes, copied->bytes);
    expect_whole(*pool);
}

TEST(SnapshotOnAFile, CommitsThatFillTheLogWaitForTheCopy) {
    test_pool<redo> pool({.directory = "."});
    auto* books = bank_of(*pool);
    constexpr std::uint64_t more_than_the_log_holds = 500;
    std::thread clerk;
    std::uint64_t checkpoints = 0;
    const auto copied = pool->snapshot(pool.file("copy"), in_the_middle([&] {
        const group_log& log = *pool->core().groups();
        checkpoints = log.checkpoints();
        clerk = std::thread([&] {
            for (std::uint64_t i = 0; i < more_than_the_log_holds; ++i)
                EXPECT_TRUE(pool->atomically([&] {
                    for (int j = 0; j < 8; ++j) books->transfer(0);
                }));
        });
        for (std::uint64_t before = ~std::uint64_t{0}; before != log.groups();) {
            before = log.groups();
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
        }
        EXPECT_EQ(log.checkpoints(), checkpoints) << "no home may change while it is copied";
    }));
    ASSERT_TRUE(copied) << copied.error().text();
    clerk.join();
    EXPECT_EQ(books->done[0], 8 * more_than_the_log_holds);
    EXPECT_GT(pool->core().groups()->checkpoints(), checkpoints) << "the log was too large for this test";
    expect_whole(*pool);
    pool.replace_by(pool.file("copy"));
    EXPECT_EQ(books->done[0], 0u);
    expect_whole(*pool);
}

TEST(SnapshotOfSharedHomes, CommitsGoOnWhileItIsCopiedAndWaitWhileChangesAre) {
    test_pool<redo> pool;
    auto* books = bank_of(*pool);
    std::atomic<int> committed{0};
    std::thread clerk;
    const auto commit = [&] {
        EXPECT_TRUE(pool->atomically([&] { books->transfer(0); }));
        ++committed;
    };
    const auto copied = pool->snapshot(pool.file("copy"), {.progress = [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_LE(done, total);
        if (done == total / 2) std::thread(commit).join();
        if (done != total) return;
        clerk = std::thread(commit);
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        EXPECT_EQ(committed, 1);
    }, .patience = std::chrono::seconds(10)});
    ASSERT_TRUE(copied) << copied.error().text();
    clerk.join();
    EXPECT_EQ(committed, 2);
    EXPECT_GE(copied->held_ns, 30'000'000u) << "it says how long they waited";
    pool.replace_by(pool.file("copy"));
    EXPECT_EQ(books->done[0], 1u) << "what was committed behind the copying is in it";
    expect_whole(*pool);
}

TEST(SnapshotRefused, WhatCannotBeLeavesNothingAndChangesNothing) {
    test_pool<redo> pool;
    EXPECT_EQ(code_of(pool->snapshot(pool.path())), errc::already_exists) << "the pool itself";
    EXPECT_EQ(code_of(pool->snapshot(pool.file("no/such"))), errc::not_found);
    const auto inside = pool->atomically([&] { return pool->snapshot(pool.file("copy")); });
    EXPECT_EQ(code_of(inside), errc::misuse);
    const int status = persist::test::run_in_child([&] {
        const auto copied = pool->snapshot(pool.file("copy"));
        ::_exit(!copied && copied.error().code == errc::misuse ? 0 : 1);
        return 1;
    });
    EXPECT_TRUE(persist::test::exited_with(status, 0));
    EXPECT_FALSE(std::filesystem::exists(pool.file("copy")));
    pool->close().value();
    EXPECT_EQ(code_of(pool->snapshot(pool.file("copy"))), errc::misuse);
    test_pool<volatile_only> forgetful({.order = 1});
    EXPECT_EQ(code_of(forgetful->snapshot(forgetful.file("copy"))), errc::level_unavailable);
}

TEST(SnapshotRefused, AFullDiskLeavesNothingAndCommitsGoOn) {
    const small_tmpfs disk("size=512k");
    if (!disk.mounted()) GTEST_SKIP() << "may not mount";
    test_pool<redo> pool;
    const auto copied = pool->snapshot(disk.file("copy"));
    EXPECT_EQ(code_of(copied), errc::no_space);
    EXPECT_TRUE(std::filesystem::is_empty(disk.path()));
    ASSERT_TRUE(pool->atomically([&] { bank_of(*pool)->transfer(0); }));
}

TEST(SnapshotRefused, AFailedDeviceUnderThePoolIsSaid) {
    test_pool<redo> pool({.directory = "."});
    auto* books = bank_of(*pool);
    {
        const persist::test::failing_device broken;
        EXPECT_EQ(code_of(pool->atomically([&] { books->transfer(0); })), errc::outcome_unknown);
    }
    EXPECT_EQ(code_of(pool->snapshot(pool.file("copy"))), errc::poisoned);
    EXPECT_FALSE(std::filesystem::exists(pool.file("copy")));
    pool->abandon();
}

/// A file system with reflinks, in a file; `mounted()` is false where there are no tools or no permission for it.
class small_btrfs {
public:
    small_btrfs() {
        const std::string image = directory_.file("image");
        std::ofstream(image).close();
        std::filesystem::resize_file(image, 128 << 20);
        std::filesystem::create_directory(path());
        const std::string quiet = " >/dev/null 2>&1";
        mounted_ = std::system(("mkfs.btrfs -q " + image + quiet).c_str()) == 0 &&
                   std::system(("mount -o loop " + image + " " + path() + quiet).c_str()) == 0;
    }
    ~small_btrfs() {
        if (mounted_) ::umount2(path().c_str(), MNT_DETACH);
    }
    small_btrfs(const small_btrfs&) = delete;
    small_btrfs& operator=(const small_btrfs&) = delete;

    bool mounted() const { return mounted_; }
    std::string path() const { return directory_.file("mounted"); }

private:
    persist::test::scratch_directory directory_{"."};
    bool mounted_ = false;
};

TYPED_TEST(Snapshot, SharesBlocksWhereTheFileSystemCan) {
    const small_btrfs disk;
    if (!disk.mounted()) GTEST_SKIP() << "no mkfs.btrfs, or may not mount";
    const std::string directory = disk.path();
    for (const level durability : {level::process, level::power}) {
        if (durability == level::power && !TypeParam::description.power_on_files) continue;
        test_pool<TypeParam> pool({.durability = durability, .bytes = 24 << 20, .directory = directory.c_str()});
        auto* books = bank_of(*pool);
        std::atomic<bool> closing{false};
        std::thread clerk([&] {
            while (!closing) ASSERT_TRUE(pool->atomically([&] { books->transfer(0); }));
        });
        // Copied in full these would not fit.
        for (int i = 0; i < 8; ++i) {
            const auto copied = pool->snapshot(pool.file("copy" + std::to_string(i)));
            ASSERT_TRUE(copied) << copied.error().text();
            EXPECT_TRUE(copied->shares_blocks);
        }
        closing = true;
        clerk.join();
        std::uint64_t before = 0;
        for (int i = 0; i < 8; ++i) {
            pool.replace_by(pool.file("copy" + std::to_string(i)));
            EXPECT_EQ(pool->core().recovery().records, 0u);
            expect_whole(*pool);
            EXPECT_GE(books->done[0], before);
            before = books->done[0];
            ASSERT_TRUE(pool->atomically([&] { books->transfer(0); }));
            pool.kill();
            expect_whole(*pool);
        }
    }
}

TEST(SnapshotKilled, LeavesAWholeCopyOrNothing) {
    if (persist::test::emulated()) GTEST_SKIP() << "qemu-user traces no child";
    test_pool<redo> pool({.directory = "."});
    ASSERT_TRUE(pool->atomically([&] { bank_of(*pool)->transfer(0); }));
    ASSERT_TRUE(pool->close());
    int nothing = 0, whole = 0;
    const persist::test::scratch_directory scratch(".");
    const std::string copy = scratch.file("copy");
    for (bool killed = true; killed;) {
        killed = killed_at_system_call(nothing + whole, [&] {
            auto opened = redo::pool::open(pool.path());
            return opened && opened->snapshot(copy) && opened->close();
        });
        const bool is_there = !std::filesystem::is_empty(scratch.path());
        ++(is_there ? whole : nothing);
        if (!is_there) continue;
        auto opened = redo::pool::open(copy);
        ASSERT_TRUE(opened) << opened.error().text() << ", killed at call " << nothing + whole - 1;
        expect_whole(*opened);
        EXPECT_EQ(bank_of(*opened)->done[0], 1u);
        ASSERT_TRUE(opened->close());
        std::filesystem::remove(copy);
    }
    EXPECT_GT(nothing, 1);
    EXPECT_GT(whole, 1);
}

}  // namespace
}  // namespace holdfast
