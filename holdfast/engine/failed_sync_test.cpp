// redo at power on a file when the device fails: what a program is told, and what is there afterwards.
#include <holdfast/engine/engine_test_support.hpp>

#include <mutex>

namespace holdfast {
namespace {

using namespace holdfast::test;
using persist::test::failing_device;

struct account {
    redo::field<long> left, right;
};

TEST(FailedSync, AnswersOutcomeUnknownAndNeitherActionRuns) {
    test_pool<redo> pool({.directory = "."});
    ASSERT_TRUE(pool->core().homes_are_private()) << "the working directory is on no ordinary file system";
    auto* data = pool->root<account>("account").value();
    ASSERT_TRUE(pool->atomically([&] { data->left = 1; }));
    int committed = 0, aborted = 0;
    std::mutex lock;
    const auto count_both = [&] {
        redo::on_commit([&] { ++committed; });
        redo::on_abort([&] { ++aborted; });
    };
    {
        const failing_device broken;
        const auto done = pool->atomically(lock, [&] {
            count_both();
            data->left = 2;
            return 7;
        });
        EXPECT_EQ(code_of(done), errc::outcome_unknown);
        EXPECT_NE(done.error().text().find(pool.path()), std::string::npos);
    }
    EXPECT_EQ(committed + aborted, 0) << "nobody knows which";
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();

    // The device works again, but what it dropped is not known: this handle commits no more.
    EXPECT_EQ(code_of(pool->atomically([&] {
        count_both();
        data->right = 3;
    })), errc::poisoned);
    EXPECT_EQ(committed, 0);
    EXPECT_EQ(aborted, 1);
    EXPECT_EQ(data->right, 0);
    EXPECT_EQ(code_of(pool->checkpoint()), errc::poisoned);
    EXPECT_EQ(code_of(pool->close()), errc::poisoned);

    pool.kill();
    EXPECT_EQ(data->left, 1) << "the write that failed wrote nothing";
    ASSERT_TRUE(pool->atomically([&] { data->right = 4; }));
    pool.kill();
    EXPECT_EQ(data->right, 4);
}

}  // namespace
}  // namespace holdfast
