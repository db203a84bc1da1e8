// Blocks that store to ordinary memory as well as to the pool: few words, and more than a write set keeps while no
// other thread is in a block.
#include <holdfast/dnv/dnv_test_support.hpp>

#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

namespace holdfast::dnv::test {
namespace {

class OrdinaryMemory : public Dnv {
protected:
    /// Arrays of that many words, all of them zero.
    void make(std::size_t words) {
        ordinary_.assign(words + 1, 0);
        both_ = {ordinary_.data(), static_cast<std::uint64_t*>(dnv_malloc((words + 1) * sizeof(std::uint64_t))), words};
        constexpr std::size_t at_once = 1000;  // fits into any log
        for (std::size_t at = 0; at <= words; at += at_once)
            fill_words(both_.kept + at, std::min(at_once, words + 1 - at), 0);
    }
    void expect_all_are(std::uint64_t expected) {
        for (std::size_t at = 0; at < both_.words; ++at) ASSERT_EQ(ordinary_[at], expected) << at;
        ASSERT_EQ(ordinary_[both_.words], expected & 0xFF);
        ASSERT_EQ(sum_of_words(both_.kept, both_.words), expected * both_.words);
        ASSERT_EQ(sum_of_words(both_.kept + both_.words, 1), (expected & 0xFF) << 24 | (expected & 0xFF) << 40);
    }

