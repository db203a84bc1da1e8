// Pools whose logs the kernel module saves: what an opening finds in the module's region, and what it believes of it.
#include <holdfast/pool/armed_pool_test_support.hpp>

#include <holdfast/log/replay.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/kernel_module.hpp>
#include <holdfast/powerfail/module_handler.hpp>
#include <holdfast/powerfail/test_handler.hpp>
#include <holdfast/powerfail/test_module.hpp>

#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

namespace holdfast {
namespace {

using namespace holdfast::test;
using powerfail::module_handler;
using powerfail::test::test_module;

class ModuleSave : public armed_pool_test {
protected:
    ModuleSave() { powerfail::use_handler(&handler_); }
    ~ModuleSave() override { powerfail::use_handler(nullptr); }
    /// An armed life that ends with its machine: a commit at home, one only in the log.
    void live_until_the_power_fails() {
        auto pool = make();
        ASSERT_EQ(pool->durability(), level::on_power_fail) << handler_.last_decline();
        commit_word(*pool, 5);
        commit_word(*pool, 6, false);
        module_.fail_power();
        pool->abandon();
        begin_next_boot();
    }
    /// A killed life with one commit, which the next opening has replayed. Returns what the module saved of it.
    std::map<std::uint64_t, test_module::save> saves_of_a_life_before() {
        auto pool = make();
        commit_word(*pool, 5, false);
        module_.fail_power();
        auto saves = module_.saves;
        pool->abandon();
        EXPECT_EQ(found(), "5");
        return saves;
    }

