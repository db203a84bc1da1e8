// The cache with barriers from the compiler. It is compiled with the flags of atomic blocks, as a program would be.
#include <workload/cache/shared_test.hpp>

#include <holdfast/base/test_run.hpp>
#include <holdfast/itm/access.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace holdfast::workload::test {
namespace {

TEST(CacheInBlocks, AnswersRandomCommandsAsTheModelDoes) {
    cache_root root{};
    run_alone(itm::itm_access(), &root, 100000, holdfast::test::seed_of_run());
}

TEST(CacheInBlocks, EveryThreadFindsWhatItStoredAndEveryCommandIsCounted) {
    cache_root root{};
    run_own_keys(itm::itm_access(), &root, 2, 20000, holdfast::test::seed_of_run());
}

TEST(CacheInBlocks, ThreadsThatEvictEachOthersItemsLeaveASoundCache) {
    cache_root root{};
    run_same_keys(itm::itm_access(), &root, 2, 20000, holdfast::test::seed_of_run());
}

std::atomic<int> other_step;
std::uint64_t others_word = 0;
[[gnu::transaction_pure]] void wait_until_released() {
    other_step = 1;
    while (other_step != 2) std::this_thread::yield();
}

/// A thread in a block of its own: meanwhile no block stores before it commits.
class open_block {
public:
    open_block()
        : thread_([] {
              __transaction_atomic {
                  ++others_word;
                  wait_until_released();
              }
          }) {
        while (other_step != 1) std::this_thread::yield();
    }
    ~open_block() {
        other_step = 2;
        thread_.join();
    }
    open_block(const open_block&) = delete;
    open_block& operator=(const open_block&) = delete;

private:
    std::thread thread_;
};

/// Of words that a block stores to.
struct callers_memory {
    char key[8] = "other-1";
    char stored[40] = "old text";
    char found[40] = "old text";
    char after[40] = "old text";
};

TEST(CacheInBlocks, InABlockACommandHasTheTextsThatTheBlockHas) {
    const itm::itm_access memory;
    cache_root root{};
    cache<itm::itm_access> all(memory, &root);
    ASSERT_TRUE(all.create({.limit_bytes = 1 << 20}));
    const auto own = std::make_unique<callers_memory>();
    const auto key = std::make_unique<cache_key>("other-1", 7);
    cache_answer set = cache_answer::failed, got = cache_answer::failed;
    const open_block other;
    ASSERT_TRUE(memory.atomically([&] {
        for (unsigned i = 0; i < 36; ++i) own->stored[i] = static_cast<char>('a' + i % 26);
        for (unsigned i = 0; i < 36; ++i) own->found[i] = 'z';
        *key = cache_key("name-1", 6);
        set = all.set(*key, {own->stored, 36}, 1);
        cache_found found{own->found, sizeof own->found};
        got = all.get(*key, 1, found);
        for (unsigned i = 0; i < 36; ++i) own->after[i] = own->found[i];
    }));
    EXPECT_EQ(set, cache_answer::stored);
    EXPECT_EQ(got, cache_answer::found);
    const std::string expected = "abcdefghijklmnopqrstuvwxyzabcdefghij";
    EXPECT_EQ(std::string(own->found, 36), expected);
    EXPECT_EQ(std::string(own->after, 36), expected);
    char room[40];
    cache_found found{room, sizeof room};
    EXPECT_EQ(all.get(cache_key("name-1", 6), 1, found), cache_answer::found);
    EXPECT_EQ(std::string(room, found.bytes), expected);
    EXPECT_EQ(all.get(cache_key("other-1", 7), 1, found), cache_answer::not_found);
}

TEST(CacheInBlocks, ABlockThatIsTakenBackHasFoundNothing) {
    const itm::itm_access memory;
    cache_root root{};
    cache<itm::itm_access> all(memory, &root);
    ASSERT_TRUE(all.create({.limit_bytes = 1 << 20}));
    ASSERT_EQ(all.set(cache_key("name-1", 6), {"text", 4}, 1), cache_answer::stored);
    const auto own = std::make_unique<callers_memory>();
    EXPECT_FALSE(memory.atomically([&] {
        cache_found found{own->found, sizeof own->found};
        all.get(cache_key("name-1", 6), 1, found);
        itm::detail::give_up();
    }));
    EXPECT_STREQ(own->found, "old text");
}

}  // namespace
}  // namespace holdfast::workload::test
