// A device that fails to write: what a sync did not bring to it is lost, although the page cache shows it and no later
// sync writes it again, as Linux does. Lives of one pool, in which syncs fail one by one; then the power fails.
//
// The C library's calls are replaced in this program: they keep what the device would hold of one file.
#include <holdfast/engine/engine_test_support.hpp>

#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <random>

namespace holdfast {
namespace {

using namespace holdfast::test;

/// What is on the device of the file that was last opened under `path`.
class lossy_device {
public:
    static constexpr std::size_t sector_bytes = 512;

    void watch(const std::string& path) {
        path_ = path;
        image_ = bytes_of(path);
        dirty_.assign(image_.size() / sector_bytes, false);
        struct stat status {};
        ::stat(path.c_str(), &status);
        inode_ = status.st_ino;
    }
    void unwatch() { inode_ = 0; }
    bool watches(int descriptor) const {
        struct stat status {};
        return inode_ != 0 && ::fstat(descriptor, &status) == 0 && status.st_ino == inode_;
    }
    /// The sync with that number from now on fails; 0: none.
    void fail_sync(unsigned number) { fails_in_ = number; }
    unsigned syncs() const { return syncs_; }

    void written(std::uint64_t offset, std::uint64_t bytes) {
        const std::uint64_t end = (offset + bytes + sector_bytes - 1) / sector_bytes;
        if (dirty_.size() < end) dirty_.resize(end);
        for (std::uint64_t sector = offset / sector_bytes; sector < end; ++sector) dirty_[sector] = true;
    }
    /// False where it fails: then what was to be written is lost, and looks clean.
    bool synced(std::uint64_t offset, std::uint64_t bytes) {
        if (before_sync) before_sync();
        ++syncs_;
        const bool fails = fails_in_ != 0 && --fails_in_ == 0;
        const auto file = bytes_of(path_);
        image_.resize(file.size());
        dirty_.resize(file.size() / sector_bytes);
        for (std::uint64_t sector = offset / sector_bytes; sector < dirty_.size(); ++sector) {
            if (sector * sector_bytes >= offset + bytes) break;
            if (dirty_[sector] && !fails) put(file, sector);
            dirty_[sector] = false;
        }
        return !fails;
    }
    std::function<void()> before_sync;

    /// The power fails: of what no sync has covered, each sector is there or not.
    template <class Random>
    void cut(const std::string& to, Random&& is_there) {
        const auto before = image_;
        const auto file = bytes_of(path_);
        image_.resize(file.size());
        dirty_.resize(file.size() / sector_bytes);
        for (std::uint64_t sector = 0; sector < dirty_.size(); ++sector)
            if (dirty_[sector] && is_there()) put(file, sector);
        write_bytes(to, 0, image_.data(), image_.size());
        image_ = before;
    }

private:
    void put(const std::vector<std::byte>& file, std::uint64_t sector) {
        std::memcpy(&image_[sector * sector_bytes], &file[sector * sector_bytes], sector_bytes);
    }

    std::string path_;
    std::uint64_t inode_ = 0;
    std::vector<std::byte> image_;
    std::vector<bool> dirty_;
    unsigned fails_in_ = 0;
    unsigned syncs_ = 0;
};

lossy_device device;

}  // namespace
}  // namespace holdfast

extern "C" {

ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t offset) {
    const auto written = ::syscall(SYS_pwrite64, descriptor, bytes, size, offset);
    if (written > 0 && holdfast::device.watches(descriptor))
        holdfast::device.written(static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(written));
    return written;
}

ssize_t pwritev2(int descriptor, const iovec* pieces, int count, off_t offset, int flags) {
    const auto written = ::syscall(SYS_pwritev2, descriptor, pieces, count, offset, 0, flags);
    if (written <= 0 || !holdfast::device.watches(descriptor)) return written;
    const auto at = static_cast<std::uint64_t>(offset);
    holdfast::device.written(at, static_cast<std::uint64_t>(written));
    if ((flags & RWF_DSYNC) == 0 || holdfast::device.synced(at, static_cast<std::uint64_t>(written))) return written;
    errno = EIO;
    return -1;
}

int fdatasync(int descriptor) {
    if (!holdfast::device.watches(descriptor) || holdfast::device.synced(0, ~std::uint64_t{0} >> 1)) return 0;
    errno = EIO;
    return -1;
}

}  // extern "C"

