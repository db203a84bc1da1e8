// What an opening says when the kernel's answer to one of its questions is missing.
#include <holdfast/handle/failing_rows_test_support.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/handle/pool.hpp>

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

}  // namespace
}  // namespace holdfast::test