    std::vector<std::uint64_t> ordinary_;
    two_arrays both_{};
};

class OrdinaryMemoryOf : public OrdinaryMemory, public testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Words, OrdinaryMemoryOf, testing::Values(1, 8, 31, 32, 33, 100, 20'000));

TEST_P(OrdinaryMemoryOf, AndThePoolHaveWhatABlockStoredAndNothingOfOneThatWasCancelled) {
    for (int home = 0; home < 2; ++home) {
        if (home == 1) use_nvram();
        open();
        make(GetParam());
        for (std::uint64_t times = 1; times <= 5; ++times) {
            ASSERT_TRUE(add_to_both(both_));
            expect_all_are(times);
            add_to_both_and_cancel(both_);
            expect_all_are(times);
        }
        add_to_both_behind_cancelled_block(both_);
        expect_all_are(6);
        add_to_both_irrevocably(both_, [] {});
        expect_all_are(8);
        const std::uint64_t* const kept = both_.kept;
        reopen();
        EXPECT_EQ(sum_of_words(kept, GetParam()), 8 * GetParam());
        ASSERT_TRUE(dnv_close());
        fs::remove(path());
    }
}

TEST_P(OrdinaryMemoryOf, IsAsItWasWhereTheLogHasNoRoomForTheBlock) {
    options_.log_bytes = 64 << 10;
    open();
    make(GetParam());
    const auto added = try_to_add_to_both(both_);
    expect_all_are(added ? 1 : 0);
    if (GetParam() == 20'000) {
        ASSERT_FALSE(added);
        EXPECT_EQ(added.error().code, errc::transaction_too_large) << added.error().text();
    }
}

TEST_P(OrdinaryMemoryOf, DoesNotTearTheBlockOfAKilledProcess) {
    open();
    make(GetParam());
    ASSERT_TRUE(add_to_both(both_));
    ASSERT_TRUE(dnv_close());
    static two_arrays both;
    both = both_;
    in_killed_child([] {
        add_to_both(both, [] { ::kill(::getpid(), SIGKILL); });
    });
    open();
    EXPECT_EQ(sum_of_words(both.kept, both.words), both.words);
    expect_sound_pool(1);
}

TEST_F(OrdinaryMemory, IsCopiedToThePoolBehindStoresToBoth) {
    open();
    make(100);
    std::vector<std::uint64_t> from(100);
    std::iota(from.begin(), from.end(), 1000);
    add_to_both_and_copy(both_, from.data(), true);
    expect_all_are(0);
    ASSERT_TRUE(add_to_both_and_copy(both_, from.data(), false));
    const std::uint64_t* const kept = both_.kept;
    for (int life = 0; life < 2; ++life) {
        EXPECT_EQ(sum_of_words(kept, 1), 0u);
        for (std::size_t at = 1; at < 100; ++at) ASSERT_EQ(sum_of_words(kept + at, 1), from[at - 1]) << at;
        expect_sound_pool(1);
        if (life == 0) reopen();
    }
    for (std::size_t at = 0; at < 100; ++at) ASSERT_EQ(ordinary_[at], 1u);
}

/// Small blocks, those of a new chunk, and those with chunks of their own.
TEST_F(OrdinaryMemory, AndThePoolAreRightWhereALargeBlockAllocatesAndFreesBehind) {
    for (const std::size_t words : {2u, 100u, 5'000u, 60'000u}) {
        open();
        make(100);
        auto* kept = static_cast<std::uint64_t*>(dnv_malloc(words * sizeof(std::uint64_t)));
        fill_words(kept, 1, 10);
        fill_words(kept + words - 1, 1, 20);
        for (std::uint64_t times = 1; times <= 3; ++times) {
            std::uint64_t* const before = kept;
            add_to_both_and_allocate(both_, words, kept, true);
            EXPECT_EQ(kept, before);
            expect_all_are(times - 1);
            ASSERT_TRUE(add_to_both_and_allocate(both_, words, kept, false));
            expect_all_are(times);
            if (times == 2) reopen();
            EXPECT_EQ(sum_of_words(kept, 1), 10 + times);
            EXPECT_EQ(sum_of_words(kept + words - 1, 1), 20 + times);
            expect_sound_pool(2);
        }
        ASSERT_TRUE(dnv_close());
        fs::remove(path());
    }
}

TEST_F(OrdinaryMemory, IsAsItWasWhereABlockMeetsDamage) {
    open();
    make(100);
    ASSERT_TRUE(add_to_both(both_));
    place_of(both_.kept + 98)->word ^= 1;
    ASSERT_TRUE(add_to_both(both_)) << "one bit is corrected on the way";
    expect_all_are(2);
    place_of(both_.kept + 98)->word ^= 0x0000'0F0F'0F0F'0000;
    dnv_on_uncorrectable([](const damage&) { return verdict::leave(); });
    const auto left = try_to_add_to_both(both_);
    ASSERT_FALSE(left);
    EXPECT_EQ(left.error().code, errc::corrupt) << left.error().text();
    for (std::size_t at = 0; at < 100; ++at) ASSERT_EQ(ordinary_[at], 2u) << at;
    EXPECT_EQ(sum_of_words(both_.kept, 98), 2u * 98);
    EXPECT_EQ(sum_of_words(both_.kept + 99, 1), 2u);
    unsigned asked = 0;
    dnv_on_uncorrectable([&](const damage&) { return ++asked, verdict::supply(2); });
    ASSERT_TRUE(add_to_both(both_)) << "the word is supplied on the way";
    EXPECT_EQ(asked, 1u);
    expect_all_are(3);
    dnv_on_uncorrectable(nullptr);
}

TEST_F(OrdinaryMemory, OfAThreadThatEndsBehindALargeBlockIsHome) {
    open();
    make(100);
    for (std::uint64_t times = 1; times <= 20; ++times) {
        std::thread([&] {
            EXPECT_TRUE(add_to_both(both_));
            add_to_both_and_cancel(both_);
        }).join();
        expect_all_are(times);
    }
}

static const std::uint64_t* looked_at;
static std::uint64_t seen_inside;

/// Where a block allocates first, no early store of a few words either.
TEST_F(OrdinaryMemory, OfASmallBlockWaitsForTheCommit) {
    open();
    make(8);
    looked_at = ordinary_.data();
    ASSERT_TRUE(add_to_both(both_, [] { seen_inside = *looked_at; }));
    EXPECT_EQ(seen_inside, 0u);
    expect_all_are(1);
    ASSERT_TRUE(add_to_both_behind_a_new_block(both_, [] { seen_inside = *looked_at; }));
    EXPECT_EQ(seen_inside, 1u);
    expect_all_are(2);
}

TEST_F(OrdinaryMemory, OfALargeBlockIsStoredToAtOnceWhileNoOtherThreadIsInOne) {
    open();
    make(100);
    looked_at = ordinary_.data();
    ASSERT_TRUE(add_to_both(both_, [] { seen_inside = *looked_at; }));
    EXPECT_EQ(seen_inside, 1u);
    looked_at = &place_of(both_.kept)->word;
    ASSERT_TRUE(add_to_both(both_, [] { seen_inside = *looked_at; }));
    EXPECT_EQ(seen_inside, 1u) << "the pool has what the last commit stored";
    expect_all_are(2);
}

TEST_F(OrdinaryMemory, AndThePoolAreSeenTogetherByOtherThreads) {
    open();
    make(200);
    std::atomic<bool> done = false;
    std::atomic<std::uint64_t> wrong = 0, rounds = 0;
    std::thread other([&] {
        // Equal in both arrays, at their ends: whoever saw half of a block would find them different.
        while (!done) {
            if (!are_equal_in_block(both_)) ++wrong;
            // Between its blocks the large ones may store at once.
            if (++rounds % 4 == 0) std::this_thread::yield();
        }
    });
    while (rounds < 10) std::this_thread::yield();
    const std::uint64_t all = at_full_length() ? 20'000 : 1000;
    looked_at = ordinary_.data();
    std::uint64_t at_once = 0;
    for (std::uint64_t times = 1; times <= all; ++times) {
        EXPECT_TRUE(add_to_both(both_, [] { seen_inside = *looked_at; }));
        if (seen_inside == times) ++at_once;
        if (times % 3 == 0) add_to_both_and_cancel(both_);
    }
    done = true;
    other.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(at_once, 0u);
    expect_all_are(all);
}

}  // namespace
}  // namespace holdfast::dnv::test
