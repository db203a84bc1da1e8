// Blocks at `on_power_fail`: armed, saved in the middle, and after their handler is lost.
#include <holdfast/dnv/dnv_test_support.hpp>

#include <holdfast/persist/counters.hpp>
#include <holdfast/pool/stand_ins.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/shadow_log.hpp>

#include <atomic>

namespace holdfast::dnv::test {
namespace {

class DnvPowerFail : public Dnv {
protected:
    DnvPowerFail() {
        use_way(3);
        stand_ins_now.boot_id = "monday";
    }
    ~DnvPowerFail() override {
        // The log in memory has the boot in its name.
        static_cast<void>(dnv_close());
        stand_ins_now.boot_id = nullptr;
    }

    /// The machine goes down and comes up again: its memory is empty, and nobody would save.
    void restart() {
        const auto file = persist::file::open(path(), persist::file::access::read_only).value();
        powerfail::shadow_log::remove(read_superblock(file).value());
        stand_ins_now.boot_id = "tuesday";
        handler_.reset();
        options_.durability = level::power;
    }
    void open_and_expect_sound_bank() {
        open();
        expect_sound_bank();
    }

    /// Transfers, pushes and pops in threads until the process ends or they are told to.
    class bank {
    public:
        explicit bank(unsigned seed) {
            make_counters();
            for (unsigned thread = 0; thread < 3; ++thread)
                threads_.emplace_back([this, thread, seed] {
                    std::mt19937 random(seed * 3 + thread);
                    while (!ends_.load()) {
                        transfer(random() % 64, random() % 64);
                        if (read_count() < 200) push_front(1, random() % 300);
                        if (random() % 2 == 0) pop_front();
                        transfers_.fetch_add(1);
                    }
                });
        }
        ~bank() {
            ends_ = true;
            for (auto& each : threads_) each.join();
        }
        bank(const bank&) = delete;
        bank& operator=(const bank&) = delete;
        void wait_for(std::uint64_t transfers) const {
            const std::uint64_t wanted = transfers_.load() + transfers;
            while (transfers_.load() < wanted) std::this_thread::yield();
        }

    private:
        std::atomic<bool> ends_{false};
        std::atomic<std::uint64_t> transfers_{0};
        std::vector<std::thread> threads_;
    };
};

TEST_F(DnvPowerFail, ArmedABlockAsksNothingOfTheMedium) {
    open();
    push_some(3);
    const auto before = persist::thread_counters();
    push_some(10);
    pop_front();
    EXPECT_EQ(persist::thread_counters() - before, persist::counters{});
    EXPECT_EQ(dnv_state().durability, level::on_power_fail);
}

TEST_F(DnvPowerFail, ArmedOnAFileABlockDoesNotSync) {
    use_way(4);
    open();
    ASSERT_EQ(dnv_state().durability, level::on_power_fail);
    push_some(3);
    const auto before = persist::thread_counters();
    push_some(10);
    pop_front();
    EXPECT_EQ((persist::thread_counters() - before).syncs, 0u);
}

TEST_F(DnvPowerFail, WhereThePowerFailsAmongThreadsEachBlockIsThereOrNot) {
    const unsigned rounds = at_full_length() ? 300 : 20;
    for (unsigned round = 0; round < rounds; ++round) {
        in_killed_child([&] {
            const bank open_bank(round);
            open_bank.wait_for(100 + round * 37 % 200);
            handler_->fail_power(false, [] { ::kill(::getpid(), SIGKILL); });
        });
        restart();
        open_and_expect_sound_bank();
        ASSERT_TRUE(dnv_close());
        use_way(3);
        stand_ins_now.boot_id = "monday";
        if (HasFailure()) FAIL() << "round " << round;
    }
}

TEST_F(DnvPowerFail, AFalseAlarmAmongThreadsChangesNothing) {
    open();
    {
        const bank open_bank(1);
        for (int i = 0; i < 20; ++i) {
            open_bank.wait_for(20);
            handler_->fail_power(true);
        }
    }
    ASSERT_TRUE(dnv_close());
    restart();
    open_and_expect_sound_bank();
}

TEST_F(DnvPowerFail, ThreadsGoOnAtPowerWhenTheHandlerIsLost) {
    const unsigned rounds = at_full_length() ? 100 : 6;
    for (unsigned round = 0; round < rounds; ++round) {
        use_way(3 + round % 2);
        stand_ins_now.boot_id = "monday";
        in_killed_child([&] {
            const bank open_bank(round);
            open_bank.wait_for(200);
            if (!handler_->lose() || dnv_state().durability != level::power) ::_exit(4);
            open_bank.wait_for(200);
            ::kill(::getpid(), SIGKILL);
        });
        stand_ins_now.boot_id = "tuesday";
        options_.durability = level::power;
        open_and_expect_sound_bank();
        ASSERT_TRUE(dnv_close());
        if (HasFailure()) FAIL() << "round " << round;
    }
}

TEST_F(DnvPowerFail, ABlockThatGrowsThePoolDoesNotWaitForTheHandlersLossWhichWaitsForIt) {
    options_.bytes = 2 << 20;
    options_.reserved_bytes = 64 << 20;
    open();
    static powerfail::test::test_handler* losing;
    static std::thread thread;
    losing = &*handler_;
    push_irrevocably(77, [] {
        thread = std::thread([] { EXPECT_TRUE(losing->lose()); });
        ::usleep(50'000);
        EXPECT_TRUE(dnv_grow(8 << 20));
    });
    thread.join();
    EXPECT_EQ(dnv_state().durability, level::power);
    expect_sound_list(1);
}

/// The handler is lost while a block is open.
struct loss {
    powerfail::test::test_handler* handler;
    std::thread thread{};
    std::atomic<bool> is_over{false};

    void begin() {
        thread = std::thread([this] {
            EXPECT_TRUE(handler->lose());
            is_over = true;
        });
    }
};

TEST_F(DnvPowerFail, ABlockThatIsOpenDoesNotKeepAPoolOnAFileFromBecomingDurable) {
    use_way(4);
    open();
    push_some(5);
    loss losing{&*handler_};
    push_front_and_call(
        77, 200,
        [](void* with) {
            auto* const what = static_cast<loss*>(with);
            what->begin();
            for (int i = 0; i < 1000 && !what->is_over; ++i) ::usleep(10'000);
            EXPECT_TRUE(what->is_over);
        },
        &losing);
    losing.thread.join();
    EXPECT_EQ(the_space.pool->durability(), level::power);
    expect_sound_list(6);
    expect_sound_pool(6);
}

TEST_F(DnvPowerFail, ABlockThatIsOpenWhenTheHandlerIsLostCommitsDurably) {
    open();
    push_some(5);
    loss losing{&*handler_};
    // The block has stored to a fresh block by then, as if nothing but a kill could happen.
    push_front_and_call(
        77, 200,
        [](void* with) {
            auto* const what = static_cast<loss*>(with);
            what->begin();
            ::usleep(50'000);
            EXPECT_FALSE(what->is_over) << "the block is waited for, though nothing was committed since it began";
        },
        &losing);
    losing.thread.join();
    EXPECT_EQ(the_space.pool->durability(), level::power);
    expect_sound_list(6);
    expect_sound_pool(6);
}

}  // namespace
}  // namespace holdfast::dnv::test
