// What an opening believes after a life at `on_power_fail`: a sealed save, or the log in memory, and which of the two.
#include <holdfast/pool/armed_pool_test_support.hpp>

#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/shadow_log.hpp>
#include <holdfast/powerfail/test_handler.hpp>

#include <filesystem>
#include <string>

namespace holdfast {
namespace {

using namespace holdfast::test;
using powerfail::shadow_log;

/// A pool in which 5 is home, and 6 only in the log; its process is gone.
class SavedPool : public armed_pool_test {
protected:
    enum class end : std::uint8_t { killed, saved, resumed };
    void leave(end how) {
        auto pool = make();
        ASSERT_EQ(pool->durability(), level::on_power_fail);
        commit_word(*pool, 5);
        commit_word(*pool, 6, false);
        if (how != end::killed) handler_.fail_power(how == end::resumed);
        pool->abandon();
    }
    /// Of the copies that hold, the newer one.
    format::superblock in_force() const {
        return read_superblock(persist::file::open(path(), persist::file::access::read_only).value()).value();
    }
    shadow_log in_memory() const { return shadow_log::find(in_force()).value(); }
    static std::byte* log_of(const shadow_log& shadow) {
        return reinterpret_cast<std::byte*>(&shadow.header()) + format::shadow_log_offset;
    }
    void expect_refused(const std::string& because) const {
        const auto pool = open();
        ASSERT_FALSE(pool);
        EXPECT_EQ(pool.error().code, errc::not_durable);
        EXPECT_NE(pool.error().text().find(because), std::string::npos) << pool.error().text();
    }

    powerfail::test::test_handler handler_;
};

TEST_F(SavedPool, ASealedSaveAndTheLogInMemoryOfTheSameBootHaveTheSameCommits) {
    for (const bool keeps_memory : {true, false}) {
        leave(end::saved);
        ASSERT_EQ(in_force().state, format::pool_state::saved);
        if (!keeps_memory) shadow_log::remove(in_force());
        EXPECT_EQ(found(), "6") << keeps_memory;
        std::filesystem::remove(path());
    }
}

TEST_F(SavedPool, ASealThatFailsItsChecksumIsNoneAndTheLogInMemoryCounts) {
    leave(end::saved);
    damage_superblock(path(), static_cast<unsigned>(in_force().generation % 2));
    ASSERT_EQ(in_force().state, format::pool_state::dirty);
    EXPECT_EQ(found(), "6");
}

TEST_F(SavedPool, ASealThatFailsItsChecksumIsNoneAndInAnotherBootThePoolIsRefused) {
    leave(end::saved);
    damage_superblock(path(), static_cast<unsigned>(in_force().generation % 2));
    stand_ins_now.boot_id = "tuesday";
    expect_refused("no save of it was sealed");
}

TEST_F(SavedPool, ALogInMemoryOfAnotherBootIsNotBelieved) {
    leave(end::killed);
    ASSERT_TRUE(shadow_log::find(in_force()));
    stand_ins_now.boot_id = "tuesday";
    expect_refused("expected boot tuesday, found boot monday");
}

TEST_F(SavedPool, ALogInMemoryThatIsAnotherPoolsIsNotBelieved) {
    leave(end::killed);
    {
        const shadow_log memory = in_memory();
        memory.header().pool_id ^= 1;
    }
    expect_refused("/dev/shm");
}

TEST_F(SavedPool, ALogInMemoryThatWasWithdrawnIsNotBelieved) {
    leave(end::killed);
    {
        const shadow_log memory = in_memory();
        memory.header().sealed = 0;
    }
    expect_refused("/dev/shm");
}

TEST_F(SavedPool, ASaveThatWasTakenBackIsNoneAndTheLogInMemoryCounts) {
    leave(end::resumed);
    ASSERT_EQ(in_force().state, format::pool_state::dirty);
    EXPECT_EQ(found(), "6");
}

TEST_F(SavedPool, ASaveThatWasTakenBackIsNoneAndInAnotherBootThePoolIsRefused) {
    leave(end::resumed);
    stand_ins_now.boot_id = "tuesday";
    expect_refused("no save of it was sealed");
}

TEST_F(SavedPool, ASealOfWhichTheMagicIsMissingIsOneThatIsBeingTakenBack) {
    leave(end::saved);
    const char no_magic[sizeof format::magic] = {};
    write_bytes(path(), format::superblock_offset[in_force().generation % 2], no_magic, sizeof no_magic);
    EXPECT_EQ(found(), "6") << "the log in memory counts";
}

TEST_F(SavedPool, ASealedSaveOpensInAnyBootWithoutMemory) {
    leave(end::saved);
    shadow_log::remove(in_force());
    stand_ins_now.boot_id = "tuesday";
    EXPECT_EQ(found(), "6");
}

TEST_F(SavedPool, AnInspectionReadsASealedSaveWithoutMemory) {
    leave(end::saved);
    shadow_log::remove(in_force());
    const auto seen = open_pool::inspect(path());
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(*last_word(**seen), 6u);
}

}  // namespace
}  // namespace holdfast
