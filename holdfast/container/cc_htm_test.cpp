// Containers in pools of cc_htm: shared by threads without a lock.
#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/vector.hpp>
#include <holdfast/engine/cc_htm.hpp>

#include <holdfast/handle/test_pool.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace holdfast {
namespace {

template <class Engine>
class CcHtmContainers : public ::testing::Test {};

struct isolation_names {
    template <class Engine>
    static std::string GetName(int) {
        return std::string(Engine::description.isolation);
    }
};
using all_isolations = ::testing::Types<cc_htm, cc_htm_versioned, cc_htm_hardware>;
TYPED_TEST_SUITE(CcHtmContainers, all_isolations, isolation_names);

TYPED_TEST(CcHtmContainers, AnObjectOfTheOtherIsolationIsMisuse) {
    using other = std::conditional_t<std::is_same_v<TypeParam, cc_htm>, cc_htm_versioned, cc_htm>;
    test::test_pool<TypeParam> pool;
    auto* const mine = pool->template root<vector<std::uint64_t, TypeParam>>("numbers").value();
    auto* const taken_for_his = reinterpret_cast<vector<std::uint64_t, other>*>(mine);
    try {
        taken_for_his->push_back(1);
        FAIL();
    } catch (const failure& reason) {
        EXPECT_EQ(reason.reason().code, errc::misuse);
    }
}

TYPED_TEST(CcHtmContainers, AreSharedWithoutALock) {
    test::test_pool<TypeParam> pool({.durability = level::lag, .bytes = 16 << 20, .log_bytes = 1 << 20});
    using map = hash_map<std::uint64_t, std::uint64_t, TypeParam>;
    using tree = btree_map<std::uint64_t, std::uint64_t, TypeParam>;
    auto& hashed = *pool->template root<map>("hashed").value();
    auto& sorted = *pool->template root<tree>("sorted").value();
    constexpr std::uint64_t keys = 64, rounds = 1500;
    const auto work = [&](std::uint64_t seed) {
        std::uint64_t state = seed;
        for (std::uint64_t i = 0; i < rounds; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const std::uint64_t key = state >> 40 & (keys - 1);
            pool->atomically([&] {
                    if ((state >> 50 & 1) != 0) {
                        hashed.try_emplace(key, i);
                        sorted.try_emplace(key, i);
                    } else {
                        hashed.erase(key);
                        sorted.erase(key);
                    }
                })
                .value();
        }
    };
    std::vector<std::thread> running;
    for (const std::uint64_t seed : {11u, 12u, 13u}) running.emplace_back(work, seed);
    for (std::thread& thread : running) thread.join();
    for (int look = 0; look < 2; ++look) {
        auto& hashed_now = *pool->template root<map>("hashed").value();
        auto& sorted_now = *pool->template root<tree>("sorted").value();
        EXPECT_TRUE(hashed_now.check().has_value());
        EXPECT_TRUE(sorted_now.check().has_value());
        EXPECT_EQ(hashed_now.size(), sorted_now.size());
        for (const auto& [key, value] : sorted_now) EXPECT_EQ(hashed_now.at(key).get(), value.get());
        EXPECT_TRUE(pool.audit(hashed_now, sorted_now));
        if (look == 0) pool.kill();
    }
}

}  // namespace
}  // namespace holdfast
