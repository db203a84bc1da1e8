#include <holdfast/persist/copy_file.hpp>
#include <holdfast/persist/counters.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/lock_table.hpp>
#include <holdfast/persist/missing_device.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/persist/storage.hpp>
#include <holdfast/persist/test_device.hpp>

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/mount.h>

namespace holdfast::persist {
namespace {

namespace fs = std::filesystem;
using test::stand_in_for_device;
constexpr site_id here = site::pool_format;
constexpr std::uint64_t device_bytes = 8 << 20;

errc code_of(const auto& failed) {
    EXPECT_FALSE(failed.has_value());
    return failed ? errc::io : failed.error().code;
}

file prepared(const std::string& path) {
    auto made = file::prepare(path, 0600);
    EXPECT_TRUE(made.has_value());
    EXPECT_TRUE(made->allocate(device_bytes));
    return std::move(*made);
}

void write_text(file& to, std::uint64_t offset, const std::string& text) {
    ASSERT_TRUE(to.write_at(offset, text.data(), text.size(), here));
}

std::string text_at(const file& from, std::uint64_t offset, std::size_t bytes) {
    std::string text(bytes, '?');
    EXPECT_TRUE(from.read_at(offset, text.data(), bytes));
    return text;
}

/// A tree as sysfs has it, in which /dev/null is a device-dax.
class fake_sysfs {
public:
    explicit fake_sysfs(const std::string& parent, const std::string& subsystem = "bus/dax") {
        const fs::path root(directory_.path());
        device_ = root / parent / "dax0.0";
        fs::create_directories(device_);
        fs::create_directories(root / subsystem);
        fs::create_directories(root / "dev/char");
        fs::create_directory_symlink(device_, root / "dev/char/1:3");
        fs::create_directory_symlink(root / subsystem, device_ / "subsystem");
        write("size", "1073741824");
        write("align", "2097152");
    }
    void write(const std::string& attribute, const std::string& text) {
        std::ofstream(device_ / attribute) << text << "\n";
    }
    void write_region(const std::string& domain) {
        std::ofstream(device_.parent_path() / "persistence_domain") << domain << "\n";
    }
    std::optional<device_description> null_device() const {
        return find_device("/dev/null", directory_.path());
    }
    const std::string& root() const { return directory_.path(); }

private:
    test::scratch_directory directory_;
    fs::path device_;
};

TEST(DeviceMemory, IsKnownByWhatTheKernelSaysOfIt) {
    fake_sysfs sys("devices/platform/ndbus0/region0");
    const auto found = sys.null_device();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->name, "dax0.0");
    EXPECT_EQ(found->bytes, 1u << 30);
    EXPECT_EQ(found->alignment, 2u << 20);
    EXPECT_TRUE(found->is_persistent);
    EXPECT_FALSE(fake_sysfs("devices/platform/ndbus0/region0", "class/mem").null_device()) << "another kind of device";
    EXPECT_FALSE(find_device(sys.root(), sys.root())) << "no character device";
    sys.write("align", "");
    EXPECT_EQ(sys.null_device()->alignment, 2u << 20) << "a kernel that does not say";
}

TEST(DeviceMemory, OfAChunkIsNamedByItsNodeAndItsKey) {
    const test::scratch_directory directory;
    const fs::path root(directory.path());
    fs::create_directories(root / "devices/virtual/misc/holdfast");
    fs::create_directories(root / "dev/char");
    fs::create_directory_symlink(root / "devices/virtual/misc/holdfast", root / "dev/char/1:3");
    for (const char* const path : {"/dev/null:29", "/dev/null:0x1d"}) {
        const auto found = find_device(path, directory.path());
        ASSERT_TRUE(found && found->chunk) << path;
        EXPECT_EQ(found->node, "/dev/null");
        EXPECT_EQ(found->chunk->key, 29u);
        EXPECT_TRUE(found->is_persistent);
        EXPECT_EQ(discover(path, {.sysfs_root = directory.path()})->kind, medium::dax);
    }
    for (const char* const path : {"/dev/null:", "/dev/null:0", "/dev/null:x", "/dev/null:1 ", "/dev/null", "null:1",
                                   "/dev/null:0x", "/dev/null:-1", "/dev/zero:1", "/dev/null:18446744073709551616"})
        EXPECT_FALSE(find_device(path, directory.path())) << path;
    EXPECT_FALSE(find_device("/dev/null:1")) << "another device";
}

TEST(DeviceMemory, OfOrdinaryMemoryIsNoPersistentMedium) {
    const fake_sysfs sys("devices/platform/hmem.0");
    const auto found = discover("/dev/null", {.sysfs_root = sys.root()});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kind, medium::tmpfs);
    EXPECT_FALSE(found->map_sync);
}

