// A real device that fails: a pool on ext4 on a loop device. For as long as the file behind the loop device is
// immutable the kernel fails each write to the device, as those to a disk that has no sectors left. A power cut is a
// copy of the bytes behind the loop device, taken while the page cache holds more.
//
// What is mounted is seen by this process alone, the loop devices let go with their last user, and the files behind
// them have no name: whatever ends the process, nothing stays.
#include <holdfast/engine/engine_test_support.hpp>

#include <linux/fs.h>
#include <linux/loop.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

namespace holdfast {
namespace {

using namespace holdfast::test;

/// A descriptor that is closed with this.
class descriptor {
public:
    explicit descriptor(int number) : number_(number) {}
    descriptor(const std::string& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
    ~descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    int number() const { return number_; }
    /// By which a program that is started meanwhile finds the file.
    std::string path() const { return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(number_); }

private:
    int number_;
};

/// A file without a name, where a device's bytes are.
class device_image {
public:
    static constexpr off_t bytes = 16 << 20;

    explicit device_image(const std::string& directory) : file_(directory, O_TMPFILE | O_RDWR) {}
    const descriptor& file() const { return file_; }

    bool make_file_system(bool has_journal) const {
        const std::string command = std::string("mkfs.ext4 -q -F -E lazy_itable_init=0 -O ") +
                                    (has_journal ? "" : "^") + "has_journal " + file_.path();
        return ::ftruncate(file_.number(), bytes) == 0 && std::system(command.c_str()) == 0;
    }
    /// True where the file's file system does that.
    bool let_writes_fail(bool fail) const {
        int flags = 0;
        if (::ioctl(file_.number(), FS_IOC_GETFLAGS, &flags) != 0) return false;
        flags = fail ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
        return ::ioctl(file_.number(), FS_IOC_SETFLAGS, &flags) == 0;
    }
    /// What a power cut leaves.
    void copy_to(const device_image& other) const {
        std::vector<char> all(bytes);
        if (::pread(file_.number(), all.data(), all.size(), 0) != bytes ||
            ::pwrite(other.file_.number(), all.data(), all.size(), 0) != bytes)
            throw std::runtime_error("the image cannot be copied");
    }

private:
    descriptor file_;
};

/// The file system in an image, on a loop device.
class mounted_image {
public:
    mounted_image(const device_image& image, const std::string& at) : at_(at) {
        std::filesystem::create_directory(at_);
        const descriptor control("/dev/loop-control", O_RDWR);
        // Another program may take the same one first.
        for (int tries = 0; tries < 20 && !is_mounted_; ++tries) {
            const int free = ::ioctl(control.number(), LOOP_CTL_GET_FREE);
            if (free < 0) return;
            const std::string name = "/dev/loop" + std::to_string(free);
            const descriptor device(name, O_RDWR);
            loop_config config{};
            config.fd = static_cast<unsigned>(image.file().number());
            config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
            if (::ioctl(device.number(), LOOP_CONFIGURE, &config) != 0) continue;
            is_mounted_ = ::mount(name.c_str(), at_.c_str(), "ext4", MS_NOATIME, "errors=continue") == 0;
            if (!is_mounted_) return;
        }
    }
    ~mounted_image() {
        if (is_mounted_) ::umount(at_.c_str());
    }
    mounted_image(const mounted_image&) = delete;
    mounted_image& operator=(const mounted_image&) = delete;

    bool is_mounted() const { return is_mounted_; }
    std::string file(const std::string& name) const { return at_ + "/" + name; }

private:
    std::string at_;
    bool is_mounted_ = false;
};

/// Values that stand in pages far apart, changed as one.
struct spread {
    redo::field<std::uint64_t> first;
    padding<8192 - 8> apart;
    redo::field<std::uint64_t> second;
    redo::field<std::uint64_t*> block;
};

class FailingDevice : public ::testing::TestWithParam<bool> {
protected:
    static constexpr std::size_t block_words = 20 << 7;

