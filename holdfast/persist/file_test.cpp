#include <holdfast/log/sites.hpp>
#include <holdfast/persist/counters.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <climits>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

namespace holdfast::persist {
namespace {

using test::scratch_directory;
using test::small_tmpfs;

/// The error of an operation that must fail, naming the file.
template <class T>
error failure_of(const result<T>& outcome, const std::string& path) {
    if (outcome) {
        ADD_FAILURE() << "succeeded";
        return {};
    }
    EXPECT_EQ(outcome.error().path, path);
    EXPECT_FALSE(outcome.error().what.empty());
    return outcome.error();
}

mode_t mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
}

iovec piece_of(const std::string& text) { return {const_cast<char*>(text.data()), text.size()}; }

std::string content_of(const file& from, std::uint64_t offset, std::size_t size) {
    std::string text(size, '\0');
    const auto read = from.read_at(offset, text.data(), size);
    EXPECT_TRUE(read) << read.error().text();
    return text;
}

TEST(File, IsCreatedWithExactlyTheModeAskedForWhateverTheUmask) {
    const scratch_directory scratch;
    for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{0777}}) {
        const mode_t before = ::umask(mask);
        const auto made = test::create_file(scratch.file("private" + std::to_string(mask)), 0600);
        const auto shared = test::create_file(scratch.file("shared" + std::to_string(mask)), 0664);
        ::umask(before);
        ASSERT_TRUE(made && shared);
        EXPECT_EQ(mode_of(made->path()), 0600u);
        EXPECT_EQ(mode_of(shared->path()), 0664u);
    }
}

TEST(File, APreparedFileStandsNowhereUntilItIsPublishedAndVanishesOtherwise) {
    for (const bool unnamed : {true, false}) {
        const scratch_directory scratch;
        const auto path = scratch.file("pool");
        {
            auto prepared = file::prepare(path, 0640, unnamed);
            ASSERT_TRUE(prepared) << prepared.error().text();
            EXPECT_FALSE(std::filesystem::exists(path));
            EXPECT_EQ(std::filesystem::is_empty(scratch.path()), unnamed);
            ASSERT_TRUE(prepared->write_at(0, "whole", 5, site::measure));
        }
        EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
        {
            auto prepared = file::prepare(path, 0640, unnamed);
            ASSERT_TRUE(prepared);
            ASSERT_TRUE(prepared->write_at(0, "whole", 5, site::measure));
            file moved = *std::move(prepared);
            const auto published = moved.publish();
            ASSERT_TRUE(published) << published.error().text();
        }
        EXPECT_EQ(content_of(*file::open(path, file::access::read_only), 0, 5), "whole");
        EXPECT_EQ(mode_of(path), 0640u);
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
    }
}

TEST(File, APreparedFileReplacesNoneThatCameFirst) {
    for (const bool unnamed : {true, false}) {
        const scratch_directory scratch;
        const auto path = scratch.file("pool");
        {
            auto prepared = file::prepare(path, 0600, unnamed);
            ASSERT_TRUE(prepared);
            test::write_text(path, "precious");
            EXPECT_EQ(failure_of(prepared->publish(), path).code, errc::already_exists);
        }
        EXPECT_EQ(content_of(*file::open(path, file::access::read_only), 0, 8), "precious");
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
    }
}

TEST(File, IsNeverCreatedOverAnother) {
    const scratch_directory scratch;
    const auto path = scratch.file("there");
    test::write_text(path, "precious");
    EXPECT_EQ(failure_of(test::create_file(path, 0600), path).code, errc::already_exists);
    EXPECT_EQ(content_of(*file::open(path, file::access::read_only), 0, 8), "precious");
    const auto dangling = scratch.file("dangling");
    ASSERT_EQ(::symlink("nowhere", dangling.c_str()), 0);
    EXPECT_EQ(failure_of(test::create_file(dangling, 0600), dangling).code, errc::already_exists);
}

TEST(File, MissingNamesAreNotFound) {
    const scratch_directory scratch;
    EXPECT_EQ(failure_of(file::open(scratch.file("no"), file::access::read_write), scratch.file("no")).code,
              errc::not_found);
    EXPECT_EQ(failure_of(test::create_file(scratch.file("no/no"), 0600), scratch.file("no/no")).code, errc::not_found);
}