TEST(DeviceMemory, HasTheDomainOfItsRegion) {
    fake_sysfs sys("devices/platform/ndbus0/region0");
    sys.write_region("cpu_cache");
    for (const auto& found : {discover("/dev/null", {.sysfs_root = sys.root()}),
                              discover_for_new("/dev/null", {.sysfs_root = sys.root()})}) {
        ASSERT_TRUE(found);
        EXPECT_EQ(found->kind, medium::dax);
        EXPECT_TRUE(found->map_sync);
        EXPECT_EQ(found->domain, persistence_domain::cpu_cache);
        EXPECT_EQ(found->file_system, "device dax0.0");
    }
}

TEST(DeviceMemory, ThatIsEmptyHoldsNothingToOpen) {
    const stand_in_for_device device;
    const auto opened = file::open(device.path(), file::access::read_write);
    ASSERT_EQ(code_of(opened), errc::not_found);
    EXPECT_EQ(opened.error().found, "nothing on it");
}

TEST(DeviceMemory, IsMadeUseOfWhenItIsPublished) {
    const stand_in_for_device device;
    {
        file made = prepared(device.path());
        EXPECT_TRUE(made.is_device());
        EXPECT_EQ(made.size().value(), device_bytes);
        const std::string across(200, 'x');
        write_text(made, device_memory::name_bytes - 100, across);
        EXPECT_EQ(text_at(made, device_memory::name_bytes - 100, 200), across);
        EXPECT_EQ(device.raw(device_memory::name_bytes - 100, 100), std::string(100, '\0'));
        EXPECT_EQ(code_of(file::open(device.path(), file::access::read_only)), errc::busy);
        ASSERT_TRUE(made.publish());
    }
    const auto opened = file::open(device.path(), file::access::read_only);
    ASSERT_TRUE(opened);
    EXPECT_EQ(text_at(*opened, device_memory::name_bytes - 100, 200), std::string(200, 'x'));
}

TEST(DeviceMemory, IsEmptyAgainWhereNothingWasPublished) {
    const stand_in_for_device device;
    write_text(*std::make_unique<file>(prepared(device.path())), 0, "never published");
    EXPECT_EQ(code_of(file::open(device.path(), file::access::read_only)), errc::not_found);
    EXPECT_TRUE(file::prepare(device.path(), 0600));
}

TEST(DeviceMemory, WithSomethingOnItIsNotWrittenOver) {
    const stand_in_for_device device;
    device.write_raw(device_memory::name_bytes - 1, "x");
    const auto made = file::prepare(device.path(), 0600);
    ASSERT_EQ(code_of(made), errc::already_exists);
    EXPECT_NE(made.error().remedy.find("erase"), std::string::npos);
    EXPECT_EQ(device.raw(device_memory::name_bytes - 1, 1), "x");
}

TEST(DeviceMemory, IsMadeUseOfByOneAtATime) {
    const stand_in_for_device device;
    const file first = prepared(device.path());
    EXPECT_EQ(code_of(file::prepare(device.path(), 0600)), errc::busy);
}

TEST(DeviceMemory, ShowsNothingOfWhatWasOnItBefore) {
    const stand_in_for_device device;
    device.write_raw(device_bytes - 8, "old data");
    const file made = prepared(device.path());
    EXPECT_EQ(text_at(made, device_bytes - 8, 8), std::string(8, '\0'));
}

TEST(DeviceMemory, GrowsWithZerosUpToItsSize) {
    const stand_in_for_device device;
    device.write_raw(0, "name");
    device.write_raw(6 << 20, "left behind");
    auto opened = file::open(device.path(), file::access::read_write);
    ASSERT_TRUE(opened);
    ASSERT_TRUE(opened->shrink(4 << 20));
    EXPECT_EQ(opened->size().value(), 4u << 20);
    char byte = 0;
    EXPECT_EQ(code_of(opened->read_at(4 << 20, &byte, 1)), errc::truncated);
    ASSERT_TRUE(opened->allocate(device_bytes));
    EXPECT_EQ(text_at(*opened, 6 << 20, 11), std::string(11, '\0'));
    const auto more = opened->allocate(device_bytes + 4096);
    ASSERT_EQ(code_of(more), errc::no_space);
    EXPECT_EQ(more.error().found, std::to_string(device_bytes) + " bytes");
}

std::uint64_t nobody_knows(const file&) { return 0; }

