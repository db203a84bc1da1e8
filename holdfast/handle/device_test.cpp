// Pools on devices of persistent memory: each engine, kills, growth, copies, and what stands in the way of making one.
#include <holdfast/engine/cc_htm.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/handle/check.hpp>
#include <holdfast/handle/device_test_support.hpp>
#include <holdfast/handle/line_pool.hpp>
#include <holdfast/handle/repair.hpp>
#include <holdfast/persist/addresses.hpp>
#include <holdfast/persist/copy_file.hpp>
#include <holdfast/persist/test_device.hpp>
#include <holdfast/pool/raw_copy.hpp>

#include <array>

namespace holdfast {
namespace {

using namespace holdfast::test;
using persist::test::stand_in_for_device;

template <class Engine>
class DevicePool : public testing::Test {
protected:
    using pool = basic_pool<Engine>;

    void create() { pool_.emplace(pool::create(device_.path(), on_device()).value()); }
    void open() { pool_.emplace(pool::open(device_.path(), on_device()).value()); }
    numbers<Engine, 512>& root() { return *pool_->template root<numbers<Engine, 512>>("numbers").value(); }
    void commit(std::uint64_t value) {
        auto& all = root();
        pool_->atomically([&] { all.set_all(value); }).value();
    }
    bool holds(std::uint64_t value) {
        auto& all = root();
        return pool_->atomically([&] { return all.are_all(value); }).value();
    }

    /// What an object abandons is in this process's memory still; a killed process leaves what is on the device.
    void check_life_of_its_own_process() {
        create();
        commit(1);
        pool_->close().value();
        pool_.reset();
        const int status = persist::test::run_in_child([this] {
            open();
            auto& all = root();
            for (std::uint64_t value = 2; value <= 200; ++value) pool_->atomically([&] { all.set_all(value); }).value();
            return ::raise(SIGKILL);
        });
        ASSERT_TRUE(WIFSIGNALED(status));
        open();
        EXPECT_TRUE(holds(200));
    }

    stand_in_for_device device_;
    std::optional<pool> pool_;
};
TYPED_TEST_SUITE(DevicePool, recovering_engines);

TYPED_TEST(DevicePool, HasWhatWasCommittedWhenItIsOpenedAgain) {
    this->create();
    this->commit(7);
    this->pool_->close().value();
    this->open();
    EXPECT_TRUE(this->holds(7));
    EXPECT_EQ(this->pool_->info().storage.file_system, "device stand-in");
}

TYPED_TEST(DevicePool, HasWhatAKilledProcessCommitted) {
    this->create();
    for (std::uint64_t value = 1; value <= 200; ++value) this->commit(value);
    this->pool_->abandon();
    this->open();
    EXPECT_TRUE(this->holds(200));
    // What recovery found is where a later life looks for it.
    this->commit(201);
    this->pool_->abandon();
    this->open();
    EXPECT_TRUE(this->holds(201));
}

TYPED_TEST(DevicePool, HasWhatALifeOfItsOwnProcessCommitted) {
    this->check_life_of_its_own_process();
}

/// Its homes are apart from the device.
using DevicePoolOfCcHtm = DevicePool<cc_htm>;
TEST_F(DevicePoolOfCcHtm, HasWhatALifeOfItsOwnProcessCommitted) { check_life_of_its_own_process(); }

TYPED_TEST(DevicePool, GrowsWithinTheDevice) {
    this->create();
    this->commit(1);
    this->pool_->grow(8 << 20).value();
    EXPECT_TRUE(this->holds(1));
    const auto more = this->pool_->grow(16 << 20);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, errc::no_space);
    this->commit(2);
    this->pool_->close().value();
    this->open();
    EXPECT_EQ(this->pool_->info().bytes, 8u << 20);
    EXPECT_TRUE(this->holds(2));
}

TYPED_TEST(DevicePool, IsCopiedWhileItIsInUse) {
    this->create();
    this->commit(3);
    const std::string copy = this->device_.file("copy");
    this->pool_->snapshot(copy).value();
    this->commit(4);
    this->pool_->close().value();
    EXPECT_TRUE(check_pool(copy, {}).value().sound());
    // Back to the device, which has to be empty.
    const auto from = persist::file::open(copy, persist::file::access::read_only);
    ASSERT_TRUE(from);
    const auto refused = persist::copy_to(*from, this->device_.path());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::already_exists);
    ASSERT_TRUE(erase_raw(this->device_.path()));
    ASSERT_TRUE(persist::copy_to(*from, this->device_.path()));
    this->open();
    EXPECT_TRUE(this->holds(3));
}

using redo_pool = basic_pool<redo>;

TEST(PoolOnDevice, IsMadeWhereThereIsNoneAndOpenedWhereThereIsOne) {
    const stand_in_for_device device;
    EXPECT_EQ(redo_pool::open(device.path(), on_device()).error().code, errc::not_found);
    redo_pool::open_or_create(device.path(), on_device()).value().close().value();
    redo_pool::open_or_create(device.path(), on_device()).value().close().value();
    const auto again = redo_pool::create(device.path(), on_device());
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, errc::already_exists);
    EXPECT_TRUE(check_pool(device.path(), {}).value().sound());
}

TEST(PoolOnDevice, IsNotMadeInMemoryWhereTheDeviceIsMissing) {
    for (const level durability : {level::process, level::power}) {
        create_options options = on_device();
        options.durability = durability;
        const auto made = redo_pool::open_or_create("/dev/dax9.9", options);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, errc::not_found);
        EXPECT_EQ(made.error().what, "there is no such device");
    }
}