namespace holdfast {
namespace {

/// A value that stands in three pages, changed as one.
struct spread {
    redo::field<std::uint64_t> first, growths;
    padding<8192 - 16> apart;
    redo::field<std::uint64_t> second;
    padding<8192 - 8> far;
    redo::field<std::uint64_t> third;
    redo::field<std::uint64_t*> block;
};

class LostWrites : public ::testing::Test {
protected:
    LostWrites() {
        options_.bytes = 256 << 10;
        options_.log_bytes = 64 << 10;
        options_.reserved_bytes = std::uint64_t{1} << 30;
        options_.base = HOLDFAST_TEST_BASE_ADDRESS;
        options_.where.tmpfs_is_file = true;
    }
    ~LostWrites() override {
        device.before_sync = {};
        device.unwatch();
    }

    std::string path() const { return directory_.file("pool"); }
    void make() {
        std::filesystem::remove(path());
        auto pool = redo::pool::create(path(), options_).value();
        pool.root<spread>("spread").value();
        pool.abandon();
        device.watch(path());
        acknowledged_ = tried_ = 0;
    }
    /// What a pool holds; nothing, with a failure told, where it is torn.
    static std::uint64_t value_in(redo::pool& pool) {
        const auto* at = pool.root<spread>("spread").value();
        EXPECT_EQ(at->first, at->second);
        EXPECT_EQ(at->first, at->third);
        const std::uint64_t* const block = at->block.get();
        for (std::size_t i = 0; block != nullptr && i < block_words; ++i) {
            EXPECT_EQ(block[i], block[0] + i) << "of a block that no log describes";
            if (block[i] != block[0] + i) break;
        }
        return at->first;
    }

    /// One transaction; every fourth has another block of many pages, which is stored to without a log. False: the
    /// pool commits no more.
    bool commit(redo::pool& pool) {
        auto* at = pool.root<spread>("spread").value();
        const std::uint64_t value = ++tried_;
        const auto done = pool.atomically([&] {
            at->first = at->second = at->third = value;
            if (value % 4 != 0) return;
            redo::deallocate(at->block.get());
            auto* const words = reinterpret_cast<redo::field<std::uint64_t>*>(redo::allocate(block_words * 8));
            for (std::size_t i = 0; i < block_words; ++i) words[i] = value + i;
            at->block = reinterpret_cast<std::uint64_t*>(words);
        });
        if (done) acknowledged_ = value;
        return done.has_value();
    }
    /// A life in which something may fail. Ends at the first failure.
    void live(bool closes) {
        auto opened = redo::pool::open(path(), options_);
        if (!opened) return;
        auto& pool = *opened;
        EXPECT_GE(value_in(pool), acknowledged_);
        const auto work = [&] {
            for (int i = 0; i < 5; ++i)
                if (!commit(pool)) return false;
            if (!pool.checkpoint() || !commit(pool)) return false;
            if (pool.info().zones < 3 && !pool.grow(pool.info().bytes + (64 << 10))) return false;
            return commit(pool);
        };
        if (work() && !closes) return pool.abandon();
        static_cast<void>(pool.close());
    }
    /// The power fails; what was acknowledged is there.
    template <class Random>
    void expect_whole_after_a_cut(Random&& is_there) {
        const std::string image = directory_.file("image");
        std::filesystem::remove(image);
        device.cut(image, is_there);
        auto pool = redo::pool::open(image, options_);
        ASSERT_TRUE(pool) << pool.error().text();
        const std::uint64_t value = value_in(*pool);
        EXPECT_GE(value, acknowledged_);
        EXPECT_LE(value, tried_);
        pool->abandon();
    }
    void expect_whole_after_cuts() {
        expect_whole_after_a_cut([] { return false; });
        expect_whole_after_a_cut([] { return true; });
        for (int i = 0; i < 2; ++i) expect_whole_after_a_cut([this] { return random_() % 2 == 0; });
    }

    /// From now on the power fails before each sync.
    void collect_cuts() {
        device.before_sync = [this] {
            // All of what was written, one sector of two, the others, and by chance.
            for (unsigned which = 0; which < 4; ++which) {
                unsigned sector = which;
                images_.push_back(directory_.file("cut" + std::to_string(images_.size())));
                device.cut(images_.back(),
                           [&] { return which == 0 || (which == 3 ? random_() : ++sector) % 2 == 0; });
            }
        };
    }

