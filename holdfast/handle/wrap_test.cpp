// Wraps opened by hand: what they see, what they leave, and what a kill leaves of them.
#include <holdfast/engine/engine_test_support.hpp>
#include <holdfast/handle/wrap.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

namespace holdfast {
namespace {

using namespace holdfast::test;

struct variables {
    std::int64_t x = 0, y = 0, z = 0;
    char text[27] = {};
    std::int32_t halves[3] = {};
    std::int64_t shared[64] = {};
};

template <class Engine>
class Wraps : public testing::Test {
protected:
    Wraps() : data_(find()) {}

    variables* find() { return pool_->template plain_root<variables>("variables").value(); }
    void kill() {
        pool_.kill();
        ASSERT_EQ(find(), data_) << "a pool maps where it was";
    }

    test_pool<Engine> pool_;
    variables* data_;
};

TYPED_TEST_SUITE(Wraps, wrapping_engines, );

TYPED_TEST(Wraps, TheListingOfThePaper) {
    auto& data = *this->data_;
    auto id = OpenWrap(*this->pool_);
    wrapStore(id, &data.x, 1);
    wrapStore(id, &data.y, 2);
    wrapStore(id, &data.z, wrapLoad(id, &data.x));
    EXPECT_EQ(data.x, 0) << "nobody else sees it";
    ASSERT_TRUE(CloseWrap(id));
    EXPECT_FALSE(id.is_open());
    this->kill();
    EXPECT_EQ(data.x, 1);
    EXPECT_EQ(data.y, 2);
    EXPECT_EQ(data.z, 1);
}

TYPED_TEST(Wraps, AnAbortedAndAForgottenWrapLeaveNothing) {
    auto& data = *this->data_;
    auto id = OpenWrap(*this->pool_);
    for (std::int64_t& each : data.shared) wrapStore(id, &each, 7);
    AbortWrap(id);
    EXPECT_EQ(CloseWrap(id).error().code, errc::misuse);
    EXPECT_THROW(wrapStore(id, &data.x, 1), failure);
    {
        auto forgotten = OpenWrap(*this->pool_);
        wrapStore(forgotten, &data.x, 9);
    }
    auto kept = OpenWrap(*this->pool_);
    wrapStore(kept, &data.y, 3);
    ASSERT_TRUE(CloseWrap(kept));
    this->kill();
    EXPECT_EQ(data.x, 0);
    EXPECT_EQ(data.y, 3);
    EXPECT_EQ(data.shared[5], 0);
}

TYPED_TEST(Wraps, AnySizeAlignmentAndOverlap) {
    auto& data = *this->data_;
    auto id = OpenWrap(*this->pool_);
    id.store(data.text, "aaaaaaaaaaaaaaaaaaaaaaaaaa", 27);
    id.store(data.text + 3, "bbbbbbbbbbb", 11);
    id.store(data.text + 13, "c", 1);
    wrapStore(id, &data.halves[1], 5);
    char seen[27];
    id.load(data.text, seen, sizeof seen);
    EXPECT_STREQ(seen, "aaabbbbbbbbbbcaaaaaaaaaaaa");
    std::array<char, 5> part{};
    id.load(data.text + 11, part.data(), 5);
    EXPECT_EQ(std::string(part.data(), 5), "bbcaa");
    ASSERT_TRUE(CloseWrap(id));
    this->kill();
    EXPECT_STREQ(data.text, "aaabbbbbbbbbbcaaaaaaaaaaaa");
    EXPECT_EQ(data.halves[0], 0);
    EXPECT_EQ(data.halves[1], 5);
    EXPECT_EQ(data.halves[2], 0);
}

TYPED_TEST(Wraps, SeveralOfOneThreadAreOpenBesideEachOther) {
    auto& data = *this->data_;
    // Once round the log, in all orders of opening and closing.
    for (std::int64_t lap = 1; lap <= 200; ++lap) {
        std::array<wrap<TypeParam>, 4> open{OpenWrap(*this->pool_), OpenWrap(*this->pool_), OpenWrap(*this->pool_),
                                            OpenWrap(*this->pool_)};
        // One word in turn, so that each is in the middle of a line when the next one sends one.
        for (std::int64_t i = 0; i < 16; ++i)
            for (std::int64_t w = 0; w < 4; ++w)
                wrapStore(open[static_cast<std::size_t>(w)], &data.shared[w * 16 + i], lap * 100 + w);
        for (std::int64_t w = 0; w < 4; ++w) {
            const auto which = static_cast<std::size_t>((w * 3 + lap) % 4);
            if (which == 2) continue;
            ASSERT_TRUE(CloseWrap(open[which]));
        }
        if (lap % 20 != 0) continue;
        this->kill();
        for (std::int64_t w = 0; w < 4; ++w)
            for (std::int64_t i = 0; i < 16; ++i) ASSERT_EQ(data.shared[w * 16 + i], w == 2 ? 0 : lap * 100 + w);
    }
}

TYPED_TEST(Wraps, AWrapMayGoToAnotherThread) {
    auto& data = *this->data_;
    auto id = OpenWrap(*this->pool_);
    for (std::int64_t& each : data.shared) wrapStore(id, &each, 1);
    std::thread([&] {
        // It has wraps of its own, in the lane that the first thread's wrap is not in.
        auto own = OpenWrap(*this->pool_);
        wrapStore(own, &data.y, 5);
        for (std::int64_t& each : data.shared) wrapStore(id, &each, 2);
        ASSERT_TRUE(CloseWrap(own));
        ASSERT_TRUE(CloseWrap(id));
    }).join();
    this->kill();
    EXPECT_EQ(data.shared[63], 2);
    EXPECT_EQ(data.y, 5);
}

TYPED_TEST(Wraps, MoreThanTheTableWasMadeForIsNotLost) {
    struct many {
        std::array<std::uint64_t, 5000> words{};
    };
    test_pool<TypeParam> pool({.bytes = 4 << 20, .log_bytes = 1 << 20, .order = 1});
    auto* all = pool->template plain_root<many>("many").value();
    auto id = OpenWrap(*pool);
    for (std::uint64_t i = 0; i < all->words.size(); ++i) wrapStore(id, &all->words[i], i + 1);
    for (std::uint64_t i = 0; i < all->words.size(); ++i) ASSERT_EQ(wrapLoad(id, &all->words[i]), i + 1);
    ASSERT_TRUE(CloseWrap(id));
    pool.kill();
    for (std::uint64_t i = 0; i < all->words.size(); ++i) ASSERT_EQ(all->words[i], i + 1);
}

TYPED_TEST(Wraps, TooLargeAWrapIsRefusedAndLeavesNothing) {
    struct many {
        std::array<std::uint64_t, 20000> words{};
    };
    test_pool<TypeParam> pool({.bytes = 4 << 20, .log_bytes = 64 << 10, .order = 1});
    auto created = OpenWrap(*pool);
    auto* const block = static_cast<many*>(created.allocate(sizeof(many)));
    ASSERT_TRUE(CloseWrap(created));
    auto id = OpenWrap(*pool);
    for (std::uint64_t i = 0; i < block->words.size(); ++i) id.store(&block->words[i], i + 1);
    EXPECT_EQ(CloseWrap(id).error().code, errc::transaction_too_large);
    EXPECT_FALSE(id.is_open());
    auto small = OpenWrap(*pool);
    small.store(&block->words[0], 7);
    EXPECT_TRUE(CloseWrap(small));
    bring_home(*pool);
    EXPECT_EQ(block->words[0], 7u);
    EXPECT_NE(block->words[19999], 20000u);
}

TYPED_TEST(Wraps, BlocksBelongToTheirWrap) {
    auto& data = *this->data_;
    const auto before = this->pool_->usage();
    auto id = OpenWrap(*this->pool_);
    id.free(id.allocate(100));
    static_cast<void>(id.allocate(200));
    AbortWrap(id);
    auto kept = OpenWrap(*this->pool_);
    auto* block = static_cast<std::int64_t*>(kept.allocate(64));
    kept.store(block, std::int64_t{11});
    kept.store(&data.x, static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(block)));
    ASSERT_TRUE(CloseWrap(kept));
    EXPECT_EQ(this->pool_->usage().allocated_blocks, before.allocated_blocks + 1);
    this->kill();
    EXPECT_EQ(*reinterpret_cast<std::int64_t*>(static_cast<std::intptr_t>(data.x)), 11);
}

TYPED_TEST(Wraps, ALockAroundAWrapIsHeldUntilItIsClosed) {
    auto& data = *this->data_;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                wrapped_lock region(*this->pool_, mutex);
                region->store(&data.x, region->load(&data.x) + 1);
                if (i % 5 == 4) continue;
                ASSERT_TRUE(region.close());
            }
        });
    for (auto& each : threads) each.join();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
    this->kill();
    EXPECT_EQ(data.x, 4 * 400) << "each fifth was not closed";
}