TEST(DeviceMemory, IsErasedDurablyAndOnlyAlone) {
    const stand_in_for_device device;
    device.write_raw(0, "HOLDFAST");
    {
        auto held = file::open_locked(device.path(), file::access::read_write);
        ASSERT_TRUE(held);
        EXPECT_EQ(code_of(file::erase_device(device.path(), nobody_knows)), errc::busy);
    }
    const auto before = detail::this_thread;
    ASSERT_TRUE(file::erase_device(device.path(), nobody_knows));
    EXPECT_GE((detail::this_thread - before).fences, 1u);
    EXPECT_EQ(device.raw(0, 8), std::string(8, '\0'));
    const auto text = device.file("a file");
    { std::ofstream(text) << "precious"; }
    EXPECT_EQ(code_of(file::erase_device(text, nobody_knows)), errc::invalid_argument);
    EXPECT_EQ(code_of(file::erase_device("/dev/dax9.9", nobody_knows)), errc::not_found);
}

TEST(DeviceMemory, WritesBackEveryLineThatIsSyncedAndWaitsForAFence) {
    const stand_in_for_device device;
    file made = prepared(device.path());
    auto before = detail::this_thread;
    const std::string text(4096, 'x');
    const iovec piece{const_cast<char*>(text.data()), text.size()};
    ASSERT_TRUE(made.write_durable(1 << 20, {&piece, 1}, here));
    auto spent = detail::this_thread - before;
    EXPECT_EQ(spent.write_backs, 64u);
    EXPECT_EQ(spent.fences, 1u);
    before = detail::this_thread;
    ASSERT_TRUE(made.sync(here));
    spent = detail::this_thread - before;
    EXPECT_EQ(spent.write_backs, device_bytes / 64) << "whoever stored to them";
    EXPECT_EQ(spent.fences, 1u);
    EXPECT_EQ(spent.syncs, 0u) << "there is nobody to ask";
}

TEST(DeviceMemory, IsMappedInPagesOfItsOwnSize) {
    const stand_in_for_device device;
    device.write_raw(0, "name");
    const auto opened = file::open(device.path(), file::access::read_write);
    ASSERT_TRUE(opened);
    constexpr std::uint64_t alignment = 2 << 20;
    constexpr std::uint64_t page = 4096;
    auto mapped = mapping::map(*opened, 0, (16 << 20) + page, (2 << 20) + page, mapping::kind::shared);
    ASSERT_TRUE(mapped);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped->data()) % alignment, 0u);
    EXPECT_EQ(mapped->reserved() % alignment, 0u);
    EXPECT_EQ(mapped->size(), (2u << 20) + page);
    ASSERT_TRUE(mapped->extend(*opened, (4 << 20) + page));
    mapped->data()[(4 << 20) + page - 1] = std::byte{7};
    mapped->retract((2 << 20) + page);
    EXPECT_EQ(mapped->size(), (2u << 20) + page);
    EXPECT_EQ(device.raw((4 << 20) + page - 1, 1), "\7");
    const auto misplaced = mapping::map(*opened, 0x200000001000, 16 << 20, page, mapping::kind::shared);
    EXPECT_EQ(code_of(misplaced), errc::invalid_argument);
}

TEST(DeviceMemory, MappedPrivatelyIsACopyThatIsMadeAnew) {
    const stand_in_for_device device;
    device.write_raw(0, "name");
    auto opened = file::open(device.path(), file::access::read_write);
    ASSERT_TRUE(opened);
    auto mapped = mapping::map(*opened, 0, 8 << 20, 8 << 20, mapping::kind::private_copy);
    ASSERT_TRUE(mapped);
    mapped->data()[1 << 20] = std::byte{'p'};
    EXPECT_EQ(device.raw(1 << 20, 1), std::string(1, '\0'));
    EXPECT_FALSE(mapped->give_back(1 << 20, 4096)) << "there is nothing below it";
    write_text(*opened, 1 << 20, "m");
    EXPECT_EQ(mapped->data()[1 << 20], std::byte{'p'});
    ASSERT_TRUE(mapped->copy_anew(*opened));
    EXPECT_EQ(mapped->data()[1 << 20], std::byte{'m'});
}

TEST(DeviceMemory, IsCopiedToAFileAndBack) {
    const stand_in_for_device device;
    device.write_raw(0, "name");
    device.write_raw(5 << 20, "contents");
    const std::string copy = device.file("copy");
    ASSERT_TRUE(copy_to(file::open(device.path(), file::access::read_only).value(), copy));
    ASSERT_TRUE(file::erase_device(device.path(), nobody_knows));
    device.write_raw(5 << 20, "something else");
    const auto from = file::open(copy, file::access::read_only);
    ASSERT_TRUE(from);
    EXPECT_EQ(from->size().value(), device_bytes);
    ASSERT_TRUE(copy_to(*from, device.path()));
    const auto opened = file::open(device.path(), file::access::read_only);
    ASSERT_TRUE(opened);
    EXPECT_EQ(text_at(*opened, 0, 4), "name");
    EXPECT_EQ(text_at(*opened, 5 << 20, 14), std::string("contents") + std::string(6, '\0'));
}

