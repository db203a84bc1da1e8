// The cache in a dnv pool, with codes (RTx) and without (Tx). It is compiled with the flags of atomic blocks.
#include <workload/cache/shared_test.hpp>

#include <holdfast/base/test_run.hpp>
#include <holdfast/dnv/dnv.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

namespace holdfast::workload::test {

/// An `access` to the open dnv pool. Loads, too, are inside transactions only.
struct dnv_access {
    template <class T>
    T load(const T* home) const {
        return *home;
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        *home = value;
    }
    template <class T>
    void will_write(T*) const {}
    void* allocate(std::size_t bytes) const {
        void* const made = dnv_malloc(bytes);
        if (made == nullptr) HOLDFAST_CANCEL;
        return made;
    }
    void free(void* address) const { dnv_free(address); }
    template <class F>
    bool atomically(F&& f) const {
        return dnv_atomically(f).has_value();
    }
};

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

TEST_P(CacheInDnv, DoesWhatTheModelDoes) { run_alone(dnv_access(), &kept_root, 100000, seed_); }

TEST_P(CacheInDnv, EveryThreadFindsWhatItStoredAndEveryCommandIsCounted) {
    run_own_keys(dnv_access(), &kept_root, 2, 20000, seed_);
}

TEST_P(CacheInDnv, ThreadsThatEvictEachOthersItemsLeaveASoundCache) {
    run_same_keys(dnv_access(), &kept_root, 2, 20000, seed_);
}

TEST_P(CacheInDnv, IsThereAfterItWasOpenedAgain) {
    const std::string name = "kept", text = "a value of some length";
    const cache_key key(name.data(), name.size());
    cache<dnv_access> made(dnv_access(), &kept_root);
    ASSERT_TRUE(made.create({.limit_bytes = 1 << 20}));
    ASSERT_EQ(made.set(key, {text.data(), text.size(), 9}, 1), cache_answer::stored);
    ASSERT_TRUE(dnv_close());
    ASSERT_TRUE(dnv_open(directory_.file("pool"), options_));
    const cache<dnv_access> opened(dnv_access(), &kept_root);
    ASSERT_TRUE(opened.exists());
    char room[64];
    cache_found found{room, sizeof room};
    EXPECT_EQ(opened.get(key, 1, found), cache_answer::found);
    EXPECT_EQ(std::string(room, found.bytes), text);
    EXPECT_EQ(checked(dnv_access(), opened), nullptr);
}

INSTANTIATE_TEST_SUITE_P(, CacheInDnv, ::testing::Bool(),
                         [](const auto& with) { return with.param ? "WithCodes" : "WithoutCodes"; });

}  // namespace
}  // namespace holdfast::workload::test
