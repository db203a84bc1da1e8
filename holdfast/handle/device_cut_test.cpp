// What a device of persistent memory has after a power cut: the lines that were written back and fenced, nothing else.
#include <holdfast/engine/redo.hpp>
#include <holdfast/handle/check.hpp>
#include <holdfast/handle/device_test_support.hpp>
#include <holdfast/handle/line_pool.hpp>
#include <holdfast/persist/observer.hpp>
#include <holdfast/persist/test_device.hpp>
#include <holdfast/pool/raw_copy.hpp>
#include <holdfast/pool/superblock.hpp>

#include <fstream>
#include <functional>
#include <mutex>
#include <sstream>

namespace holdfast {
namespace {

using namespace holdfast::test;
using persist::site_id;

/// Follows what reaches the device's medium, through whatever mapping of this process.
class cut_device final : public persist::observer {
public:
    cut_device() : medium_(8 << 20, '\0') { persist::observe(this); }
    ~cut_device() override { persist::observe(nullptr); }

    const std::string& path() const { return device_.path(); }
    std::string file(const std::string& name) const { return device_.file(name); }
    /// The power is cut: what was not durable is lost. Requires: nobody has the device open.
    void cut() const { device_.write_raw(0, medium_); }
    /// What comes next finds an empty device, on which others have left something.
    void leave_remains() {
        medium_.assign(medium_.size(), 'x');
        medium_.replace(0, persist::device_memory::name_bytes, persist::device_memory::name_bytes, '\0');
        device_.write_raw(0, medium_);
    }
    const std::string& medium() const { return medium_; }
    std::function<void()> at_each_fence = [] {};

    void store(const void*, std::size_t, site_id) override {}
    // What is stored behind a write-back and before the fence need not be durable.
    void write_back(const void* begin, std::size_t size, site_id) override { take(begin, size); }
    void stream(const void* home, std::size_t size, site_id) override { take(home, size); }
    void before_fence(site_id) override {}
    void after_fence(site_id) override {
        const std::lock_guard lock(mutex_);
        for (const auto& [offset, bytes] : taken_) medium_.replace(offset, bytes.size(), bytes);
        taken_.clear();
        at_each_fence();
    }
    void file_write(std::uint64_t, const void*, std::size_t, bool, site_id) override {}
    void file_sync(site_id) override {}

private:
    /// Where on the device an address is.
    std::optional<std::uint64_t> offset_of(std::uintptr_t address) const {
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);) {
            if (!line.ends_with(path())) continue;
            std::istringstream words(line);
            std::uintptr_t begin = 0, end = 0;
            std::uint64_t offset = 0;
            std::string mode;
            char dash = 0;
            words >> std::hex >> begin >> dash >> end >> mode >> offset;
            if (begin <= address && address < end && mode.ends_with('s')) return offset + (address - begin);
        }
        return {};
    }
    void take(const void* begin, std::size_t size) {
        const std::lock_guard lock(mutex_);
        const auto first = reinterpret_cast<std::uintptr_t>(begin) / 64 * 64;
        const auto end = (reinterpret_cast<std::uintptr_t>(begin) + size + 63) / 64 * 64;
        if (const auto offset = offset_of(first))
            taken_.emplace_back(*offset, std::string(reinterpret_cast<const char*>(first), end - first));
    }

    persist::test::stand_in_for_device device_;
    std::mutex mutex_;
    std::string medium_;
    std::vector<std::pair<std::uint64_t, std::string>> taken_;
};

create_options small_on_device(level durability = level::power) { return on_device(1 << 20, durability); }

template <class Engine>
bool holds(basic_pool<Engine>& pool, std::uint64_t value) {
    auto& all = *pool.template root<numbers<Engine, 64>>("numbers").value();
    return pool.atomically([&] { return all.are_all(value); }).value();
}
template <class Engine>
void commit(basic_pool<Engine>& pool, std::uint64_t value) {
    auto& all = *pool.template root<numbers<Engine, 64>>("numbers").value();
    pool.atomically([&] { all.set_all(value); }).value();
}

template <class Engine>
class DeviceCut : public testing::Test {
protected:
    using pool_type = basic_pool<Engine>;
    cut_device device_;
};
TYPED_TEST_SUITE(DeviceCut, recovering_engines);

TYPED_TEST(DeviceCut, LosesNothingThatWasCommittedAtPower) {
    {
        auto pool = TestFixture::pool_type::create(this->device_.path(), small_on_device()).value();
        for (std::uint64_t value = 1; value <= 5; ++value) commit(pool, value);
        pool.abandon();
    }
    this->device_.cut();
    const boot_named tuesday("tuesday");
    auto pool = TestFixture::pool_type::open(this->device_.path(), small_on_device()).value();
    EXPECT_TRUE(holds(pool, 5));
    commit(pool, 6);
    pool.abandon();
    this->device_.cut();
    auto again = TestFixture::pool_type::open(this->device_.path(), small_on_device()).value();
    EXPECT_TRUE(holds(again, 6));
}

TYPED_TEST(DeviceCut, LosesNothingOfAPoolThatWasClosedBelowPower) {
    {
        auto pool = TestFixture::pool_type::create(this->device_.path(), small_on_device(level::process)).value();
        commit(pool, 7);
        pool.close().value();
    }
    this->device_.cut();
    const boot_named tuesday("tuesday");
    auto pool = TestFixture::pool_type::open(this->device_.path(), small_on_device()).value();
    EXPECT_TRUE(holds(pool, 7));
}

