// What both algorithms promise to one thread, and to two that take turns.
#include <holdfast/stm/stm_test_support.hpp>

#include <cstring>

namespace holdfast::stm {
namespace {

using namespace holdfast::stm::test;

template <class A>
class StmLaws : public not_the_only_thread<A> {};
TYPED_TEST_SUITE(StmLaws, algorithms, algorithm_names);

TYPED_TEST(StmLaws, ATransactionSeesItsOwnStoresAndNobodyElseDoesBeforeCommit) {
    line data;
    data.words[0] = 1;
    TypeParam& open = TypeParam::of_this_thread();
    must_commit<TypeParam>([&] {
        EXPECT_EQ(open.load(&data.words[0]), 1u);
        open.store(&data.words[0], 2, 0xFF);
        open.store(&data.words[5], 7, 0xFF);
        EXPECT_EQ(open.load(&data.words[0]), 2u);
        EXPECT_EQ(open.load_after_read(&data.words[0]), 2u);
        EXPECT_EQ(open.load_after_write(&data.words[5]), 7u);
        EXPECT_EQ(open.load(&data.words[1]), 0u) << "a word of a line that is stored to, not stored to itself";
        EXPECT_EQ(data.words[0], 1u);
        EXPECT_EQ(data.words[5], 0u);
    });
    EXPECT_EQ(data.words[0], 2u);
    EXPECT_EQ(data.words[5], 7u);
    EXPECT_FALSE(open.active());
}

TYPED_TEST(StmLaws, MaskedStoresMergeWithEachOtherAndLeaveOtherBytesAlone) {
    line data;
    data.words[0] = 0x1122334455667788;
    TypeParam& open = TypeParam::of_this_thread();
    must_commit<TypeParam>([&] {
        open.store(&data.words[0], 0xAAAAAAAAAAAAAAAA, 0x01);
        EXPECT_EQ(open.load(&data.words[0]), 0x11223344556677AAu);
        open.store(&data.words[0], 0xBBBBBBBBBBBBBBBB, 0x81);
        open.store(&data.words[0], 0xCCCCCCCCCCCCCCCC, 0x08);
        EXPECT_EQ(open.load(&data.words[0]), 0xBB223344CC6677BBu);
        // Bytes that the transaction does not store to belong to somebody else.
        reinterpret_cast<unsigned char*>(&data.words[0])[1] = 0xEE;
    });
    EXPECT_EQ(data.words[0], 0xBB223344CC66EEBBu);
}

TYPED_TEST(StmLaws, EveryMaskStoresItsBytesAndNoOthers) {
    TypeParam& open = TypeParam::of_this_thread();
    for (unsigned mask = 1; mask < 256; ++mask) {
        line data;
        data.words[0] = 0x0102030405060708;
        must_commit<TypeParam>([&] { open.store(&data.words[0], ~word{0}, static_cast<std::uint8_t>(mask)); });
        ASSERT_EQ(data.words[0], merged(0x0102030405060708, ~word{0}, static_cast<std::uint8_t>(mask))) << mask;
    }
}

TYPED_TEST(StmLaws, WhatIsRolledBackNeverHappened) {
    line data;
    TypeParam& open = TypeParam::of_this_thread();
    open.begin({.restart = unexpected_restart});
    open.store(&data.words[0], 1, 0xFF);
    open.roll_back();
    EXPECT_FALSE(open.active());
    EXPECT_EQ(data.words[0], 0u);
    must_commit<TypeParam>([&] { EXPECT_EQ(open.load(&data.words[0]), 0u); });
    EXPECT_EQ(data.words[0], 0u);
}

TYPED_TEST(StmLaws, ACommitInBetweenRestartsALoadOfTheSameState) {
    line data;
    line other;
    int attempts = 0;
    companions<TypeParam> others;
    atomically<TypeParam>([&] {
        TypeParam& open = TypeParam::of_this_thread();
        const word first = open.load(&data.words[0]);
        if (++attempts == 1) {
            others.store(&data.words[0], &other.words[0], 5);
            open.load(&other.words[0]);
            ADD_FAILURE() << "a load of the new state after one of the old";
        }
        EXPECT_EQ(first, 5u);
        EXPECT_EQ(open.load(&other.words[0]), 5u);
    });
    EXPECT_EQ(attempts, 2);
}

TYPED_TEST(StmLaws, ACommitElsewhereDoesNotRestart) {
    line data;
    line other[2];
    int attempts = 0;
    companions<TypeParam> others;
    atomically<TypeParam>([&] {
        TypeParam& open = TypeParam::of_this_thread();
        EXPECT_EQ(open.load(&data.words[0]), 0u);
        if (++attempts == 1) others.store(&other[0].words[0], &other[1].words[0], 5);
        EXPECT_EQ(open.load(&other[0].words[0]), 5u) << "the snapshot was moved on";
        open.store(&data.words[0], 1, 0xFF);
    });
    EXPECT_EQ(attempts, 1);
    EXPECT_EQ(data.words[0], 1u);
}

TYPED_TEST(StmLaws, CommitFailsAfterAConflictAndTheCallerBeginsAgain) {
    line data;
    line result;
    companions<TypeParam> others;
    TypeParam& open = TypeParam::of_this_thread();
    open.begin({.restart = unexpected_restart});
    const word read = open.load(&data.words[0]);
    open.store(&result.words[0], read + 1, 0xFF);
    others.store(&data.words[0], &data.words[1], 9);
    EXPECT_FALSE(open.commit());
    EXPECT_TRUE(open.active());
    open.roll_back();
    EXPECT_EQ(result.words[0], 0u);
    must_commit<TypeParam>([&] { open.store(&result.words[0], open.load(&data.words[0]) + 1, 0xFF); });
    EXPECT_EQ(result.words[0], 10u);
}

TYPED_TEST(StmLaws, AReadOnlyTransactionThatMetAConflictKeepsItsReadSetThen) {
    line data;
    line other[2];
    int attempts = 0;
    companions<TypeParam> others;
    const auto read = [&] {
        TypeParam& open = TypeParam::of_this_thread();
        open.load(&data.words[0]);
        const int attempt = ++attempts;
        if (attempt < 4) others.store(&other[0].words[0], &other[1].words[0], 5);
        EXPECT_EQ(open.load(&other[0].words[0]), 5u);
        EXPECT_EQ(attempt, 2) << "the first attempt has no read set that could be validated, the second has";
    };
    atomically<TypeParam>(read, true);
    EXPECT_EQ(attempts, 2);
}

TYPED_TEST(StmLaws, WordsLoadedForWriteAreStoredToInAnyOrder) {
    line data[3];
    for (line& each : data) each = {};
    for (int round = 0; round < 3; ++round)
        must_commit<TypeParam>([&] {
            TypeParam& open = TypeParam::of_this_thread();
            word found[3];
            for (int i = 0; i < 3; ++i) found[i] = open.load_for_write(&data[i].words[1]);
            for (int i = 0; i < 3; ++i) EXPECT_EQ(open.load(&data[i].words[1]), found[i]);
            for (int i = 0; i < 3; ++i) open.store_after_write(&data[(i + 1) % 3].words[1], found[i] + 1, 0x0F);
            for (int i = 0; i < 3; ++i) EXPECT_EQ(open.load_after_write(&data[(i + 1) % 3].words[1]), found[i] + 1);
        });
    for (const line& each : data) EXPECT_EQ(each.words[1], 3u);
}

/// Also where a function without barriers has changed it since the load.
TYPED_TEST(StmLaws, APartThatWasNotStoredToIsWhatIsAtHome) {
    line data;
    for (int round = 0; round < 3; ++round) {
        data.words[0] = 0;
        must_commit<TypeParam>([&] {
            TypeParam& open = TypeParam::of_this_thread();
            open.store_after_write(&data.words[0], open.load_for_write(&data.words[0]) + 1, 0x0F);
            data.words[0] |= word{7} << 32;
            EXPECT_EQ(open.load(&data.words[0]) >> 32, 7u);
            EXPECT_EQ(open.load_for_write(&data.words[0]) >> 32, 7u);
        });
        EXPECT_EQ(data.words[0], word{7} << 32 | 1);
    }
}

#ifndef HOLDFAST_STM_TEST_ALGORITHMS

TEST(StmVersionedLaws, AWordLoadedForWriteIsLockedFromThenOn) {
    line data;
    companions<versioned> others;
    versioned& open = versioned::of_this_thread();
    open.begin({.restart = unexpected_restart});
    EXPECT_EQ(open.load_for_write(&data.words[0]), 0u);
    others.store(&data.words[0], &data.words[1], 9);
    EXPECT_EQ(open.load(&data.words[1]), 0u) << "a lock covers its line";
    open.store_after_read(&data.words[0], 1, 0xFF);
    EXPECT_TRUE(open.commit());
    others.join();
    EXPECT_EQ(data.words[0], 9u) << "the other one comes after";
}

TEST(StmVersionedLaws, ALockTakenForNothingIsGivenBackAsItWas) {
    line data;
    versioned& open = versioned::of_this_thread();
    open.begin({.restart = unexpected_restart});
    open.load_for_write(&data.words[0]);
    open.roll_back();
    open.begin({.restart = unexpected_restart});
    open.load_for_write(&data.words[0]);
    EXPECT_TRUE(open.commit());
    std::thread([&] {
        must_commit<versioned>([&] { versioned::of_this_thread().store(&data.words[0], 1, 0xFF); });
    }).join();
    EXPECT_EQ(data.words[0], 1u);
}

#endif

TYPED_TEST(StmLaws, ASerialTransactionExcludesOthers) {
    line data;
    TypeParam& open = TypeParam::of_this_thread();
    std::atomic<bool> through = false;
    static std::atomic<int> steps;
    steps = 0;
    open.begin({.serial = true, .restart = unexpected_restart});
    open.store(&data.words[0], 1, 0xFF);
    between = []() noexcept { return ++steps < 0; };
    std::thread other([&] {
        word seen = 0;
        atomically<TypeParam>([&] { seen = TypeParam::of_this_thread().load(&data.words[0]); });
        EXPECT_EQ(seen, 1u);
        through = true;
    });
    while (steps < 100) std::this_thread::yield();
    EXPECT_FALSE(through);
    EXPECT_TRUE(open.commit());
    other.join();
    between = nullptr;
}

TYPED_TEST(StmLaws, RangesOfAnyAlignmentAreCopiedAsMemmoveDoes) {
    const write_sets_are_large_from never(1000);
    TypeParam& open = TypeParam::of_this_thread();
    alignas(64) unsigned char shared[512];
    alignas(64) unsigned char expected[512];
    unsigned char own[256];
    for (unsigned from = 0; from < 20; from += 3) {
        for (unsigned bytes : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 65u, 200u}) {
            for (unsigned i = 0; i < 512; ++i) shared[i] = expected[i] = static_cast<unsigned char>(i * 7);
            must_commit<TypeParam>([&] {
                open.store(reinterpret_cast<word*>(shared + 64), 0x0101010101010101, 0x3C);
                std::memset(expected + 66, 1, 4);
                open.read_range(own, shared + 50 + from, bytes);
                EXPECT_EQ(std::memcmp(own, expected + 50 + from, bytes), 0) << from << ' ' << bytes;
                open.write_range(shared + 300 - from, own, bytes);
                std::memcpy(expected + 300 - from, own, bytes);
                open.copy_range(shared + 60 + from, shared + 50, bytes);
                std::memmove(expected + 60 + from, expected + 50, bytes);
                open.copy_range(shared + 90, shared + 95 + from, bytes);
                std::memmove(expected + 90, expected + 95 + from, bytes);
                open.fill_range(shared + 10 + from, 0x5A, bytes);
                std::memset(expected + 10 + from, 0x5A, bytes);
                EXPECT_EQ(shared[66], static_cast<unsigned char>(66 * 7)) << "nothing is home yet";
            });
            ASSERT_EQ(std::memcmp(shared, expected, sizeof shared), 0) << from << ' ' << bytes;
        }
    }
}

TYPED_TEST(StmLaws, FramesBornInsideAreStoredToAtOnce) {
    TypeParam& open = TypeParam::of_this_thread();
    line outside;
    // Where AddressSanitizer has a function's variables elsewhere they are in no frame.
    const auto inside = [&]() __attribute__((noinline, no_sanitize("address"))) {
        alignas(8) volatile word local[4] = {1, 2, 3, 4};
        auto* home = const_cast<word*>(&local[1]);
        open.store(home, 20, 0xFF);
        EXPECT_EQ(local[1], 20u);
        EXPECT_EQ(open.load(home), 20u);
        open.fill_range(const_cast<word*>(&local[2]), 0, 16);
        EXPECT_EQ(local[3], 0u);
        open.store(&outside.words[0], 1, 0xFF);
        EXPECT_EQ(outside.words[0], 0u) << "a frame from outside is not";
    };
    const auto transaction = [&]() __attribute__((noinline)) {
        open.begin({.frames_below = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)),
                    .restart = unexpected_restart});
        inside();
        EXPECT_TRUE(open.commit());
    };
    transaction();
    EXPECT_EQ(outside.words[0], 1u);
}

