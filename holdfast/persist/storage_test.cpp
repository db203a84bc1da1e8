#include <holdfast/persist/storage.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace holdfast::persist {
namespace {

namespace fs = std::filesystem;
using test::scratch_directory;

/// A fake /sys with one persistent-memory device 259:0 and what stands above it.
class fake_sysfs {
public:
    static constexpr const char* region = "devices/platform/ndbus0/region0";

    fake_sysfs() { add_device("259:0", std::string(region) + "/namespace0.0/block/pmem0"); }

    void add_device(const std::string& number, const std::string& directory) const {
        fs::create_directories(root() / directory);
        fs::create_directories(root() / "dev/block");
        fs::create_symlink(fs::path("../..") / directory, root() / "dev/block" / number);
    }
    void write(const std::string& name, const std::string& text) const { test::write_text(root() / name, text); }
    fs::path root() const { return fs::path(scratch_.path()) / "sys"; }

    /// What discovery finds for a file on the device, with MAP_SYNC accepted unless told.
    storage discover_device(const std::string& number = "259:0", int map_sync_answer = 1) const {
        const auto found = discover(scratch_.path(), {.sysfs_root = root().string(),
                                                      .map_sync_answer = map_sync_answer,
                                                      .device = number});
        EXPECT_TRUE(found) << found.error().text();
        return found ? *found : storage{};
    }

private:
    scratch_directory scratch_;
};

TEST(Storage, CachesInsideTheDomainNeedAFenceOnly) {
    const fake_sysfs sys;
    sys.write(std::string(fake_sysfs::region) + "/persistence_domain", "cpu_cache\n");
    const auto found = sys.discover_device();
    EXPECT_EQ(found.kind, medium::dax);
    EXPECT_EQ(found.domain, persistence_domain::cpu_cache);
    EXPECT_TRUE(found.byte_addressable());
    EXPECT_TRUE(found.map_sync);
    EXPECT_FALSE(found.lines(0).write_back_needed);
}

TEST(Storage, MemoryControllerNeedsWriteBacks) {
    const fake_sysfs sys;
    sys.write(std::string(fake_sysfs::region) + "/persistence_domain", "memory_controller\n");
    const auto found = sys.discover_device();
    EXPECT_EQ(found.domain, persistence_domain::memory_controller);
    EXPECT_TRUE(found.lines(7).write_back_needed);
    EXPECT_EQ(found.lines(7).delay_ns, 7u);
}

TEST(Storage, AMissingEmptyOrStrangeDomainNeedsWriteBacks) {
    const fake_sysfs missing;
    EXPECT_EQ(missing.discover_device().domain, persistence_domain::unknown);
    EXPECT_TRUE(missing.discover_device().lines(0).write_back_needed);
    EXPECT_EQ(missing.discover_device("8:1").domain, persistence_domain::unknown) << "no such device";
    for (const auto* text : {"", "\n", "unknown\n", "cpu_cache_of_mars\n"}) {
        const fake_sysfs sys;
        sys.write(std::string(fake_sysfs::region) + "/persistence_domain", text);
        EXPECT_EQ(sys.discover_device().domain, persistence_domain::unknown) << text;
        EXPECT_EQ(sys.discover_device().kind, medium::dax);
    }
    const scratch_directory scratch;
    const auto no_tree = discover(scratch.path(), {.sysfs_root = scratch.file("none"), .map_sync_answer = 1});
    ASSERT_TRUE(no_tree);
    EXPECT_EQ(no_tree->domain, persistence_domain::unknown);
}

TEST(Storage, TheRegionIsFoundOnTheBusAsWell) {
    const fake_sysfs sys;
    sys.write("bus/nd/devices/region1/persistence_domain", "memory_controller\n");
    EXPECT_EQ(sys.discover_device().domain, persistence_domain::unknown) << "another device's region";
    sys.write("bus/nd/devices/region0/persistence_domain", "cpu_cache\n");
    EXPECT_EQ(sys.discover_device().domain, persistence_domain::cpu_cache);
}

TEST(Storage, APartitionHasTheDomainOfItsDevice) {
    const fake_sysfs sys;
    sys.write(std::string(fake_sysfs::region) + "/persistence_domain", "cpu_cache\n");
    sys.add_device("259:1", std::string(fake_sysfs::region) + "/namespace0.0/block/pmem0/pmem0p1");
    EXPECT_EQ(sys.discover_device("259:1").domain, persistence_domain::cpu_cache);
}

TEST(Storage, AMappedDeviceIsAsGoodAsTheWeakestBelowIt) {
    const fake_sysfs sys;
    sys.write(std::string(fake_sysfs::region) + "/persistence_domain", "cpu_cache\n");
    sys.add_device("259:2", "devices/platform/ndbus0/region2/namespace2.0/block/pmem2");
    sys.add_device("253:0", "devices/virtual/block/dm-0");
    const auto slaves = sys.root() / "devices/virtual/block/dm-0/slaves";
    fs::create_directories(slaves);
    EXPECT_EQ(sys.discover_device("253:0").domain, persistence_domain::unknown);
    fs::create_directory_symlink(sys.root() / "dev/block/259:0", slaves / "pmem0");
    EXPECT_EQ(sys.discover_device("253:0").domain, persistence_domain::cpu_cache);
    fs::create_directory_symlink(sys.root() / "dev/block/259:2", slaves / "pmem2");
    EXPECT_EQ(sys.discover_device("253:0").domain, persistence_domain::unknown);
    sys.write("devices/platform/ndbus0/region2/persistence_domain", "memory_controller\n");
    EXPECT_EQ(sys.discover_device("253:0").domain, persistence_domain::memory_controller);
}

TEST(Storage, WithoutMapSyncAnOrdinaryFileSystemIsPageGranular) {
    const fake_sysfs sys;
    sys.write(std::string(fake_sysfs::region) + "/persistence_domain", "cpu_cache\n");
    const auto found = sys.discover_device("259:0", 0);
    EXPECT_FALSE(found.map_sync);
    EXPECT_FALSE(found.byte_addressable());
    EXPECT_EQ(found.domain, persistence_domain::unknown) << "asked for only where stores reach the media";
}

TEST(Storage, TmpfsIsVolatileUnlessItStandsForNvram) {
    const scratch_directory scratch("/dev/shm");
    test::write_text(scratch.file("pool"), "x");
    for (const auto& path : {scratch.path(), scratch.file("pool")}) {
        const auto plain = discover(path);
        ASSERT_TRUE(plain) << plain.error().text();
        EXPECT_EQ(plain->kind, medium::tmpfs);
        EXPECT_EQ(plain->file_system, "tmpfs");
        EXPECT_FALSE(plain->byte_addressable());
        EXPECT_FALSE(plain->copy_on_write);

        const auto standing_in = discover(path, {.tmpfs_is_nvram = true});
        ASSERT_TRUE(standing_in);
        EXPECT_EQ(standing_in->kind, medium::nvram);
        EXPECT_EQ(standing_in->domain, persistence_domain::memory_controller);
        EXPECT_TRUE(standing_in->byte_addressable());
        EXPECT_TRUE(standing_in->lines(100).write_back_needed);
    }
}

TEST(Storage, TheNvramOptionChangesNothingElsewhere) {
    const scratch_directory scratch;
    const auto plain = discover(scratch.path()), standing_in = discover(scratch.path(), {.tmpfs_is_nvram = true});
    ASSERT_TRUE(plain && standing_in);
    if (plain->kind == medium::tmpfs) GTEST_SKIP() << "the scratch directory is on tmpfs";
    EXPECT_EQ(standing_in->kind, plain->kind);
    EXPECT_EQ(standing_in->file_system, plain->file_system);
}

TEST(Storage, DiscoveryLeavesNothingBehind) {
    const scratch_directory scratch;
    ASSERT_TRUE(discover(scratch.path()));
    EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(Storage, DiscoveryKeepsTheLockOfAFileThatThisProcessHolds) {
    const scratch_directory scratch;
    auto holder = *test::create_file(scratch.file("pool"), 0600);
    ASSERT_TRUE(holder.lock());
    const auto directory = discover(scratch.path()), found = discover(scratch.file("pool"));
    ASSERT_TRUE(directory);
    if (directory->kind != medium::dax) {
        EXPECT_TRUE(found) << "nothing needs to be opened where DAX is out of the question";
    }
    const int status = test::run_in_child([&] {
        auto opened = file::open(scratch.file("pool"), file::access::read_write);
        return opened && !opened->lock() ? 0 : 1;
    });
    EXPECT_TRUE(test::exited_with(status, 0)) << status;
}

TEST(Storage, WhatIsMissingOrNoFileIsAnError) {
    const scratch_directory scratch;
    const auto missing = discover(scratch.file("no"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, errc::not_found);
    EXPECT_EQ(missing.error().path, scratch.file("no"));
    const auto device = discover("/dev/null");
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code, errc::invalid_argument);
}

TEST(Storage, ADirectoryThatHoldsNoFilesIsStillDescribed) {
    const auto found = discover("/proc");
    if (::getuid() != 0) {
        ASSERT_FALSE(found);
        EXPECT_EQ(found.error().code, errc::permission_denied);
        return;
    }
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->kind, medium::file);
    EXPECT_FALSE(found->map_sync);
}

TEST(Storage, MediaAndDomainsHaveTheNamesOfTheRecords) {
    EXPECT_EQ(name_of(medium::file), "file");
    EXPECT_EQ(name_of(medium::tmpfs), "tmpfs");
    EXPECT_EQ(name_of(medium::nvram), "nvram");
    EXPECT_EQ(name_of(medium::dax), "dax");
    EXPECT_EQ(name_of(persistence_domain::cpu_cache), "cpu_cache");
    EXPECT_EQ(name_of(persistence_domain::memory_controller), "memory_controller");
    EXPECT_EQ(name_of(persistence_domain::unknown), "unknown");
}

}  // namespace
}  // namespace holdfast::persist