    bool has_journal() const { return GetParam(); }

    /// Why there is no device here; empty: there is.
    std::string set_up() {
        if (::geteuid() != 0) return "only root mounts file systems";
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
            return "this process may not have mounts of its own";
        if (std::system("command -v mkfs.ext4 >/dev/null 2>&1") != 0) return "there is no mkfs.ext4";
        if (!image_.make_file_system(has_journal())) return "there is no room for a file system";
        if (!image_.let_writes_fail(true) || !image_.let_writes_fail(false))
            return "no file here can be made immutable";
        disk_.emplace(image_, directory_.file("disk"));
        if (!disk_->is_mounted()) return "loop devices cannot be mounted";
        options_.bytes = 512 << 10;
        options_.log_bytes = 128 << 10;
        options_.reserved_bytes = std::uint64_t{1} << 30;
        options_.base = HOLDFAST_TEST_BASE_ADDRESS;
        return {};
    }
    std::string path() const { return disk_->file("pool"); }

    /// Throws where the pool is torn.
    static std::uint64_t value_in(redo::pool& pool) {
        const auto* at = pool.root<spread>("spread").value();
        if (at->first != at->second) throw std::runtime_error("half of a transaction");
        const std::uint64_t* const block = at->block.get();
        for (std::size_t i = 0; block != nullptr && i < block_words; ++i)
            if (block[i] != block[0] + i) throw std::runtime_error("a block that no log describes is torn");
        return at->first;
    }
    /// One transaction; every third has another block, which is stored to without a log.
    result<void> commit(redo::pool& pool) {
        auto* at = pool.root<spread>("spread").value();
        const std::uint64_t value = ++tried_;
        auto done = pool.atomically([&] {
            at->first = at->second = value;
            if (value % 3 != 0) return;
            redo::deallocate(at->block.get());
            auto* const words = reinterpret_cast<redo::field<std::uint64_t>*>(redo::allocate(block_words * 8));
            for (std::size_t i = 0; i < block_words; ++i) words[i] = value + i;
            at->block = reinterpret_cast<std::uint64_t*>(words);
        });
        if (done) acknowledged_ = value;
        return done;
    }
    void make() {
        auto pool = redo::pool::create(path(), options_).value();
        for (int i = 0; i < 5; ++i) ASSERT_TRUE(commit(pool));
        ASSERT_TRUE(pool.close());
        // Every block of the pool is written once, so that ext4 has nothing to note of it later. Linux 6.18 goes wrong
        // there: of a block that it takes for never written, whose first write fails, it brings the next one to the
        // device, says so to fdatasync, and still takes it for never written. After a cut it reads as zeros, though
        // the device has the bytes. Mounting anew, as with a journal, ends that.
        if (!has_journal()) {
            const auto all = bytes_of(path());
            write_bytes(path(), 0, all.data(), all.size());
        }
        ::sync();
    }
    /// The value in the pool behind a power cut at this moment. In a child: here the pool's addresses are taken.
    std::uint64_t value_after_a_cut() {
        const std::string said = directory_.file("said");
        const device_image copy(".");
        image_.copy_to(copy);
        persist::test::run_in_child([&] {
            std::ofstream to(said);
            try {
                const mounted_image after(copy, directory_.file("after"));
                if (!after.is_mounted()) throw std::runtime_error("the copy cannot be mounted");
                auto pool = redo::pool::open(after.file("pool"), options_).value();
                to << value_in(pool);
                pool.abandon();
            } catch (const std::exception& wrong) {
                to << "0 " << wrong.what();
            }
            to.close();
            return 0;
        });
        std::uint64_t value = 0;
        std::string wrong;
        std::ifstream from(said);
        from >> value;
        std::getline(from, wrong);
        EXPECT_EQ(wrong, "");
        return value;
    }
    void expect_all_after_a_cut(const char* when) {
        const std::uint64_t value = value_after_a_cut();
        EXPECT_GE(value, acknowledged_) << when;
        EXPECT_LE(value, tried_) << when;
    }
    /// The device fails in the middle of a life, and works again.
    void fail_in_a_life(int commits_before, bool checkpoints) {
        {
            auto pool = redo::pool::open(path(), options_).value();
            EXPECT_GE(value_in(pool), acknowledged_);
            for (int i = 0; i < commits_before; ++i) ASSERT_TRUE(commit(pool));
            ASSERT_TRUE(image_.let_writes_fail(true));
            if (checkpoints) { EXPECT_FALSE(pool.checkpoint()); }
            const auto refused = commit(pool);
            ASSERT_FALSE(refused) << "a device that fails acknowledged";
            EXPECT_EQ(refused.error().code, checkpoints ? errc::poisoned : errc::outcome_unknown);
            EXPECT_EQ(code_of(commit(pool)), errc::poisoned);
            EXPECT_FALSE(pool.close());
        }
        ASSERT_TRUE(image_.let_writes_fail(false));
        expect_all_after_a_cut("the device failed");
        // With a journal the file system has given up; without, the page cache shows what the device does not have.
        if (!has_journal()) return;
        disk_.reset();
        disk_.emplace(image_, directory_.file("disk"));
        ASSERT_TRUE(disk_->is_mounted());
    }