TYPED_TEST(StmLaws, ALargeTransactionCommitsEveryWord) {
    constexpr std::size_t words = 100'000;
    std::vector<word> data(words);
    TypeParam& open = TypeParam::of_this_thread();
    must_commit<TypeParam>([&] {
        for (std::size_t i = 0; i < words; ++i) open.store(&data[i * 7919 % words], i, 0xFF);
        for (std::size_t i = 0; i < words; ++i) ASSERT_EQ(open.load(&data[i * 7919 % words]), i);
    });
    for (std::size_t i = 0; i < words; ++i) ASSERT_EQ(data[i * 7919 % words], i);
}

TYPED_TEST(StmLaws, AnIrrevocableTransactionStoresHomeAtOnce) {
    line data;
    TypeParam& open = TypeParam::of_this_thread();
    open.begin({.restart = unexpected_restart});
    open.store(&data.words[0], 1, 0xFF);
    EXPECT_FALSE(open.irrevocable());
    EXPECT_EQ(data.words[0], 0u);
    if constexpr (requires { open.leave_hardware(); }) {
        // Only software can be alone.
        EXPECT_FALSE(open.become_irrevocable());
        open.roll_back();
        open.begin({.serial = true, .restart = unexpected_restart});
        open.store(&data.words[0], 1, 0xFF);
    }
    ASSERT_TRUE(open.become_irrevocable());
    EXPECT_TRUE(open.irrevocable());
    EXPECT_EQ(data.words[0], 1u) << "what was stored before is home";
    open.store(&data.words[1], 2, 0xFF);
    EXPECT_EQ(data.words[1], 2u);
    EXPECT_EQ(open.load(&data.words[1]), 2u);
    open.fill_range(&data.words[2], 0xFF, 12);
    EXPECT_EQ(data.words[2], ~word{0});
    EXPECT_EQ(data.words[3], 0xFFFFFFFFu);
    EXPECT_TRUE(open.become_irrevocable()) << "twice is once";
    EXPECT_TRUE(open.commit());
    EXPECT_FALSE(open.irrevocable());
    must_commit<TypeParam>([&] { open.store(&data.words[0], 3, 0xFF); });
    EXPECT_EQ(data.words[0], 3u);
}

