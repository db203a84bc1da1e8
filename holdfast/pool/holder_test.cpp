// One holder at a time: other processes, this process, killed processes, children.
#include <holdfast/pool/options.hpp>
#include <holdfast/pool/pool_test_support.hpp>

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace holdfast {
namespace {

using namespace holdfast::test;
using persist::test::exited_with;
using persist::test::run_in_child;

/// A child that runs `body`, says so, and sleeps until it is killed.
class sleeping_child {
public:
    template <class Body>
    explicit sleeping_child(Body body) {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        child_ = ::fork();
        if (child_ == 0) {
            const auto kept = body();
            const char said = kept ? 'y' : 'n';
            if (::write(ends[1], &said, 1) != 1) ::_exit(1);
            for (;;) ::pause();
        }
        ::close(ends[1]);
        char said = 'n';
        ready_ = ::read(ends[0], &said, 1) == 1 && said == 'y';
        ::close(ends[0]);
    }
    ~sleeping_child() { kill(); }
    sleeping_child(const sleeping_child&) = delete;
    sleeping_child& operator=(const sleeping_child&) = delete;

    bool ready() const { return ready_; }
    pid_t process() const { return child_; }
    void kill() {
        if (child_ <= 0) return;
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
        child_ = -1;
    }

private:
    pid_t child_ = -1;
    bool ready_ = false;
};

class PoolHolder : public ::testing::Test {
protected:
    std::string path() const { return scratch_.file("pool"); }
    create_options options() const { return small_pool(level::process); }
    result<pool_pointer> open() const { return open_pool::open(path(), redo_like, options()); }

    scratch_directory scratch_{"/dev/shm"};
};

TEST_F(PoolHolder, ASecondProcessIsToldWhoHoldsThePool) {
    auto pool = open_pool::create(path(), redo_like, options());
    ASSERT_TRUE(pool) << pool.error().text();
    const std::string holder = std::to_string(::getpid());
    const int status = run_in_child([&] {
        const auto second = open();
        if (second || second.error().code != errc::busy) return 1;
        return second.error().text().find(holder) != std::string::npos ? 0 : 2;
    });
    EXPECT_TRUE(exited_with(status, 0)) << status;
    // The child's attempt changed nothing for this one.
    commit_word(**pool, 5);
    EXPECT_TRUE((*pool)->close());
}

TEST_F(PoolHolder, ASecondOpeningByThisProcessIsBusyAndTheFirstStaysSound) {
    auto pool = open_pool::create(path(), redo_like, options());
    ASSERT_TRUE(pool);
    EXPECT_EQ(code_of(open()), errc::busy);
    EXPECT_EQ(code_of(open_pool::inspect(path())), errc::busy);
    const int status = run_in_child([&] { return open().has_value() ? 1 : 0; });
    EXPECT_TRUE(exited_with(status, 0)) << "the refused opening dropped the lock";
    ASSERT_TRUE((*pool)->close());
    EXPECT_TRUE(open());
}

TEST_F(PoolHolder, AKilledHolderLeavesNothingStuckAndItsCommitIsRecovered) {
    make_closed(path(), options());
    sleeping_child keeper([&] {
        auto* pool = new result<pool_pointer>(open());
        if (*pool) commit_word(***pool, 43, false);
        return pool->has_value() ? pool : nullptr;
    });
    ASSERT_TRUE(keeper.ready());
    EXPECT_EQ(code_of(open()), errc::busy);
    keeper.kill();
    auto pool = open();
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ(*last_word(**pool), 43u);
}

TEST_F(PoolHolder, AChildKeepsNoLockAlive) {
    auto pool = open_pool::create(path(), redo_like, options());
    ASSERT_TRUE(pool);
    const sleeping_child child([] { return true; });
    ASSERT_TRUE(child.ready());
    ASSERT_TRUE((*pool)->close());
    auto again = open();
    EXPECT_TRUE(again) << again.error().text();
}

TEST_F(PoolHolder, TheMappingIsNotInheritedByAChild) {
    if (persist::test::emulated()) GTEST_SKIP() << "the emulator ignores MADV_DONTFORK";
    auto pool = open_pool::create(path(), redo_like, options());
    ASSERT_TRUE(pool);
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGSEGV, SIG_DFL);
        ::_exit(static_cast<int>(*reinterpret_cast<volatile unsigned char*>((*pool)->base())) == 'H' ? 1 : 2);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_FALSE(exited_with(status, 1));
    EXPECT_FALSE(exited_with(status, 2));
}

TEST_F(PoolHolder, AChildThatClosesItsParentsPoolChangesNothing) {
    for (const bool on_file : {false, true}) {
        SCOPED_TRACE(on_file);
        const scratch_directory here(on_file ? "." : "/dev/shm");
        const auto wanted = on_file ? small_pool(level::power) : options();
        auto pool = open_pool::create(here.file("pool"), redo_like, wanted);
        ASSERT_TRUE(pool) << pool.error().text();
        commit_word(**pool, 5);
        const auto generation = (*pool)->info().generation;
        const int status = run_in_child([&] {
            const auto closed = (*pool)->close();
            return !closed && closed.error().code == errc::misuse ? 0 : 1;
        });
        EXPECT_TRUE(exited_with(status, 0)) << status;
        const int destroyed = run_in_child([&] {
            pool->reset();
            return 0;
        });
        EXPECT_TRUE(exited_with(destroyed, 0)) << destroyed;
        const int seen = run_in_child([&] {
            const auto info = open_pool::info(here.file("pool"));
            return info && !info->clean && info->generation == generation ? 0 : 1;
        });
        EXPECT_TRUE(exited_with(seen, 0)) << "the child wrote the superblock";
        commit_word(**pool, 6);
        ASSERT_TRUE((*pool)->close());
        auto again = open_pool::open(here.file("pool"), redo_like, wanted);
        ASSERT_TRUE(again) << again.error().text();
        EXPECT_EQ(*last_word(**again), 6u);
    }
}

TEST_F(PoolHolder, DescriptorsAreClosedOnExec) {
    auto pool = open_pool::create(path(), redo_like, options());
    ASSERT_TRUE(pool);
    EXPECT_NE(::fcntl((*pool)->backing_file().descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(PoolHolder, SeveralMayLookAtAPoolThatNobodyHolds) {
    make_unclean(path(), options(), redo_like, 9);
    const auto before = bytes_of(path());
    {
        auto looked = open_pool::inspect(path());
        ASSERT_TRUE(looked) << looked.error().text();
        EXPECT_EQ(*last_word(**looked), 9u) << "recovered in memory";
        EXPECT_FALSE((*looked)->info().clean);
        const int status = run_in_child([&] {
            if (open().has_value()) return 1;
            return 0;
        });
        EXPECT_TRUE(exited_with(status, 0)) << "looking keeps writers out";
    }
    EXPECT_EQ(bytes_of(path()), before) << "and changes nothing";
}

TEST_F(PoolHolder, NobodyLooksAtAPoolThatProcessesShare) {
    make_closed(path(), options());
    sleeping_child sharing([&] {
        auto* pool = new result<pool_pointer>(open_pool::open_shared(path(), redo_like, options()));
        return pool->has_value() ? pool : nullptr;
    });
    ASSERT_TRUE(sharing.ready());
    const auto looked = open_pool::inspect(path());
    ASSERT_EQ(code_of(looked), errc::busy);
    const std::string process = "process " + std::to_string(sharing.process());
    EXPECT_NE(looked.error().found.find(process), std::string::npos) << looked.error().text();
    EXPECT_TRUE(open_pool::open_shared(path(), redo_like, options())) << "which leaves no lock";
    sharing.kill();
    EXPECT_TRUE(open_pool::inspect(path()));
}

TEST_F(PoolHolder, TheLastOfSeveralSharersThatCloseTogetherMarksThePoolClean) {
    make_closed(path(), options());
    for (int round = 0; round < 300; ++round) {
        int go[2];
        ASSERT_EQ(::pipe2(go, O_CLOEXEC), 0);
        const auto share = [&] {
            ::close(go[1]);
            auto pool = open_pool::open_shared(path(), redo_like, options());
            char byte;
            // Ends for both when the test closes its end.
            if (!pool || ::read(go[0], &byte, 1) != 0) ::_exit(1);
            ::_exit((*pool)->close() ? 0 : 2);
        };
        pid_t children[2];
        for (pid_t& child : children)
            if (child = ::fork(); child == 0) share();
        ::close(go[0]);
        ::close(go[1]);
        for (const pid_t child : children) {
            int status = -1;
            ::waitpid(child, &status, 0);
            ASSERT_TRUE(exited_with(status, 0)) << "round " << round << ": " << status;
        }
        ASSERT_TRUE(open_pool::info(path())->clean) << "round " << round;
    }
}

TEST_F(PoolHolder, WhoOnlyLooksAtAnUncleanPoolIsNotTakenForASharer) {
    make_unclean(path(), options(), redo_like, 9);
    sleeping_child looking([&] {
        auto* pool = new result<pool_pointer>(open_pool::inspect(path()));
        return pool->has_value() ? pool : nullptr;
    });
    ASSERT_TRUE(looking.ready());
    std::thread ending([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        looking.kill();
    });
    auto pool = open_pool::open_shared(path(), redo_like, options());
    ending.join();
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ(*last_word(**pool), 9u) << "shared before it was recovered";
}

TEST_F(PoolHolder, APoolThatIsReplacedWhileItIsOpenedIsNotOpenedUnderTheNameOfTheNext) {
    make_closed(path(), options());
    make_closed(scratch_.file("original"), options());
    const auto next = scratch_.file("next");
    // As a repair does: the pool is held until another has its name.
    sleeping_child replacing([&] {
        static auto& kept = *new std::thread([&] {
            for (;;) {
                // Alone: one that only looks may share the lock with sharers.
                auto held = persist::file::open_locked(path(), persist::file::access::read_write);
                if (!held) continue;
                std::filesystem::copy_file(scratch_.file("original"), next);
                std::filesystem::rename(next, path());
            }
        });
        return &kept;
    });
    ASSERT_TRUE(replacing.ready());
    int opened = 0, replaced = 0;
    ino_t inode = 0;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int tried = 0; replaced < 20 && std::chrono::steady_clock::now() < deadline; ++tried) {
        auto pool = tried % 2 == 0 ? open() : open_pool::open_shared(path(), redo_like, options());
        if (!pool) {
            ASSERT_EQ(pool.error().code, errc::busy) << pool.error().text();
            continue;
        }
        ++opened;
        struct stat held {}, named {};
        ASSERT_EQ(::fstat((*pool)->backing_file().descriptor(), &held) + ::stat(path().c_str(), &named), 0);
        ASSERT_EQ(held.st_ino, named.st_ino) << "number " << opened;
        replaced += std::exchange(inode, held.st_ino) != held.st_ino ? 1 : 0;
    }
    EXPECT_GT(opened, 0);
    EXPECT_GT(replaced, 1) << "the pool that is there first counts as one";
}

}  // namespace
}  // namespace holdfast