    test_module module_;
    module_handler handler_;
};

TEST_F(ModuleSave, WithoutAModuleAPoolRunsAtPower) {
    powerfail::module_calls_now.open = [](const char*) {
        errno = ENOENT;
        return -1;
    };
    EXPECT_EQ(code_of(handler_.ready()), errc::not_found);
    EXPECT_EQ(make()->durability(), level::power);
    EXPECT_NE(handler_.last_decline().find("/dev/holdfast"), std::string::npos) << handler_.last_decline();
}

TEST_F(ModuleSave, WhatTheModuleSavedIsReplayedInTheNextBootAndAcknowledged) {
    live_until_the_power_fails();
    ASSERT_EQ(module_.saves.size(), 1u);
    EXPECT_EQ(found(), "6");
    EXPECT_TRUE(module_.saves.empty());
    EXPECT_TRUE(module_.areas.empty()) << "the region's room is not used up by pools";
    EXPECT_EQ(found(), "6");
}

TEST_F(ModuleSave, ASaveIsAcknowledgedWhenThePoolHasItAndSaysSo) {
    live_until_the_power_fails();
    std::vector<std::byte> then;
    module_.when_acknowledged = [&] { then = bytes_of(path()); };
    EXPECT_EQ(found(), "6");
    // The machine went down at that moment, and kept what it had: nothing but the pool is needed.
    ASSERT_FALSE(then.empty());
    write_bytes(path(), 0, then.data(), then.size());
    const auto states = {superblock_copy(path(), 0).state, superblock_copy(path(), 1).state};
    EXPECT_EQ(std::count(states.begin(), states.end(), format::pool_state::saved), 1);
    auto opened = open();
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ((*opened)->recovery().applied, 1u);
    EXPECT_EQ(*last_word(**opened), 6u);
}

TEST_F(ModuleSave, ASaveIsThereAgainAfterAnOpeningThatFails) {
    live_until_the_power_fails();
    auto other = small_nvram_pool(level::power);
    other.layout = "of another program";
    EXPECT_EQ(code_of(open(other)), errc::layout_mismatch);
    EXPECT_EQ(module_.saves.size(), 1u);
    EXPECT_EQ(found(), "6");
}

TEST_F(ModuleSave, ASaveWhosePoolIsGoneIsListedAndCanBeForgotten) {
    live_until_the_power_fails();
    std::filesystem::remove(path());
    auto module = powerfail::kernel_module::open();
    ASSERT_TRUE(module) << module.error().text();
    const auto saves = module->saves();
    ASSERT_EQ(saves.size(), 1u);
    EXPECT_EQ(saves[0].name.key, module_.saves.begin()->first);
    EXPECT_EQ(saves[0].bytes, module_.saves.begin()->second.bytes.size());
    EXPECT_EQ(code_of(module->name_of_save(saves[0].name.key + 1)), errc::not_found);
    ASSERT_TRUE(module->acknowledge(saves[0].name));
    EXPECT_TRUE(module->saves().empty());
    EXPECT_TRUE(module_.areas.empty());
}

TEST_F(ModuleSave, AnOpeningThatIsKilledBeforeItAcknowledgesIsRepeated) {
    live_until_the_power_fails();
    const auto saves = module_.saves;
    const auto before = bytes_of(path());
    EXPECT_EQ(found(), "6");
    // Nothing of it was durable: the pool as it was, and the save.
    write_bytes(path(), 0, before.data(), before.size());
    module_.saves = saves;
    EXPECT_EQ(found(), "6");
    // All of it was, but the acknowledgement: the save is of no use, and the next life that is armed takes its place.
    module_.saves = saves;
    auto pool = open(armed());
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ((*pool)->durability(), level::on_power_fail) << handler_.last_decline();
    EXPECT_TRUE(module_.saves.empty());
    commit_word(**pool, 8, false);
    module_.fail_power();
    (*pool)->abandon();
    begin_next_boot("wednesday");
    EXPECT_EQ(found(), "8");
}

TEST_F(ModuleSave, AnInspectionSeesWhatWasSavedAndLeavesIt) {
    live_until_the_power_fails();
    const auto before = bytes_of(path());
    {
        auto seen = open_pool::inspect(path());
        ASSERT_TRUE(seen) << seen.error().text();
        EXPECT_EQ(*last_word(**seen), 6u);
    }
    EXPECT_EQ(bytes_of(path()), before);
    EXPECT_EQ(module_.saves.size(), 1u);
    EXPECT_EQ(found(), "6");
}

TEST_F(ModuleSave, InTheSameBootALogInMemoryComesBeforeASaveAndOneOfThemSuffices) {
    for (const bool keeps_memory : {true, false}) {
        auto pool = make();
        commit_word(*pool, 5);
        commit_word(*pool, 6, keeps_memory);
        // As the module does when the process ends, or closes the module's file and goes on.
        module_.fail_power();
        if (keeps_memory) commit_word(*pool, 7, false);
        pool->abandon();
        ASSERT_EQ(module_.saves.size(), 1u);
        if (!keeps_memory) remove_log_in_memory();
        EXPECT_EQ(found(armed()), keeps_memory ? "7" : "6");
        EXPECT_TRUE(module_.saves.empty()) << "whoever arms the pool next has no use for it";
        std::filesystem::remove(path());
    }
}

TEST_F(ModuleSave, ASaveOfAnEarlierLifeOfTheSameBootIsNotBelieved) {
    const auto saves = saves_of_a_life_before();
    // The next life has another handler, which does not save it.
    powerfail::test::test_handler other;
    auto later = open(armed());
    ASSERT_TRUE(later) << later.error().text();
    ASSERT_EQ((*later)->durability(), level::on_power_fail);
    commit_word(**later, 7);
    (*later)->abandon();
    begin_next_boot();
    // It was not acknowledged after all.
    module_.saves = saves;
    EXPECT_EQ(found(), "not_durable");
}

TEST_F(ModuleSave, ASaveOfAnotherBootIsNotBelievedAndTheErrorSaysSo) {
    const auto saves = saves_of_a_life_before();
    begin_next_boot();
    {
        powerfail::test::test_handler other;
        auto later = open(armed());
        ASSERT_TRUE(later) << later.error().text();
        (*later)->abandon();
    }
    begin_next_boot("wednesday");
    module_.saves = saves;
    const auto refused = open();
    ASSERT_EQ(code_of(refused), errc::not_durable);
    EXPECT_NE(refused.error().text().find("another boot"), std::string::npos) << refused.error().text();
}

TEST_F(ModuleSave, ADamagedSaveIsNotBelievedAndTheErrorSaysSo) {
    live_until_the_power_fails();
    module_.saves.begin()->second.is_damaged = true;
    const auto refused = open();
    ASSERT_EQ(code_of(refused), errc::not_durable);
    EXPECT_NE(refused.error().text().find("damaged"), std::string::npos) << refused.error().text();
    auto options = small_nvram_pool(level::power);
    options.accept_not_durable = true;
    EXPECT_EQ(found(options), "5") << "the home of the first, and not the record of the second";
}

TEST_F(ModuleSave, ASaveThatIsTooShortForTheLogIsNotBelieved) {
    live_until_the_power_fails();
    module_.saves.begin()->second.bytes.resize(4096);
    EXPECT_EQ(found(), "not_durable");
}

TEST_F(ModuleSave, ASaveThatWasResumedDoesNotCount) {
    auto pool = make();
    commit_word(*pool, 5, false);
    pool->abandon();
    begin_next_boot();
    const auto refused = open();
    ASSERT_EQ(code_of(refused), errc::not_durable);
    EXPECT_NE(refused.error().text().find("no save of it was sealed"), std::string::npos) << refused.error().text();
}

TEST_F(ModuleSave, ACopyOfTheFileTakesNoSaveOfTheOther) {
    auto pool = make();
    commit_word(*pool, 6, false);
    const std::string copy = scratch_.file("copy");
    std::filesystem::copy_file(path(), copy);
    module_.fail_power();
    pool->abandon();
    begin_next_boot();
    EXPECT_EQ(code_of(open_pool::open(copy, redo_like, small_nvram_pool(level::power))), errc::not_durable);
    EXPECT_EQ(module_.saves.size(), 1u);
    EXPECT_EQ(found(), "6");
}

TEST_F(ModuleSave, OfALaterLifeIsNotThatOfAStateThatIsPutBack) {
    make_unclean(path(), armed(), redo_like, 6);
    const auto first = bytes_of(path());
    {
        auto pool = open(armed());
        ASSERT_TRUE(pool) << pool.error().text();
        commit_word(**pool, 7, false);
        module_.fail_power();
        (*pool)->abandon();
    }
    const auto second = bytes_of(path());
    begin_next_boot();
    put_back(first);
    EXPECT_EQ(found(), "not_durable");
    put_back(second);
    EXPECT_EQ(found(), "7");
}

TEST_F(ModuleSave, AFileOnADeviceWithAnotherNumberIsStillTheSame) {
    live_until_the_power_fails();
    // Superblocks have a mark of file and device; a save is found by file alone.
    edit_superblocks(path(), [](format::superblock& block) { block.file_mark ^= 1; });
    const auto key = module_.saves.begin()->first;
    auto& log = module_.saves[key].bytes;
    reinterpret_cast<format::shadow_header*>(log.data())->file_mark ^= 1;
    EXPECT_EQ(found(), "6");
}

TEST_F(ModuleSave, WhatTheModuleDeclinesRunsAtPower) {
    test_module small(1000);
    auto pool = make();
    EXPECT_EQ(pool->durability(), level::power);
    EXPECT_NE(handler_.last_decline().find("too long"), std::string::npos) << handler_.last_decline();
    EXPECT_EQ(small.registered(), 0u);
    commit_word(*pool, 6, false);
    pool->abandon();
    begin_next_boot();
    EXPECT_EQ(found(), "6");
}

TEST_F(ModuleSave, WhenTheRegionIsTakenAwayThePoolGoesOnAtPowerAndLosesNothing) {
    auto pool = make();
    for (std::uint64_t value = 1; value <= 5; ++value) commit_word(*pool, value);
    module_.take_region_away();
    while (pool->durability() != level::power) std::this_thread::yield();
    while (handler_.pools() != 0) std::this_thread::yield();
    commit_word(*pool, 7, false);
    pool->abandon();
    begin_next_boot();
    EXPECT_EQ(found(), "7");
}

TEST_F(ModuleSave, TheModuleSaysWhatItWouldSaveAndWhen) {
    auto module = powerfail::kernel_module::open();
    ASSERT_TRUE(module) << module.error().text();
    EXPECT_EQ(module->state()->registered_bytes, 0u);
    auto pool = make();
    const auto now = module->state();
    ASSERT_TRUE(now) << now.error().text();
    EXPECT_EQ(now->registered_bytes, powerfail::shadow_log::bytes_for(pool->info().log_bytes));
    EXPECT_EQ(now->triggers, (std::vector<std::string>{"carrier", "debug file"}));
    EXPECT_EQ(now->hold_up, std::chrono::milliseconds{10});
    EXPECT_EQ(code_of(module->drill()), errc::permission_denied);
}

TEST_F(ModuleSave, AClosedPoolIsNotRegisteredAndLeavesNoSave) {
    auto pool = make();
    EXPECT_EQ(module_.registered(), 1u);
    commit_word(*pool, 5);
    EXPECT_EQ(module_.areas.size(), 1u);
    ASSERT_TRUE(pool->close());
    EXPECT_EQ(module_.registered(), 0u);
    EXPECT_TRUE(module_.areas.empty());
    EXPECT_EQ(handler_.pools(), 0u);
    begin_next_boot();
    EXPECT_EQ(found(), "5");
}

TEST_F(ModuleSave, AGrownPoolIsSavedWithItsSize) {
    auto pool = make();
    ASSERT_TRUE(pool->grow(512 << 10));
    commit_word(*pool, 5, false);
    module_.fail_power();
    pool->abandon();
    begin_next_boot();
    auto opened = open();
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ((*opened)->size(), 512u << 10);
    EXPECT_EQ(*last_word(**opened), 5u);
    EXPECT_EQ((*opened)->recovery().applied, 1u);
}

/// Lets the process be killed when the module has a pool's log, and the pool's superblock does not say so yet.
class killed_when_armed final : public powerfail::handler {
public:
    killed_when_armed(powerfail::handler& armed, test_module& module, std::string path)
        : armed_(armed), module_(module), path_(std::move(path)) {}
    bool arm(powerfail::charge& taken) override {
        const bool answer = armed_.arm(taken);
        module_.fail_power();
        then = bytes_of(path_);
        return answer;
    }
    void disarm(powerfail::charge& given_back) noexcept override { armed_.disarm(given_back); }