/// The same number in each half of what is written.
template <class T>
T doubled(std::uint64_t value) {
    constexpr unsigned half_bits = sizeof(T) * 4;
    const auto half = value & ((std::uint64_t{1} << half_bits) - 1);
    return static_cast<T>(half << half_bits | half);
}
template <class T>
bool is_doubled(T value) {
    return doubled<T>(static_cast<std::uint64_t>(value)) == value;
}

TYPED_TEST(Wraps, AnEagerReaderSeesOldValuesAndNoTornOnes) {
    struct all_sizes {
        std::uint64_t eight = 0;
        std::uint32_t fours[2] = {};
        std::uint16_t twos[3] = {};
        std::uint8_t one = 0;
    };
    test_pool<TypeParam> pool({.order = 1});
    auto* data = pool->template plain_root<all_sizes>("data").value();
    std::atomic<bool> through{false};
    std::atomic<std::uint64_t> looks{0};
    std::thread reader([&] {
        std::uint64_t newest = 0;
        while (!through) {
            const std::uint64_t eight = eager_load(&data->eight);
            ASSERT_TRUE(is_doubled(eight)) << eight;
            ASSERT_GE(eight, newest) << "what was seen once stays";
            newest = eight;
            ASSERT_TRUE(is_doubled(eager_load(&data->fours[1])));
            ASSERT_TRUE(is_doubled(eager_load(&data->twos[2])));
            static_cast<void>(eager_load(&data->one));
            ++looks;
        }
    });
    for (std::uint64_t i = 1; i <= 3000 || looks < 10; ++i) {
        auto id = OpenWrap(*pool);
        // What a wrap overwrites itself is never seen.
        id.store(&data->eight, std::uint64_t{12345});
        id.store(&data->eight, doubled<std::uint64_t>(i));
        id.store(&data->fours[1], doubled<std::uint32_t>(i));
        id.store(&data->twos[2], doubled<std::uint16_t>(i));
        id.store(&data->one, static_cast<std::uint8_t>(i));
        ASSERT_TRUE(CloseWrap(id));
        auto aborted = OpenWrap(*pool);
        aborted.store(&data->eight, std::uint64_t{54321});
    }
    through = true;
    reader.join();
}

