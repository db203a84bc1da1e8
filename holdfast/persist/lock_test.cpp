#include <holdfast/persist/file.hpp>
#include <holdfast/persist/lock_table.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::persist {
namespace {

using test::scratch_directory;

/// A child that runs `body` and then waits to be killed. Ready when the constructor returns.
class held_child {
public:
    template <class Body>
    explicit held_child(Body body) {
        int ready[2];
        EXPECT_EQ(::pipe(ready), 0);
        id_ = ::fork();
        if (id_ == 0) {
            // Returning would run the destructors of the parent's objects: keep them in this frame.
            body([&] {
                EXPECT_EQ(::write(ready[1], "r", 1), 1);
                for (;;) ::pause();
            });
            ::_exit(1);
        }
        ::close(ready[1]);
        char byte = 0;
        ready_ = ::read(ready[0], &byte, 1) == 1;
        ::close(ready[0]);
    }
    ~held_child() { kill(); }
    held_child(const held_child&) = delete;
    held_child& operator=(const held_child&) = delete;

    bool ready() const { return ready_; }
    pid_t id() const { return id_; }
    void kill() {
        if (id_ <= 0) return;
        ::kill(id_, SIGKILL);
        ::waitpid(id_, nullptr, 0);
        id_ = -1;
    }

private:
    pid_t id_ = -1;
    bool ready_ = false;
};

/// 0: another process could lock `path`; 1: it is told that it is busy; 2: something else.
int ask_from_another_process(const std::string& path, file::access how = file::access::read_write) {
    const int status = test::run_in_child([&] {
        auto opened = file::open(path, how);
        if (!opened) return 2;
        const auto locked = opened->lock();
        if (locked) return 0;
        return locked.error().code == errc::busy ? 1 : 2;
    });
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/// What another process is told when it finds `path` busy.
std::string who_holds(const std::string& path) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    test::run_in_child([&] {
        auto opened = file::open(path, file::access::read_write);
        const auto locked = opened->lock();
        const std::string found = locked ? "nobody" : locked.error().found;
        return static_cast<int>(::write(ends[1], found.data(), found.size()));
    });
    ::close(ends[1]);
    char told[256] = {};
    EXPECT_GT(::read(ends[0], told, sizeof told - 1), 0);
    ::close(ends[0]);
    return std::string(told).substr(0, std::string(told).find(" ("));
}

std::string new_file(const scratch_directory& scratch) {
    EXPECT_TRUE(test::create_file(scratch.file("pool"), 0600));
    return scratch.file("pool");
}

TEST(Lock, ASecondProcessIsToldWhoHoldsTheFile) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    held_child holder([&](auto wait) {
        auto opened = file::open(path, file::access::read_write);
        if (opened && opened->lock()) wait();
    });
    ASSERT_TRUE(holder.ready());
    auto opened = *file::open(path, file::access::read_write);
    const auto locked = opened.lock();
    ASSERT_FALSE(locked);
    EXPECT_EQ(locked.error().code, errc::busy);
    EXPECT_EQ(locked.error().path, path);
    EXPECT_NE(locked.error().found.find("process " + std::to_string(holder.id())), std::string::npos)
        << locked.error().text();
    holder.kill();
    EXPECT_TRUE(opened.lock()) << "a killed holder leaves nothing behind";
}

TEST(Lock, TheSameProcessIsBusyToo) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    auto early = *file::open(path, file::access::read_write);
    auto holder = *file::open(path, file::access::read_write);
    ASSERT_TRUE(holder.lock());
    EXPECT_TRUE(holder.lock()) << "locking twice is nothing";

    const auto locked = early.lock();
    ASSERT_FALSE(locked);
    EXPECT_EQ(locked.error().code, errc::busy);
    EXPECT_NE(locked.error().found.find("this process"), std::string::npos);

    ASSERT_EQ(::link(path.c_str(), scratch.file("alias").c_str()), 0);
    for (const auto& name : {path, scratch.file("alias")}) {
        const auto opened = file::open(name, file::access::read_only);
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, errc::busy);
        EXPECT_EQ(opened.error().path, name);
    }
}

TEST(Lock, ClosingAnotherDescriptorOfThisProcessKeepsTheLock) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    {
        auto early = std::make_unique<file>(*file::open(path, file::access::read_write));
        auto holder = *file::open(path, file::access::read_write);
        ASSERT_TRUE(holder.lock());
        early.reset();
        EXPECT_EQ(who_holds(path), "process " + std::to_string(::getpid()));
        EXPECT_EQ(file::open(path, file::access::read_write).error().code, errc::busy);
        EXPECT_EQ(ask_from_another_process(path), 1) << "a refused open must not drop it either";
    }
    EXPECT_EQ(ask_from_another_process(path), 0);
}

TEST(Lock, ClosingTheFileByOtherMeansCostsOnlyTheHoldersName) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    auto holder = *file::open(path, file::access::read_write);
    ASSERT_TRUE(holder.lock());
    static_cast<void>(std::ifstream(path).get());
    EXPECT_EQ(ask_from_another_process(path), 1);
    EXPECT_EQ(who_holds(path), "another process");
}