TYPED_TEST(DeviceCut, LosesNothingOfAKilledLifeThatALaterOneHasSeen) {
    {
        auto pool = TestFixture::pool_type::create(this->device_.path(), small_on_device(level::process)).value();
        commit(pool, 8);
        pool.abandon();
    }
    TestFixture::pool_type::open(this->device_.path(), small_on_device()).value().abandon();
    this->device_.cut();
    const boot_named tuesday("tuesday");
    auto pool = TestFixture::pool_type::open(this->device_.path(), small_on_device()).value();
    EXPECT_TRUE(holds(pool, 8));
}

using redo_pool = basic_pool<redo>;

TEST(DeviceCutOfPool, LeavesANewPoolWhole) {
    cut_device device;
    redo_pool::create(device.path(), small_on_device()).value().abandon();
    device.cut();
    const boot_named tuesday("tuesday");
    redo_pool::open(device.path(), small_on_device()).value().close().value();
    EXPECT_TRUE(check_pool(device.path(), {}).value().sound());
}

TEST(DeviceCutOfPool, LeavesWhatItGrewByInALaterLife) {
    cut_device device;
    redo_pool::create(device.path(), small_on_device()).value().close().value();
    {
        std::ofstream(device.path(), std::ios::in | std::ios::binary).seekp(1 << 20) << std::string(1 << 20, 'x');
        auto pool = redo_pool::open(device.path(), small_on_device()).value();
        pool.grow(2 << 20).value();
        commit(pool, 9);
        pool.abandon();
    }
    device.cut();
    EXPECT_EQ(device.medium().find('x', 1 << 20), std::string::npos) << "left behind by who had the device before";
    const boot_named tuesday("tuesday");
    auto pool = redo_pool::open(device.path(), small_on_device()).value();
    EXPECT_EQ(pool.info().bytes, 2u << 20);
    EXPECT_TRUE(holds(pool, 9));
    pool.close().value();
    EXPECT_TRUE(check_pool(device.path(), {}).value().sound());
}

TEST(DeviceCutOfPool, LeavesACopyWhole) {
    cut_device device;
    const std::string copy = device.file("copy");
    {
        auto pool = redo_pool::create(device.path(), small_on_device()).value();
        commit(pool, 10);
        pool.close().value();
    }
    copy_raw(persist::file::open(device.path(), persist::file::access::read_only).value(), copy).value();
    device.leave_remains();
    copy_raw(persist::file::open(copy, persist::file::access::read_only).value(), device.path()).value();
    device.cut();
    EXPECT_EQ(device.medium().substr(0, 1 << 20).find("xxxxxxxx"), std::string::npos);
    auto pool = redo_pool::open(device.path(), small_on_device()).value();
    EXPECT_TRUE(holds(pool, 10));
}

/// The generations of the superblocks that a cut would leave: 0 for none.
std::pair<std::uint64_t, std::uint64_t> generations_in(const std::string& medium) {
    format::superblock copies[2] = {};
    for (const unsigned copy : {0u, 1u})
        std::memcpy(&copies[copy], medium.data() + format::superblock_offset[copy], sizeof copies[copy]);
    return {copies[0].generation, copies[1].generation};
}

TEST(DeviceCutOfPool, NeverLeavesTheOlderSuperblockAlone) {
    // The newer one is now in the first place, now in the second.
    for (const int lives : {1, 2}) {
        cut_device device;
        const std::string copy = device.file("copy");
        redo_pool::create(device.path(), small_on_device(level::process)).value().abandon();
        if (lives == 2) redo_pool::open(device.path(), small_on_device(level::process)).value().abandon();
        copy_raw(persist::file::open(device.path(), persist::file::access::read_only).value(), copy).value();
        const auto newest = read_superblock(*persist::file::open(copy, persist::file::access::read_only))->generation;
        int alone = 0;
        device.at_each_fence = [&] {
            const auto [first, second] = generations_in(device.medium());
            if (first == 0 && second == 0) return;
            EXPECT_TRUE(first == newest || second == newest) << first << " " << second;
            if (first == 0 || second == 0) ++alone;
        };
        erase_raw(device.path()).value();
        EXPECT_EQ(alone, 1) << "while it is erased";
        copy_raw(persist::file::open(copy, persist::file::access::read_only).value(), device.path()).value();
        EXPECT_EQ(alone, 2) << "while it is copied to";
        device.at_each_fence = [] {};
    }
}

TEST(DeviceCutOfPool, LeavesWhatAKilledSharerStoredAndTheLastOneClosed) {
    cut_device device;
    struct pair {
        std::uint64_t first = 0;
        std::uint64_t second = 0;
    };
    using pairs = line_array<pair, 8>;
    {
        auto pool = line_pool::create(device.path(), small_on_device()).value();
        static_cast<void>(pool.root<pairs>("pairs").value());
        pool.close().value();
    }
    auto last = line_pool::open_shared(device.path(), small_on_device()).value();
    // Its lines are not written back, as far as this process's observer can see.
    const int status = persist::test::run_in_child([&] {
        auto pool = line_pool::open_shared(device.path(), small_on_device()).value();
        (*pool.root<pairs>("pairs").value())[3].transact([](pair& active) { active = {1, 2}; });
        return ::raise(SIGKILL);
    });
    ASSERT_TRUE(WIFSIGNALED(status));
    last.close().value();
    device.cut();
    const boot_named tuesday("tuesday");
    auto pool = line_pool::open(device.path(), small_on_device()).value();
    EXPECT_EQ((*pool.root<pairs>("pairs").value())[3]->second, 2u);
}

}  // namespace
}  // namespace holdfast