TEST(File, IsNotMadeInThePlaceOfADeviceThatIsMissing) {
    for (const char* const path : {"/dev/dax9.9", "/dev/holdfast:17", "/dev/../dev/dax9.9"}) {
        const auto reason = failure_of(file::prepare(path, 0600), path);
        EXPECT_EQ(reason.code, errc::not_found);
        EXPECT_EQ(reason.expected, "a device of persistent memory");
        EXPECT_FALSE(std::filesystem::exists(path));
    }
}

TEST(File, OnlyRegularFilesAreOpened) {
    const scratch_directory scratch;
    const auto pipe = scratch.file("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    for (const auto& path : {scratch.path(), pipe, std::string("/dev/null")}) {
        const auto reason = failure_of(file::open(path, file::access::read_only), path);
        EXPECT_EQ(reason.code, errc::not_a_pool);
        EXPECT_EQ(reason.expected, "a regular file, or a device of persistent memory");
        EXPECT_FALSE(reason.found.empty());
    }
}

TEST(File, WithoutPermissionIsAnErrorOfItsOwn) {
    const scratch_directory scratch;
    const auto path = scratch.file("secret");
    ASSERT_TRUE(test::create_file(path, 0400));
    ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
    const int status = test::run_in_child([&] {
        const bool privileged = ::getuid() == 0;
        if (privileged && ::setuid(65534) != 0) return 1;
        const auto opened = file::open(path, file::access::read_write);
        if (opened || opened.error().code != errc::permission_denied || opened.error().path != path) return 2;
        if (!privileged) return 0;  // then the directory is its own
        const auto made = test::create_file(scratch.file("new"), 0600);
        return !made && made.error().code == errc::permission_denied ? 0 : 3;
    });
    EXPECT_TRUE(test::exited_with(status, 0)) << status;
}