    static constexpr std::size_t block_words = 20 << 7;
    persist::test::scratch_directory directory_{"/dev/shm"};
    create_options options_;
    std::uint64_t acknowledged_ = 0;
    std::uint64_t tried_ = 0;
    std::mt19937_64 random_{1};
    std::vector<std::string> images_;
};

TEST_F(LostWrites, WhatTheNextLifeAcknowledgesOnTopSurvives) {
    make();
    {
        auto pool = redo::pool::open(path(), options_).value();
        ASSERT_TRUE(commit(pool));
        device.fail_sync(1);
        EXPECT_FALSE(commit(pool));
        EXPECT_EQ(code_of(pool.close()), errc::poisoned);
    }
    {
        auto pool = redo::pool::open(path(), options_).value();
        EXPECT_EQ(value_in(pool), 2u) << "the page cache shows it";
        ASSERT_TRUE(commit(pool));
        pool.abandon();
    }
    expect_whole_after_cuts();
    EXPECT_EQ(acknowledged_, 3u);
}

TEST_F(LostWrites, ASyncThatFailsAnywhereInALifeCostsNothingThatWasAcknowledged) {
    for (const bool closes : {true, false}) {
        bool has_failed = true;
        for (unsigned number = 1; has_failed; ++number) {
            SCOPED_TRACE("sync " + std::to_string(number) + (closes ? ", closing" : ", killed"));
            make();
            const unsigned before = device.syncs();
            device.fail_sync(number);
            live(closes);
            has_failed = device.syncs() - before >= number;
            device.fail_sync(0);
            expect_whole_after_cuts();
            live(false);
            EXPECT_EQ(acknowledged_, tried_) << "the device works again";
            expect_whole_after_cuts();
            if (HasFailure()) return;
        }
    }
}

TEST_F(LostWrites, ASuperblockThatWasLostIsNotFollowedByOneOverTheCopyThatIsLeft) {
    options_.durability = level::process;
    make();
    device.unwatch();
    redo::pool::open(path(), options_).value().close().value();
    device.watch(path());
    std::uint64_t generation = 0;
    {
        auto pool = redo::pool::open(path(), options_).value();
        generation = pool.info().generation;
        // The sync of all is the first, the superblock that says clean the second.
        device.fail_sync(2);
        EXPECT_EQ(code_of(pool.close()), errc::io);
    }
    collect_cuts();
    redo::pool::open(path(), options_).value().abandon();
    device.before_sync = {};
    EXPECT_GE(images_.size(), 6u);
    for (const std::string& image : images_) {
        const auto info = open_pool::info(image, options_.where);
        ASSERT_TRUE(info) << info.error().text();
        EXPECT_GE(info->generation, generation) << "an older one, which says clean";
    }
}

TEST_F(LostWrites, NorDoTwoInLivesThatFollowEachOther) {
    bool has_failed = true;
    for (unsigned first = 1; has_failed; ++first) {
        for (unsigned second = 1;; ++second) {
            SCOPED_TRACE("syncs " + std::to_string(first) + " and " + std::to_string(second));
            make();
            unsigned before = device.syncs();
            device.fail_sync(first);
            live(second % 2 == 0);
            has_failed = device.syncs() - before >= first;
            before = device.syncs();
            device.fail_sync(second);
            live(first % 2 == 0);
            const bool both = device.syncs() - before >= second;
            device.fail_sync(0);
            expect_whole_after_cuts();
            // The power may also fail while the next life begins.
            collect_cuts();
            const std::uint64_t acknowledged = acknowledged_;
            redo::pool::open(path(), options_).value().abandon();
            device.before_sync = {};
            for (const std::string& image : images_) {
                auto pool = redo::pool::open(image, options_);
                ASSERT_TRUE(pool) << pool.error().text();
                EXPECT_GE(value_in(*pool), acknowledged);
                pool->abandon();
                std::filesystem::remove(image);
            }
            images_.clear();
            live(true);
            EXPECT_EQ(acknowledged_, tried_);
            expect_whole_after_cuts();
            if (HasFailure()) return;
            if (!both) break;
        }
    }
}

}  // namespace
}  // namespace holdfast
