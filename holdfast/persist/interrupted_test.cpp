// Calls that a signal interrupts: the calls below stand in for the C library's, and fail with EINTR the first times.
#include <holdfast/persist/copy_file.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace {

/// How often each call is still interrupted before it is made.
constexpr int times = 3;
int fdatasync_left = 0, fsync_left = 0, ftruncate_left = 0, fchmod_left = 0, msync_left = 0;

bool interrupted(int& left) noexcept {
    if (left == 0) return false;
    --left;
    errno = EINTR;
    return true;
}

int make(long answer) noexcept { return static_cast<int>(answer); }

}  // namespace

extern "C" {

int fdatasync(int descriptor) {
    return interrupted(fdatasync_left) ? -1 : make(::syscall(SYS_fdatasync, descriptor));
}
int fsync(int descriptor) { return interrupted(fsync_left) ? -1 : make(::syscall(SYS_fsync, descriptor)); }
int ftruncate(int descriptor, off_t size) noexcept {
    return interrupted(ftruncate_left) ? -1 : make(::syscall(SYS_ftruncate, descriptor, size));
}
int fchmod(int descriptor, mode_t mode) noexcept {
    return interrupted(fchmod_left) ? -1 : make(::syscall(SYS_fchmod, descriptor, mode));
}
int msync(void* begin, size_t bytes, int flags) {
    return interrupted(msync_left) ? -1 : make(::syscall(SYS_msync, begin, bytes, flags));
}

}  // extern "C"

namespace holdfast::persist {
namespace {

TEST(Interrupted, CallsAreMadeAgain) {
    const test::scratch_directory scratch;
    fchmod_left = fsync_left = times;
    auto made = test::create_file(scratch.file("pool"), 0640);
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(*made->mode(), 0640u);
    EXPECT_EQ(fchmod_left + fsync_left, 0);

    ASSERT_TRUE(made->allocate(8192));
    fdatasync_left = ftruncate_left = msync_left = times;
    const auto synced = made->sync(site::measure);
    EXPECT_TRUE(synced) << synced.error().text();
    const auto shrunk = made->shrink(4096);
    EXPECT_TRUE(shrunk) << shrunk.error().text();
    EXPECT_EQ(*made->size(), 4096u);
    auto mapped = mapping::map(*made, 0, 4096, 4096, mapping::kind::shared);
    ASSERT_TRUE(mapped);
    const auto all = mapped->sync_all(site::measure);
    EXPECT_TRUE(all) << all.error().text();
    EXPECT_EQ(fdatasync_left + ftruncate_left + msync_left, 0);
}

TEST(Interrupted, ADurableWriteOfVeryManyPiecesIsSyncedAgain) {
    const test::scratch_directory scratch;
    auto made = *test::create_file(scratch.file("pool"));
    char byte = 'a';
    const std::vector<iovec> pieces(5000, iovec{&byte, 1});
    fdatasync_left = times;
    const auto written = made.write_durable(0, pieces, site::measure);
    EXPECT_TRUE(written) << written.error().text();
    EXPECT_EQ(fdatasync_left, 0);
}

}  // namespace
}  // namespace holdfast::persist