TEST(Lock, AndAClassicLockOnTheWholeFileExcludeEachOther) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    const auto take_classic = [&](short type) {
        struct flock whole {};
        whole.l_type = type;
        return ::fcntl(::open(path.c_str(), O_RDWR | O_CLOEXEC), F_SETLK, &whole);
    };
    {
        held_child classic([&](auto wait) {
            if (take_classic(F_WRLCK) == 0) wait();
        });
        ASSERT_TRUE(classic.ready());
        auto opened = *file::open(path, file::access::read_write);
        const auto locked = opened.lock();
        ASSERT_FALSE(locked);
        EXPECT_NE(locked.error().found.find("process " + std::to_string(classic.id())), std::string::npos);
        EXPECT_FALSE(opened.lock_shared());
        EXPECT_EQ(opened.take_turn(false).error().code, errc::busy);
    }
    auto opened = *file::open(path, file::access::read_write);
    ASSERT_TRUE(opened.lock());
    const auto can_lock = [&](short type) { return test::run_in_child([&] { return take_classic(type) == 0; }); };
    EXPECT_TRUE(test::exited_with(can_lock(F_RDLCK), 0));
    ASSERT_TRUE(opened.change_lock(false));
    EXPECT_TRUE(test::exited_with(can_lock(F_RDLCK), 1)) << "sharers of both kinds";
    EXPECT_TRUE(test::exited_with(can_lock(F_WRLCK), 0));
    held_child classic([&](auto wait) {
        if (take_classic(F_RDLCK) == 0) wait();
    });
    ASSERT_TRUE(classic.ready());
    EXPECT_TRUE(opened.take_turn(true)) << "one that knows of no turns is not waited for";
    EXPECT_TRUE(opened.has_other_sharers());
}

TEST(Lock, OpeningAFileThatIsReplacedMeanwhileGivesTheOneThatHasTheName) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    // As a repair does: the file is held until another has its name.
    held_child replacing([&](auto wait) {
        std::thread waiting(wait);
        for (;;) {
            auto held = file::open_locked(path, file::access::read_write);
            if (!held) continue;
            const auto next = test::create_file(scratch.file("next"));
            if (!next || ::rename(scratch.file("next").c_str(), path.c_str()) != 0) ::_exit(1);
        }
    });
    ASSERT_TRUE(replacing.ready());
    int opened = 0, replaced = 0;
    std::uint64_t inode = 0;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while ((opened < 300 || replaced < 30) && std::chrono::steady_clock::now() < deadline) {
        auto held = file::open_locked(path, file::access::read_write);
        if (!held) {
            ASSERT_EQ(held.error().code, errc::busy) << held.error().text();
            continue;
        }
        ++opened;
        ASSERT_TRUE(*held->is_at_path()) << "number " << opened;
        replaced += std::exchange(inode, held->place()->inode) != inode ? 1 : 0;
    }
    EXPECT_GT(opened, 0);
    EXPECT_GT(replaced, 1) << "the file that is there first counts as one";
}

TEST(Lock, OfAPartOfANodeLeavesTheOtherPartsAlone) {
    const scratch_directory scratch;
    const auto path = scratch.file("node");
    ASSERT_TRUE(test::create_file(path));
    const auto open_part = [&](std::uint64_t part) {
        return detail::remember_opened([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC); }, part);
    };
    const auto lock_part = [](int descriptor) { return detail::take_lock(descriptor, true).outcome; };
    const int first = open_part(1), second = open_part(2), again = open_part(1);
    EXPECT_EQ(lock_part(first), detail::lock_outcome::taken);
    EXPECT_EQ(lock_part(second), detail::lock_outcome::taken);
    EXPECT_EQ(lock_part(again), detail::lock_outcome::held_here);
    const int status = test::run_in_child([&] {
        const int of_child = open_part(2), free = open_part(3);
        const auto refused = detail::take_lock(of_child, true);
        return refused.outcome == detail::lock_outcome::held_elsewhere && refused.holder == ::getppid() &&
                       lock_part(free) == detail::lock_outcome::taken
                   ? 0
                   : 1;
    });
    EXPECT_TRUE(test::exited_with(status, 0));
    // The classic lock that has the name is the node's: closing one part's descriptor must not take another's.
    detail::close_descriptor(first);
    EXPECT_EQ(lock_part(again), detail::lock_outcome::taken);
    const int later = test::run_in_child([&] {
        return detail::take_lock(open_part(2), true).holder == ::getppid() ? 0 : 1;
    });
    EXPECT_TRUE(test::exited_with(later, 0));
    detail::close_descriptor(second);
    detail::close_descriptor(again);
}

TEST(Lock, IsReleasedWithTheObjectAndMovesWithIt) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    {
        auto opened = *file::open(path, file::access::read_write);
        ASSERT_TRUE(opened.lock());
        const file moved = std::move(opened);
        EXPECT_EQ(ask_from_another_process(path), 1);
    }
    EXPECT_EQ(ask_from_another_process(path), 0);
    auto again = file::open(path, file::access::read_write);
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->lock());
}