TEST(PoolOnDevice, IsNotMadeBehindALinkToADeviceThatIsMissing) {
    const persist::test::scratch_directory scratch(".");
    const std::string link = scratch.file("link");
    std::filesystem::create_symlink("/dev/dax9.9", link);
    const auto made = redo_pool::open_or_create(link, on_device());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().what, "there is no such device");
}

TEST(PoolOnDevice, TakesAWholeDeviceAndNoMore) {
    const stand_in_for_device device;
    const auto larger = redo_pool::create(device.path(), on_device(16 << 20));
    ASSERT_FALSE(larger);
    EXPECT_EQ(larger.error().code, errc::no_space);
    redo_pool::create(device.path(), on_device(8 << 20)).value().close().value();
}

TEST(PoolOnDevice, LeavesTheDeviceEmptyWhereItsAddressIsTaken) {
    const stand_in_for_device device;
    create_options options = on_device();
    options.base = HOLDFAST_TEST_BASE_ADDRESS + (std::uint64_t{1} << 32);
    const auto taken = persist::address_range::reserve("test", options.base, 4096);
    ASSERT_TRUE(taken);
    EXPECT_EQ(redo_pool::create(device.path(), options).error().code, errc::address_taken);
    redo_pool::create(device.path(), on_device()).value().close().value();
}

TEST(PoolOnDevice, IsWholeOrNotThereWhenItsMakerIsKilled) {
    if (persist::test::emulated()) GTEST_SKIP() << "qemu-user traces no child";
    int kills = 0;
    bool was_made = false;
    for (int call = 0; !was_made; ++call) {
        const stand_in_for_device device(1 << 20);
        const auto make = [&] {
            return redo_pool::create(device.path(), on_device(1 << 20)).value().close().has_value();
        };
        kills += persist::test::killed_at_system_call(call, make) ? 1 : 0;
        const auto opened = redo_pool::open(device.path(), on_device());
        was_made = opened.has_value();
        if (!was_made) {
            ASSERT_EQ(opened.error().code, errc::not_found) << "call " << call << ": " << opened.error().text();
            ASSERT_TRUE(redo_pool::create(device.path(), on_device(1 << 20)));
        }
    }
    EXPECT_GT(kills, 20);
}

std::uint64_t write_backs_of_opening(const std::string& path, level durability) {
    create_options options = on_device();
    options.durability = durability;
    const auto before = persist::detail::this_thread;
    redo_pool::open(path, options).value().abandon();
    return (persist::detail::this_thread - before).write_backs;
}

TEST(PoolOnDevice, IsWrittenBackWhollyAfterALifeThatWasKilled) {
    const stand_in_for_device device;
    constexpr std::uint64_t all_lines = (4 << 20) / 64;
    redo_pool::create(device.path(), on_device()).value().close().value();
    EXPECT_LT(write_backs_of_opening(device.path(), level::power), all_lines / 4) << "clean";
    EXPECT_GE(write_backs_of_opening(device.path(), level::process), all_lines) << "killed at power";
    EXPECT_GE(write_backs_of_opening(device.path(), level::power), all_lines) << "killed at process";
}

TEST(PoolOnDevice, IsWrittenBackWhollyWhenItIsClosedBelowPower) {
    const stand_in_for_device device;
    create_options options = on_device();
    options.durability = level::process;
    auto pool = redo_pool::create(device.path(), options).value();
    const auto before = persist::detail::this_thread;
    pool.close().value();
    EXPECT_GE((persist::detail::this_thread - before).write_backs, (4u << 20) / 64);
}

TEST(PoolOnDevice, IsCopiedAsFarAsItGoes) {
    const stand_in_for_device device;
    redo_pool::create(device.path(), on_device()).value().close().value();
    const std::string copy = device.file("copy");
    const auto from = persist::file::open(device.path(), persist::file::access::read_only);
    EXPECT_EQ(copy_raw(*from, copy).value(), 4u << 20);
    EXPECT_EQ(std::filesystem::file_size(copy), 4u << 20);
    EXPECT_TRUE(check_pool(copy, {}).value().sound());
    // Which of the superblocks is right about the size nobody knows.
    device.write_raw(100, "damage");
    EXPECT_EQ(copy_raw(*from, device.file("other")).value(), 8u << 20);
}

TEST(PoolOnDevice, IsRepairedInAFile) {
    const stand_in_for_device device;
    redo_pool::create(device.path(), on_device()).value().close().value();
    device.write_raw(100, "damage");
    const auto refused = repair_pool(device.path(), {});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().remedy.find("copy"), std::string::npos);
    const std::string copy = device.file("copy");
    ASSERT_TRUE(persist::copy_to(persist::file::open(device.path(), persist::file::access::read_only).value(), copy));
    EXPECT_TRUE(repair_pool(copy, {}).value().all_saved());
    ASSERT_TRUE(erase_raw(device.path()));
    ASSERT_TRUE(persist::copy_to(persist::file::open(copy, persist::file::access::read_only).value(), device.path()));
    EXPECT_TRUE(check_pool(device.path(), {}).value().sound());
}

TEST(PoolOfLinesOnDevice, IsSharedAndHasWhatWasCommitted) {
    const stand_in_for_device device;
    struct pair {
        std::uint64_t first = 0;
        std::uint64_t second = 0;
    };
    using pairs = line_array<pair, 8>;
    create_options options = on_device();
    {
        auto pool = line_pool::create(device.path(), options).value();
        auto& all = *pool.root<pairs>("pairs").value();
        all[3].transact([](pair& active) { active = {1, 2}; });
        pool.abandon();
    }
    auto first = line_pool::open_shared(device.path(), options).value();
    EXPECT_EQ((*first.root<pairs>("pairs").value())[3]->second, 2u);
}

}  // namespace
}  // namespace holdfast