TYPED_TEST(Wraps, WhatIsWrongIsSaid) {
    auto& data = *this->data_;
    test_pool<TypeParam> other({.order = 1});
    auto* theirs = other->template plain_root<variables>("variables").value();
    auto id = OpenWrap(*this->pool_);
    EXPECT_THROW(wrapStore(id, &theirs->x, 1), failure);
    std::int64_t on_the_stack = 0;
    EXPECT_THROW(wrapStore(id, &on_the_stack, 4), failure);
    EXPECT_THROW(id.store(&on_the_stack, &data.x, sizeof data.x), failure);
    EXPECT_EQ(on_the_stack, 0);
    wrapStore(id, &data.x, 2);
    ASSERT_TRUE(CloseWrap(id));
    other->close().value();
    EXPECT_THROW(OpenWrap(*other), failure);
    open_options without_log;
    without_log.tmpfs_is_nvram = true;
    without_log.wraps.logs = false;
    EXPECT_EQ(code_of(basic_pool<TypeParam>::open(other.path(), without_log)), errc::level_unavailable);
    without_log.durability = level::process;
    auto opened = basic_pool<TypeParam>::open(other.path(), without_log);
    ASSERT_TRUE(opened);
    auto unlogged = OpenWrap(*opened);
    unlogged.store(&opened->template plain_root<variables>("variables").value()->x, 5);
    EXPECT_TRUE(CloseWrap(unlogged));
    bring_home(*opened);
    EXPECT_EQ(opened->template plain_root<variables>("variables").value()->x, 5);
}

}  // namespace
}  // namespace holdfast