TEST(Lock, AForkedChildKeepsNothingAlive) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    auto holder = std::make_unique<file>(*file::open(path, file::access::read_write));
    ASSERT_TRUE(holder->lock());
    held_child child([](auto wait) { wait(); });
    ASSERT_TRUE(child.ready());
    EXPECT_EQ(ask_from_another_process(path), 1);
    holder.reset();
    EXPECT_EQ(ask_from_another_process(path), 0);
}

TEST(Lock, AForkedChildDoesNotKeepTheLockOfAParentThatIsKilled) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    int alive[2];
    ASSERT_EQ(::pipe(alive), 0);
    {
        held_child parent([&](auto wait) {
            auto opened = file::open(path, file::access::read_write);
            if (!opened || !opened->lock()) return;
            if (!opened->allocate(4096)) return;
            auto mapped = mapping::map(*opened, 0, 4096, 4096, mapping::kind::shared);
            if (!mapped) return;
            int forked[2];
            if (::pipe(forked) != 0) return;
            if (::fork() == 0) {
                // Until the test closes its end.
                ::close(alive[1]);
                static_cast<void>(::write(forked[1], "f", 1) + ::read(alive[0], forked, 1));
                ::_exit(0);
            }
            char byte;
            if (::read(forked[0], &byte, 1) == 1) wait();
        });
        ASSERT_TRUE(parent.ready());
        EXPECT_EQ(ask_from_another_process(path), 1);
    }
    EXPECT_EQ(ask_from_another_process(path), test::emulated() ? 1 : 0) << "the emulator lets a child inherit mappings";
    ::close(alive[0]);
    ::close(alive[1]);
}

TEST(Lock, WhatAForkedChildInheritsRefusesEveryUse) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    auto holder = *file::open(path, file::access::read_write);
    ASSERT_TRUE(holder.lock());
    const int status = test::run_in_child([&] {
        // The lowest free number: it must not be that of the parent's file.
        if (::open("/dev/zero", O_RDWR | O_CLOEXEC) == holder.descriptor()) return 1;
        char byte = 0;
        if (holder.read_at(0, &byte, 1) || holder.write_at(0, &byte, 1, site::measure)) return 2;
        if (holder.sync(site::measure) || holder.allocate(4096) || holder.lock_shared()) return 3;
        if (holder.change_lock(false) || holder.take_turn(false)) return 4;
        return 0;
    });
    EXPECT_TRUE(test::exited_with(status, 0)) << status;
    EXPECT_EQ(*holder.size(), 0u);
}

TEST(Lock, AForkedChildKnowsThatItHoldsNothing) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    auto holder = std::make_unique<file>(*file::open(path, file::access::read_write));
    ASSERT_TRUE(holder->lock());
    const int status = test::run_in_child([&] {
        auto opened = file::open(path, file::access::read_write);
        if (!opened) return 1;  // its own table would say "this process"
        const auto locked = opened->lock();
        if (locked) return 2;
        if (locked.error().found.find("process " + std::to_string(::getppid())) == std::string::npos) return 3;
        if (holder->lock()) return 4;
        holder.reset();  // must not end the parent's lock
        return 0;
    });
    EXPECT_TRUE(test::exited_with(status, 0)) << status;
    EXPECT_EQ(ask_from_another_process(path), 1);
}

TEST(Lock, AChildsOwnLockSurvivesTheClosingOfWhatItInherited) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    auto holder = std::make_unique<file>(*file::open(path, file::access::read_write));
    ASSERT_TRUE(holder->lock());
    int go[2];
    ASSERT_EQ(::pipe(go), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char byte = 0;
        if (::read(go[0], &byte, 1) != 1) ::_exit(1);
        auto opened = file::open(path, file::access::read_write);
        if (!opened || !opened->lock()) ::_exit(2);
        holder.reset();
        ::_exit(ask_from_another_process(path) == 1 ? 0 : 3);
    }
    holder.reset();
    ASSERT_EQ(::write(go[1], "g", 1), 1);
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(test::exited_with(status, 0)) << status;
    ::close(go[0]);
    ::close(go[1]);
}

TEST(Lock, ReadersOfDifferentProcessesShareAndAWriterIsRefused) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    auto reader = *file::open(path, file::access::read_only);
    ASSERT_TRUE(reader.lock());
    EXPECT_EQ(ask_from_another_process(path, file::access::read_only), 0);
    EXPECT_EQ(ask_from_another_process(path, file::access::read_write), 1);
}

TEST(Lock, ThreadsThatOpenCloseAndLockNeverLoseIt) {
    const scratch_directory scratch;
    const auto path = new_file(scratch);
    std::atomic<int> holders{0}, times_held{0}, two_at_once{0};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    const auto work = [&] {
        while (std::chrono::steady_clock::now() < deadline) {
            auto opened = file::open(path, file::access::read_write);
            if (!opened || !opened->lock()) continue;
            if (holders.fetch_add(1) != 0) ++two_at_once;
            ++times_held;
            holders.fetch_sub(1);
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(work);
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(two_at_once.load(), 0);
    EXPECT_GT(times_held.load(), 0);
    EXPECT_EQ(ask_from_another_process(path), 0);
}

}  // namespace
}  // namespace holdfast::persist