TYPED_TEST(StmLaws, BecomingIrrevocableFailsAfterAConflict) {
    line data;
    companions<TypeParam> others;
    TypeParam& open = TypeParam::of_this_thread();
    open.begin({.restart = unexpected_restart});
    open.load(&data.words[0]);
    others.store(&data.words[0], &data.words[1], 9);
    EXPECT_FALSE(open.become_irrevocable());
    open.roll_back();
    open.begin({.serial = true, .restart = unexpected_restart});
    EXPECT_EQ(open.load(&data.words[0]), 9u);
    EXPECT_TRUE(open.become_irrevocable());
    EXPECT_TRUE(open.commit());
}

TYPED_TEST(StmLaws, ASerialTransactionIsBufferedAndCanBeRolledBack) {
    line data;
    TypeParam& open = TypeParam::of_this_thread();
    open.begin({.serial = true, .restart = unexpected_restart});
    open.store(&data.words[0], 1, 0xFF);
    EXPECT_EQ(data.words[0], 0u);
    EXPECT_EQ(open.load(&data.words[0]), 1u);
    open.roll_back();
    EXPECT_EQ(data.words[0], 0u);
    open.begin({.serial = true, .restart = unexpected_restart});
    open.store(&data.words[0], 2, 0xFF);
    EXPECT_TRUE(open.commit());
    EXPECT_EQ(data.words[0], 2u);
    std::thread other([&] {
        must_commit<TypeParam>([&] { TypeParam::of_this_thread().store(&data.words[0], 3, 0xFF); });
    });
    other.join();
    EXPECT_EQ(data.words[0], 3u) << "others run again";
}