TEST(File, OnAReadOnlyFileSystemIsPermissionDenied) {
    const small_tmpfs scratch("size=64k");
    if (!scratch.mounted()) GTEST_SKIP() << "mounting is not permitted";
    const auto path = scratch.file("pool");
    ASSERT_TRUE(test::create_file(path, 0600));
    ASSERT_EQ(::mount("none", scratch.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=64k"), 0);
    EXPECT_EQ(failure_of(file::open(path, file::access::read_write), path).code, errc::permission_denied);
    EXPECT_EQ(failure_of(test::create_file(scratch.file("new"), 0600), scratch.file("new")).code,
              errc::permission_denied);
    EXPECT_TRUE(file::open(path, file::access::read_only));
}

TEST(File, DescriptorsAreClosedOnExecAndWithTheObject) {
    const scratch_directory scratch;
    int descriptor = -1;
    {
        auto made = *test::create_file(scratch.file("a"), 0600);
        descriptor = made.descriptor();
        EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
        file moved = std::move(made);
        EXPECT_EQ(moved.descriptor(), descriptor);
        auto other = *test::create_file(scratch.file("b"), 0600);
        other = std::move(moved);
        EXPECT_EQ(other.descriptor(), descriptor);
        EXPECT_EQ(other.path(), scratch.file("a"));
    }
    EXPECT_EQ(::fcntl(descriptor, F_GETFD), -1);
}

TEST(File, AnUnnamedFileLeavesNothingBehind) {
    for (const auto& parent : {std::filesystem::temp_directory_path().string(), std::string("/dev/shm")}) {
        const scratch_directory scratch(parent);
        auto unnamed = file::create_unnamed(scratch.path());
        ASSERT_TRUE(unnamed) << unnamed.error().text();
        ASSERT_TRUE(unnamed->allocate(4096));
        EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
    }
    EXPECT_EQ(failure_of(file::create_unnamed("/nowhere/at/all"), "/nowhere/at/all").code, errc::not_found);
}

TEST(File, AllocationGivesZeroedSpaceAndKeepsWhatWasThere) {
    const scratch_directory scratch;
    auto made = *test::create_file(scratch.file("a"), 0600);
    ASSERT_TRUE(made.write_at(0, "kept", 4, site::pool_format));
    ASSERT_TRUE(made.allocate(1 << 20));
    EXPECT_EQ(*made.size(), 1u << 20);
    EXPECT_EQ(content_of(made, 0, 5), std::string("kept\0", 5));
    EXPECT_EQ(content_of(made, (1 << 20) - 8, 8), std::string(8, '\0'));
    struct stat status {};
    ASSERT_EQ(::fstat(made.descriptor(), &status), 0);
    EXPECT_GE(status.st_blocks * 512, 1 << 20) << "no store to the mapping may fail for lack of room";
    ASSERT_TRUE(made.allocate(4096)) << "less than there is already";
    EXPECT_EQ(*made.size(), 1u << 20);
}

TEST(File, AllocationWritesZerosWhereTheFileSystemCannotAllocate) {
    const small_tmpfs scratch("", "ramfs");
    if (!scratch.mounted()) GTEST_SKIP() << "mounting is not permitted";
    auto made = *test::create_file(scratch.file("a"), 0600);
    ASSERT_NE(::fallocate(made.descriptor(), 0, 0, 4096), 0) << "no longer a file system without fallocate";
    ASSERT_TRUE(made.write_at(0, "kept", 4, site::pool_format));
    const auto allocated = made.allocate(200'000);
    ASSERT_TRUE(allocated) << allocated.error().text();
    EXPECT_EQ(*made.size(), 200'000u);
    EXPECT_EQ(content_of(made, 0, 5), std::string("kept\0", 5));
    struct stat status {};
    ASSERT_EQ(::fstat(made.descriptor(), &status), 0);
    EXPECT_GE(status.st_blocks * 512, 200'000);
}

TEST(File, ShrinkingCutsTheEndOffAndNeverLengthens) {
    const scratch_directory scratch;
    auto made = *test::create_file(scratch.file("a"), 0600);
    ASSERT_TRUE(made.allocate(8192));
    ASSERT_TRUE(made.write_at(0, "kept", 4, site::pool_format));
    ASSERT_TRUE(made.write_at(4096, "gone", 4, site::pool_format));
    ASSERT_TRUE(made.shrink(10000));
    EXPECT_EQ(*made.size(), 8192u);
    ASSERT_TRUE(made.shrink(4096));
    EXPECT_EQ(*made.size(), 4096u);
    ASSERT_TRUE(made.allocate(8192));
    EXPECT_EQ(content_of(made, 0, 4), "kept");
    EXPECT_EQ(content_of(made, 4096, 4), std::string(4, '\0'));
}

TEST(File, AFullDiskSaysWhatIsNeededAndWhatIsFree) {
    const small_tmpfs scratch("size=256k");
    if (!scratch.mounted()) GTEST_SKIP() << "mounting is not permitted";
    auto made = *test::create_file(scratch.file("a"), 0600);
    ASSERT_TRUE(made.allocate(65536));
    const auto reason = failure_of(made.allocate(1 << 20), made.path());
    EXPECT_EQ(reason.code, errc::no_space);
    EXPECT_EQ(reason.expected, std::to_string((1 << 20) - 65536) + " bytes free");
    EXPECT_EQ(reason.found, std::to_string(262144 - 65536) + " bytes free");
    EXPECT_EQ(*made.size(), 65536u) << "nothing is changed by a failed allocation";
    const std::vector<char> much(1 << 20);
    EXPECT_EQ(failure_of(made.write_at(0, much.data(), much.size(), site::measure), made.path()).code,
              errc::no_space);
    EXPECT_EQ(failure_of(made.allocate(~std::uint64_t{0}), made.path()).code, errc::no_space);
}

TEST(File, ReadingBeyondTheEndIsTruncatedAndSaysWhere) {
    const scratch_directory scratch;
    auto made = *test::create_file(scratch.file("a"), 0600);
    ASSERT_TRUE(made.write_at(0, "0123456789", 10, site::measure));
    char bytes[16];
    const auto reason = failure_of(made.read_at(4, bytes, sizeof bytes), made.path());
    EXPECT_EQ(reason.code, errc::truncated);
    EXPECT_EQ(reason.offset, 4u);
    EXPECT_EQ(reason.expected, "16 bytes");
    EXPECT_EQ(reason.found, "6 bytes");
    EXPECT_TRUE(made.read_at(10, bytes, 0));
}

TEST(File, WritingCountsBytesAndSyncingCountsSyncs) {
    const scratch_directory scratch;
    auto made = *file::prepare(scratch.file("a"), 0600);
    const counters start = thread_counters();
    ASSERT_TRUE(made.write_at(100, "hello", 5, site::measure));
    EXPECT_EQ(thread_counters() - start, counters{.written_bytes = 5});
    ASSERT_TRUE(made.sync(site::measure));
    EXPECT_EQ(thread_counters() - start, (counters{.written_bytes = 5, .syncs = 1}));
    ASSERT_TRUE(made.publish());
    EXPECT_EQ(thread_counters() - start, (counters{.written_bytes = 5, .syncs = 2}));
    EXPECT_EQ(content_of(made, 99, 6), std::string("\0hello", 6));
}

TEST(File, ADurableWriteIsOneSyncHoweverManyPieces) {
    const scratch_directory scratch;
    auto made = *test::create_file(scratch.file("a"), 0600);
    const std::string first = "one ", empty, second = "group of records";
    const iovec pieces[] = {piece_of(first), piece_of(empty), piece_of(second)};
    counters start = thread_counters();
    ASSERT_TRUE(made.write_durable(8, pieces, site::log_group));
    EXPECT_EQ(thread_counters() - start, (counters{.written_bytes = 20, .syncs = 1}));
    EXPECT_EQ(content_of(made, 8, 20), "one group of records");

    const std::vector<iovec> many(IOV_MAX + 10, piece_of(first));
    start = thread_counters();
    ASSERT_TRUE(made.write_durable(0, many, site::log_group));
    EXPECT_EQ(thread_counters() - start, (counters{.written_bytes = 4 * many.size(), .syncs = 1}));
    EXPECT_EQ(content_of(made, 4 * (many.size() - 1), 4), "one ");
}

TEST(File, AFailedWriteNamesTheOffset) {
    const scratch_directory scratch;
    ASSERT_TRUE(test::create_file(scratch.file("a"), 0600));
    auto opened = *file::open(scratch.file("a"), file::access::read_only);
    const std::string text = "x";
    const iovec piece = piece_of(text);
    const auto plain = failure_of(opened.write_at(7, "x", 1, site::measure), opened.path());
    EXPECT_EQ(plain.code, errc::io);
    EXPECT_EQ(plain.offset, 7u);
    const auto durable = failure_of(opened.write_durable(9, {&piece, 1}, site::measure), opened.path());
    EXPECT_EQ(durable.code, errc::io);
    EXPECT_EQ(durable.offset, 9u);
    EXPECT_NE(durable.found.find("pwritev2"), std::string::npos);
}

TEST(File, AFailedSyncIsAnErrorThatNamesTheCall) {
    const scratch_directory scratch;
    auto made = *test::create_file(scratch.file("a"), 0600);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_GE(::dup2(ends[0], made.descriptor()), 0);  // a pipe cannot be synced
    const counters before = thread_counters();
    const auto reason = failure_of(made.sync(site::measure), made.path());
    EXPECT_EQ(reason.code, errc::io);
    EXPECT_NE(reason.found.find("fdatasync"), std::string::npos);
    EXPECT_EQ(thread_counters() - before, counters{.syncs = 1}) << "it was asked, and is never asked again";
    char byte = 0;
    EXPECT_EQ(failure_of(made.read_at(0, &byte, 1), made.path()).code, errc::io);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(File, AWriteThatStopsHalfwayGoesOnOrSaysWhere) {
    const scratch_directory scratch;
    auto made = *test::create_file(scratch.file("a"), 0600);
    const int status = test::run_in_child([&] {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{10, 10};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
        auto own = file::open(made.path(), file::access::read_write);
        if (!own) return 3;
        const auto written = own->write_at(0, "0123456789abcdef", 16, site::measure);
        return !written && written.error().offset == 10u ? 0 : 2;
    });
    EXPECT_TRUE(test::exited_with(status, 0)) << status;
    EXPECT_EQ(*made.size(), 10u);
}

}  // namespace
}  // namespace holdfast::persist