    persist::test::scratch_directory directory_{"/dev/shm"};
    device_image image_{"."};
    std::optional<mounted_image> disk_;
    create_options options_;
    std::uint64_t acknowledged_ = 0;
    std::uint64_t tried_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Ext4, FailingDevice, testing::Values(false, true), [](const auto& each) {
    return std::string(each.param ? "WithAJournal" : "WithoutAJournal");
});

TEST_P(FailingDevice, LosesNothingThatWasAcknowledgedBeforeOrAfterwards) {
    if (const std::string reason = set_up(); !reason.empty()) GTEST_SKIP() << "no device fails here: " << reason;
    make();
    for (int round = 0; round < 6 && !HasFailure(); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        fail_in_a_life(round % 4, round % 2 != 0);
        if (HasFailure()) return;
        auto pool = redo::pool::open(path(), options_);
        ASSERT_TRUE(pool) << pool.error().text();
        EXPECT_GE(value_in(*pool), acknowledged_);
        for (int i = 0; i < 4; ++i) {
            const auto done = commit(*pool);
            ASSERT_TRUE(done) << done.error().text();
        }
        expect_all_after_a_cut("the device works again");
        if (round % 3 == 0) { ASSERT_TRUE(pool->checkpoint()); }
        expect_all_after_a_cut("a checkpoint");
        if (round % 2 == 0) {
            pool->abandon();
        } else {
            ASSERT_TRUE(pool->close());
        }
        expect_all_after_a_cut("a life");
    }
}

TEST_P(FailingDevice, IsCutAsADeviceIs) {
    // Else the other test would prove nothing.
    if (const std::string reason = set_up(); !reason.empty()) GTEST_SKIP() << "no device fails here: " << reason;
    make();
    options_.durability = level::process;
    auto pool = redo::pool::open(path(), options_).value();
    const std::uint64_t durable = acknowledged_;
    ASSERT_TRUE(commit(pool));
    pool.close().value();
    EXPECT_EQ(value_after_a_cut(), acknowledged_) << "a close makes durable";
    write_bytes(disk_->file("unsynced"), 0, "text", 4);
    const device_image copy(".");
    image_.copy_to(copy);
    const mounted_image after(copy, directory_.file("after"));
    ASSERT_TRUE(after.is_mounted());
    EXPECT_FALSE(std::filesystem::exists(after.file("unsynced")) &&
                 std::filesystem::file_size(after.file("unsynced")) != 0)
        << "the page cache is no part of the device";
    EXPECT_GT(acknowledged_, durable);
}

}  // namespace
}  // namespace holdfast
