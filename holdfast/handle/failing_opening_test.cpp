// What an opening says when the kernel's answer to one of its questions is missing, and what becomes of an armed pool.
#include <holdfast/handle/failing_rows_test_support.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/pool/stand_ins.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/shadow_log.hpp>
#include <holdfast/powerfail/test_handler.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

TEST(FailingOpening, IsNeverTakenForThatOfACopy) {
    const persist::test::scratch_directory scratch("/dev/shm");
    const std::string path = scratch.file("pool");
    create_options options;
    options.durability = level::process;
    {
        auto pool = redo::pool::create(path, options).value();
        auto& number = *pool.root<redo::field<int>>("number").value();
        ASSERT_TRUE(pool.atomically([&] { number = 7; }));
        pool.abandon();
    }
    // One call, and two in a row: where the storage is looked at a first failure is no reason to give up.
    for (const unsigned more : {0u, 1u}) {
        unsigned failures = 0;
        for (bool failed = true; failed; ++failures) {
            const char* function = nullptr;
            this_thread_fails.failed = &function;
            this_thread_fails.arm(EIO, failures + 1, more);
            auto opened = redo::pool::open(path, options);
            this_thread_fails.armed = false;
            failed = function != nullptr;
            if (!opened) {
                EXPECT_NE(opened.error().code, errc::not_durable)
                    << function << " number " << failures + 1 << ": " << opened.error().text();
            } else {
                EXPECT_EQ(*opened->root<redo::field<int>>("number").value(), 7);
                opened->abandon();
            }
        }
        EXPECT_GT(failures, 20u) << "hardly a call failed";
    }
}

using powerfail::test::test_handler;

/// A pool at `on_power_fail`, in which a number is 7.
class FailingArmedPool : public testing::Test {
protected:
    FailingArmedPool() {
        stand_ins_now.boot_id = boot_.c_str();
        options_.durability = level::on_power_fail;
        options_.tmpfs_is_nvram = true;
        options_.bytes = 256 << 10;
    }
    ~FailingArmedPool() override {
        for (const auto& each : logs_in_memory()) std::filesystem::remove(each);
        stand_ins_now.boot_id = nullptr;
    }

    /// Of all pools that were here in this boot. No other test has one of this name, at the same time or ever.
    std::vector<std::filesystem::path> logs_in_memory() const {
        std::vector<std::filesystem::path> found;
        for (const auto& each : std::filesystem::directory_iterator("/dev/shm"))
            if (each.path().filename().string().ends_with("-" + boot_)) found.push_back(each.path());
        return found;
    }

    std::string path() const { return scratch_.file("pool"); }
    redo::pool make() {
        remove_log_in_memory();
        std::filesystem::remove(path());
        auto pool = redo::pool::create(path(), options_).value();
        auto& number = *pool.root<redo::field<int>>("number").value();
        pool.atomically([&] { number = 7; }).value();
        return pool;
    }
    void remove_log_in_memory() const {
        const auto file = persist::file::open(path(), persist::file::access::read_only);
        for (const unsigned copy : {0u, 1u}) {
            if (!file) return;
            if (const auto block = read_superblock_copy(*file, copy)) powerfail::shadow_log::remove(*block);
        }
    }
    /// What another opening finds, or why there is none.
    std::string found(level durability) {
        auto options = options_;
        options.durability = durability;
        auto opened = redo::pool::open(path(), options);
        if (!opened) return std::string(name_of(opened.error().code));
        return std::to_string(*opened->root<redo::field<int>>("number").value());
    }
    /// Calls `use` again and again, until none of its calls of the kernel fails, in that way. Returns how many did.
    template <class F>
    unsigned with_each_call_failing(int how, F&& use) {
        unsigned failures = 0;
        for (bool failed = true; failed; ++failures) {
            const char* function = nullptr;
            this_thread_fails.failed = &function;
            use([&](auto&& call) {
                this_thread_fails.arm(how, failures + 1, 0);
                call();
                this_thread_fails.armed = false;
            });
            failed = function != nullptr;
            if (HasFailure()) {
                ADD_FAILURE() << (failed ? function : "nothing") << " fails, call " << failures + 1;
                break;
            }
        }
        return failures;
    }

    persist::test::scratch_directory scratch_{"/dev/shm"};
    create_options options_;
    const std::string boot_ = "monday" + std::to_string(getpid());
};

TEST_F(FailingArmedPool, OpeningItAfterAKillLosesNothingAndLeavesNobodyInCharge) {
    test_handler handler;
    const unsigned failures = with_each_call_failing(EIO, [&](auto&& failing) {
        make().abandon();
        failing([&] {
            auto opened = redo::pool::open(path(), options_);
            if (!opened) {
                EXPECT_NE(opened.error().code, errc::not_durable) << opened.error().text();
                EXPECT_EQ(handler.pools(), 0u);
                return;
            }
            EXPECT_EQ(handler.pools(), opened->core().durability() == level::on_power_fail ? 1u : 0u);
            opened->abandon();
        });
        EXPECT_EQ(handler.pools(), 0u);
        EXPECT_EQ(found(level::power), "7");
    });
    EXPECT_GT(failures, 20u) << "hardly a call failed";
}

TEST_F(FailingArmedPool, ThatLosesItsHandlerIsArmedStillOrDurable) {
    test_handler handler;
    const auto loses = [&](auto&& failing) {
        auto pool = make();
        bool is_lost = false;
        failing([&] { is_lost = handler.lose(); });
        EXPECT_EQ(is_lost, pool.core().durability() == level::power);
        EXPECT_EQ(handler.pools(), is_lost ? 0u : 1u);
        auto& number = *pool.root<redo::field<int>>("number").value();
        EXPECT_TRUE(pool.atomically([&] { number = 8; }));
        pool.abandon();
        // The power fails, and nobody saves.
        stand_ins_now.boot_id = "tuesday";
        EXPECT_EQ(found(level::power), is_lost ? "8" : "not_durable");
        stand_ins_now.boot_id = boot_.c_str();
        if (!is_lost) {
            EXPECT_EQ(found(level::power), "8") << "it was only killed";
        }
    };
    for (const int how : {EIO, written})
        EXPECT_GT(with_each_call_failing(how, loses), 2u) << "hardly a call failed";
}

TEST_F(FailingArmedPool, ClosingItLeavesAllOfItOrTheLogInMemory) {
    test_handler handler;
    const unsigned failures = with_each_call_failing(EIO, [&](auto&& failing) {
        auto pool = make();
        bool is_closed = false;
        failing([&] { is_closed = pool.close().has_value(); });
        EXPECT_EQ(handler.pools(), 0u);
        if (is_closed) stand_ins_now.boot_id = "tuesday";
        EXPECT_EQ(found(level::power), "7");
        stand_ins_now.boot_id = boot_.c_str();
    });
    EXPECT_GT(failures, 2u) << "hardly a call failed";
}

TEST_F(FailingArmedPool, ThatCouldNotBeMadeLeavesNoLogInMemory) {
    /// Somebody else is faster.
    class taking_the_name final : public powerfail::handler {
    public:
        taking_the_name() { powerfail::use_handler(this); }
        ~taking_the_name() override { powerfail::use_handler(nullptr); }
        bool arm(powerfail::charge& taken) override {
            std::ofstream(taken.path) << "another";
            return true;
        }
        void disarm(powerfail::charge&) noexcept override {}
    } handler;
    const auto before = logs_in_memory().size();
    const auto refused = redo::pool::create(path(), options_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::already_exists);
    EXPECT_EQ(logs_in_memory().size(), before);
}

}  // namespace
}  // namespace holdfast::test