TYPED_TEST(StmLaws, NestedCallsJoinTheOpenTransaction) {
    line data;
    TypeParam& open = TypeParam::of_this_thread();
    EXPECT_TRUE(atomically<TypeParam>([&] {
        open.store(&data.words[0], 1, 0xFF);
        atomically<TypeParam>([&] { open.store(&data.words[1], open.load(&data.words[0]) + 1, 0xFF); });
        EXPECT_EQ(data.words[1], 0u);
    }));
    EXPECT_EQ(data.words[1], 2u);
}

TYPED_TEST(StmLaws, AnExceptionRollsBackAndGoesOn) {
    line data;
    TypeParam& open = TypeParam::of_this_thread();
    EXPECT_THROW(atomically<TypeParam>([&] {
                     open.store(&data.words[0], 1, 0xFF);
                     throw std::string("out");
                 }),
                 std::string);
    EXPECT_FALSE(open.active());
    EXPECT_EQ(data.words[0], 0u);
}

TYPED_TEST(StmLaws, AnAbandonedTransactionReturnsFalse) {
    line data;
    TypeParam& open = TypeParam::of_this_thread();
    EXPECT_FALSE(atomically<TypeParam>([&] {
        open.store(&data.words[0], 1, 0xFF);
        abandon<TypeParam>();
    }));
    EXPECT_FALSE(open.active());
    EXPECT_EQ(data.words[0], 0u);
}

}  // namespace
}  // namespace holdfast::stm
