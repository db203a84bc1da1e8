// The cache in a dnv pool, with codes (RTx) and without (Tx). It is compiled with the flags of atomic blocks.
#include <workload/cache/killed_test.hpp>

#include <holdfast/dnv/access.hpp>
#include <holdfast/dnv/audit.hpp>
#include <holdfast/dnv/dnv.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

namespace holdfast::workload::test {

DNV_POD cache_root kept_root;

namespace {

class CacheInDnv : public ::testing::TestWithParam<bool> {
protected:
    CacheInDnv() {
        options_.bytes = 64 << 20;
        options_.durability = level::process;
        options_.protect = GetParam();
        EXPECT_TRUE(dnv_open(directory_.file("pool"), options_));
    }
    ~CacheInDnv() override { EXPECT_TRUE(dnv_close()); }

    persist::test::scratch_directory directory_{"/dev/shm"};
    dnv_options options_;
    std::uint64_t seed_ = holdfast::test::seed_of_run();
};

TEST_P(CacheInDnv, AnswersRandomCommandsAsTheModelDoes) { run_alone(dnv::dnv_access(), &kept_root, 100000, seed_); }

TEST_P(CacheInDnv, EveryThreadFindsWhatItStoredAndEveryCommandIsCounted) {
    run_own_keys(dnv::dnv_access(), &kept_root, 2, 20000, seed_);
}

TEST_P(CacheInDnv, ThreadsThatEvictEachOthersItemsLeaveASoundCache) {
    run_same_keys(dnv::dnv_access(), &kept_root, 2, 20000, seed_);
}

TEST_P(CacheInDnv, IsThereAfterItWasOpenedAgain) {
    const std::string name = "kept", text = "a value of some length";
    const cache_key key(name.data(), name.size());
    cache<dnv::dnv_access> made(dnv::dnv_access(), &kept_root);
    ASSERT_TRUE(made.create({.limit_bytes = 1 << 20}));
    ASSERT_EQ(made.set(key, {text.data(), text.size(), 9}, 1), cache_answer::stored);
    ASSERT_TRUE(dnv_close());
    ASSERT_TRUE(dnv_open(directory_.file("pool"), options_));
    const cache<dnv::dnv_access> opened(dnv::dnv_access(), &kept_root);
    ASSERT_TRUE(opened.exists());
    char room[64];
    cache_found found{room, sizeof room};
    EXPECT_EQ(opened.get(key, 1, found), cache_answer::found);
    EXPECT_EQ(std::string(room, found.bytes), text);
    EXPECT_EQ(checked(dnv::dnv_access(), opened), nullptr);
}

/// What a killed_cache asks of a pool.
struct dnv_pool_to_kill {
    std::string path;
    dnv_options options;

    void close() const { EXPECT_TRUE(dnv_close()); }
    void open() const { EXPECT_TRUE(dnv_open(path, options)); }
    static dnv::dnv_access memory() { return {}; }
    static cache<dnv::dnv_access> all() { return {dnv::dnv_access(), &kept_root}; }
    /// Its partitions, their buckets, and items.
    static bool audit() {
        const auto opened = all();
        cache_statistics counts{};
        EXPECT_TRUE(opened.statistics(counts));
        const dnv::audit_report found = dnv::audit_open_pool(false);
        EXPECT_EQ(found.blocks, 1 + opened.partitions() + counts.items);
        return found.problems.empty() && found.damaged.empty() && checked(memory(), opened) == nullptr;
    }
};

TEST_P(CacheInDnv, HasEveryCommandThatWasAnsweredAndItsCountsAfterAKill) {
    dnv_pool_to_kill pool{directory_.file("pool"), options_};
    run_kills(pool);
}

INSTANTIATE_TEST_SUITE_P(, CacheInDnv, ::testing::Bool(),
                         [](const auto& with) { return with.param ? "WithCodes" : "WithoutCodes"; });

}  // namespace
}  // namespace holdfast::workload::test