TEST(DeviceMemory, IsNotTheForkedChilds) {
    const stand_in_for_device device;
    file made = prepared(device.path());
    const int status = test::run_in_child([&] {
        char byte = 0;
        return made.read_at(1 << 20, &byte, 1) || made.write_at(1 << 20, &byte, 1, here) || made.sync(here) ? 1 : 0;
    });
    EXPECT_TRUE(test::exited_with(status, 0));
    write_text(made, 1 << 20, "still there");
}

TEST(DeviceMemory, IsCopiedAsFarAsItIsAskedFor) {
    const stand_in_for_device device;
    device.write_raw(0, "name");
    device.write_raw(5 << 20, "behind");
    const std::string copy = device.file("copy");
    ASSERT_TRUE(copy_to(file::open(device.path(), file::access::read_only).value(), copy, {.bytes = 1 << 20}));
    const auto made = file::open(copy, file::access::read_only);
    EXPECT_EQ(made->size().value(), 1u << 20);
    EXPECT_EQ(text_at(*made, 0, 4), "name");
}

TEST(DeviceMemory, SyncsTheLinesOfTheRangeThatIsInUse) {
    const stand_in_for_device device;
    device.write_raw(0, "name");
    auto opened = file::open(device.path(), file::access::read_write);
    ASSERT_TRUE(opened);
    const auto spent = [&](std::uint64_t offset, std::uint64_t bytes) {
        const auto before = detail::this_thread;
        EXPECT_TRUE(opened->sync(here, offset, bytes));
        return (detail::this_thread - before).write_backs;
    };
    EXPECT_EQ(spent(1 << 20, 1 << 20), (1u << 20) / 64);
    ASSERT_TRUE(opened->shrink(4 << 20));
    EXPECT_EQ(spent(3 << 20, 2 << 20), (1u << 20) / 64);
    EXPECT_EQ(spent(5 << 20, 1 << 20), 0u);
}

TEST(DeviceMemory, IsHeldByThisProcessThroughWhateverNode) {
    // Two nodes of one device, as /dev/null is reached by: /dev may not be written to.
    struct stat one {}, other {};
    one.st_mode = other.st_mode = S_IFCHR | 0600;
    one.st_rdev = other.st_rdev = 0x1234;
    one.st_ino = 1, other.st_ino = 2;
    EXPECT_EQ(detail::file_identity(one), detail::file_identity(other));
    other.st_rdev = 0x1235;
    EXPECT_NE(detail::file_identity(one), detail::file_identity(other));
    one.st_mode = other.st_mode = S_IFREG | 0600;
    EXPECT_NE(detail::file_identity(one), detail::file_identity(other));
}

TEST(DeviceMemory, HasOneIdentityInEveryBoot) {
    const stand_in_for_device device;
    device.write_raw(0, "name");
    const auto place = file::open(device.path(), file::access::read_only)->place().value();
    EXPECT_EQ(place.device, 0u);
    EXPECT_NE(place.inode, 0u);
    EXPECT_EQ(place.born_ns, 0u);
}

TEST(MissingDevice, IsNotWhatHasANameInTheMemoryOfDevShm) {
    constexpr int right = 0, wrong = 1, not_allowed = 2;
    const int status = test::run_in_child([] {
        // A /dev of its own, in which shm is a directory like others, as sandboxes have it.
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
            return not_allowed;
        if (::mount("none", "/dev", "tmpfs", 0, nullptr) != 0) return not_allowed;
        fs::create_directories("/dev/shm/caches");
        fs::create_directories("/dev/net");
        for (const char* const memory : {"/dev/shm/pool", "/dev/shm/caches/pool", "/dev/net/../shm/pool"})
            if (missing_device(memory)) return wrong;
        for (const char* const device : {"/dev/dax9.9", "/dev/net/pool", "/dev/shm/../pool"})
            if (!missing_device(device)) return wrong;
        return right;
    });
    if (test::exited_with(status, not_allowed)) GTEST_SKIP() << "this process may not make a namespace of mounts";
    EXPECT_TRUE(test::exited_with(status, right));
}

}  // namespace
}  // namespace holdfast::persist