    std::vector<std::byte> then;

private:
    powerfail::handler& armed_;
    test_module& module_;
    std::string path_;
};

TEST_F(ModuleSave, ASaveOfALifeThatEndedWhileItsPoolWasBeingArmedIsNotBelievedLater) {
    make_closed(path(), small_nvram_pool(level::power));
    {
        killed_when_armed killed(handler_, module_, path());
        powerfail::use_handler(&killed);
        auto pool = open(armed());
        ASSERT_TRUE(pool) << pool.error().text();
        (*pool)->abandon();
        write_bytes(path(), 0, killed.then.data(), killed.then.size());
    }
    ASSERT_EQ(module_.saves.size(), 1u);
    // The next life has another handler, so that its log is in memory alone.
    powerfail::test::test_handler other;
    auto later = open(armed());
    ASSERT_TRUE(later) << later.error().text();
    ASSERT_EQ((*later)->durability(), level::on_power_fail);
    commit_word(**later, 7);
    commit_word(**later, 8, false);
    (*later)->abandon();
    EXPECT_EQ(found(), "8");
}

TEST_F(ModuleSave, ASaveOfAPoolThatIsAnOrdinaryFileByNowIsAcknowledgedWhenTheFileHasIt) {
    live_until_the_power_fails();
    std::vector<std::byte> then;
    module_.when_acknowledged = [&] { then = bytes_of(path()); };
    // Its file system was mounted without DAX.
    auto on_file = small_pool(level::power);
    on_file.where.tmpfs_is_file = true;
    EXPECT_EQ(found(on_file), "6");
    ASSERT_FALSE(then.empty());
    write_bytes(path(), 0, then.data(), then.size());
    EXPECT_EQ(found(on_file), "6");
}

TEST_F(ModuleSave, ASaveThatIsGoneInTheMiddleOfAnOpeningIsMissed) {
    live_until_the_power_fails();
    static decltype(powerfail::module_calls_now.open) before;
    static int calls;
    before = powerfail::module_calls_now.open;
    for (int good = 1; good <= 3; ++good) {
        calls = good;
        powerfail::module_calls_now.open = [](const char* device) {
            if (calls-- > 0) return before(device);
            errno = ENODEV;
            return -1;
        };
        const std::string answer = found();
        EXPECT_TRUE(answer == "not_durable" || (good > 1 && answer == "6")) << good << ": " << answer;
        if (answer != "not_durable") break;
    }
}

TEST_F(ModuleSave, ASaveBetweenASuperblockAndItsSealCounts) {
    auto pool = make();
    commit_word(*pool, 5, false);
    module_.fail_power();
    auto saved = module_.saves;
    const format::superblock copies[] = {superblock_copy(path(), 0), superblock_copy(path(), 1)};
    ASSERT_TRUE(pool->grow(512 << 10));
    pool->abandon();
    // A growth writes two superblocks: as it is behind the first one, whose seal was not published.
    const std::uint64_t newest = std::max(copies[0].generation, copies[1].generation);
    const unsigned same_place = newest % 2;
    ASSERT_EQ(superblock_copy(path(), same_place).generation, newest + 2);
    put_superblock(path(), same_place, copies[same_place]);
    begin_next_boot();
    module_.saves = saved;
    auto opened = open();
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ((*opened)->recovery().applied, 1u);
    EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>((*opened)->base() + (256 << 10) - 8), 5u);
    EXPECT_TRUE(module_.saves.empty());
}

TEST_F(ModuleSave, AForkedChildArmsItsOwnPoolsAndLeavesThoseOfTheParent) {
    auto pool = make();
    const std::string other = scratch_.file("other");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        auto options = armed();
        options.base += std::uint64_t{2} << 30;
        bool good = handler_.pools() == 0;
        auto own = open_pool::create(other, redo_like, options);
        good = good && own && (*own)->durability() == level::on_power_fail && handler_.pools() == 1;
        good = good && (*own)->close().has_value() && handler_.pools() == 0;
        ::_exit(good ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(handler_.pools(), 1u);
    commit_word(*pool, 5, false);
    module_.fail_power();
    pool->abandon();
    begin_next_boot();
    EXPECT_EQ(found(), "5");
}

TEST_F(ModuleSave, TwoPoolsSideBySideAreBothSaved) {
    auto options = armed();
    auto first = open_pool::create(path(), redo_like, options);
    ASSERT_TRUE(first) << first.error().text();
    options.base += options.reserved_bytes;
    const std::string other = scratch_.file("second");
    auto second = open_pool::create(other, redo_like, options);
    ASSERT_TRUE(second) << second.error().text();
    commit_word(**first, 5, false);
    commit_word(**second, 6, false);
    module_.fail_power();
    for (const unsigned copy : {0u, 1u}) powerfail::shadow_log::remove(superblock_copy(other, copy));
    (*first)->abandon();
    (*second)->abandon();
    begin_next_boot();
    EXPECT_EQ(found(), "5");
    auto opened = open_pool::open(other, redo_like, small_nvram_pool(level::power));
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ(*last_word(**opened), 6u);
}

}  // namespace
}  // namespace holdfast
