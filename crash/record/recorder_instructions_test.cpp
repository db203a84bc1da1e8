// Instructions that store more than a word, each by name.
#include <crash/record/recorder_test_support.hpp>

#include <cpuid.h>

#include <array>
#include <string>

namespace holdfast::crash {
namespace {

/// In shared memory, which has a second mapping, and in private memory, whose pages are opened.
class RecorderInstructions : public RecorderTest, public ::testing::WithParamInterface<int> {
protected:
    RecorderInstructions() : RecorderTest(GetParam()) {
        source_.resize(size);
        for (std::size_t i = 0; i < size; ++i) source_[i] = static_cast<std::uint8_t>(1 + i * 7 % 251);
    }
    std::vector<std::uint8_t> source_;
};

TEST_P(RecorderInstructions, AVectorStoreAcrossTwoPages) {
    if (!__builtin_cpu_supports("avx")) GTEST_SKIP() << "no AVX";
    recorder seen(pool());
    asm volatile("vmovdqu (%0), %%ymm0\n vmovdqu %%ymm0, (%1)\n vzeroupper" ::"r"(source_.data()),
                 "r"(bytes_ + page - 12)
                 : "xmm0", "memory");
    const trace recorded = seen.take().value();
    EXPECT_EQ(std::memcmp(bytes_ + page - 12, source_.data(), 32), 0);
    ASSERT_EQ(recorded.events.size(), 5u) << "half a word, a word; two words and a half";
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(recorded.events[i].place, page / 8 - 2 + i);
    expect_accounts_for_memory(recorded);
}

TEST_P(RecorderInstructions, ARepeatedMoveOfBytesOverThreePages) {
    recorder seen(pool());
    void* to = bytes_ + page - 5;
    const void* from = source_.data();
    std::size_t left = 2 * page;
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(left)::"memory");
    const trace recorded = seen.take().value();
    EXPECT_EQ(to, bytes_ + 3 * page - 5);
    EXPECT_EQ(from, source_.data() + 2 * page);
    EXPECT_EQ(left, 0u);
    EXPECT_EQ(std::memcmp(bytes_ + page - 5, source_.data(), 2 * page), 0);
    EXPECT_EQ(recorded.events.size(), 2 * page) << "each byte is a store";
    EXPECT_EQ(recorded.events[0].place, page / 8 - 1);
    EXPECT_EQ(recorded.events[0].value, std::uint64_t{source_[0]} << 24);
    EXPECT_EQ(recorded.events[1].value, std::uint64_t{source_[1]} << 32 | std::uint64_t{source_[0]} << 24);
    expect_accounts_for_memory(recorded);
}

TEST_P(RecorderInstructions, ARepeatedStoreOfWordsThatLieAcrossPages) {
    recorder seen(pool());
    void* to = bytes_ + page - 36;
    std::size_t left = 1000;
    asm volatile("rep stosq" : "+D"(to), "+c"(left) : "a"(0x0807060504030201u) : "memory");
    const trace recorded = seen.take().value();
    EXPECT_EQ(to, bytes_ + page - 36 + 8000);
    EXPECT_EQ(bytes_[page - 36 + 7999], std::byte{8});
    EXPECT_EQ(bytes_[page - 36 + 8000], std::byte{0});
    EXPECT_EQ(recorded.events.size(), 2000u) << "each half in one word, half in the next";
    expect_accounts_for_memory(recorded);
}

TEST_P(RecorderInstructions, RepeatedStringInstructionsOfOtherSizes) {
    recorder seen(pool());
    void* to = bytes_ + page - 6;
    const void* from = source_.data();
    std::size_t left = 6;
    asm volatile("rep movsw" : "+D"(to), "+S"(from), "+c"(left)::"memory");
    left = 3;
    asm volatile("rep movsl" : "+D"(to), "+S"(from), "+c"(left)::"memory");
    left = 3;
    asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(left)::"memory");
    EXPECT_EQ(std::memcmp(bytes_ + page - 6, source_.data(), 48), 0);
    left = 5;
    asm volatile("rep stosb" : "+D"(to), "+c"(left) : "a"(0xAB) : "memory");
    EXPECT_EQ(to, bytes_ + page - 6 + 53);
    EXPECT_EQ(bytes_[page - 6 + 52], std::byte{0xAB});
    left = 0;
    asm volatile("rep stosb" : "+D"(to), "+c"(left) : "a"(0xAB) : "memory");
    EXPECT_EQ(to, bytes_ + page - 6 + 53);
    expect_accounts_for_memory(seen.take().value());
}

TEST_P(RecorderInstructions, ARepeatedMoveDownwards) {
    recorder seen(pool());
    void* to = bytes_ + page + 9;
    const void* from = source_.data() + 19;
    std::size_t left = 20;
    asm volatile("std\n rep movsb\n cld" : "+D"(to), "+S"(from), "+c"(left)::"memory");
    const trace recorded = seen.take().value();
    EXPECT_EQ(std::memcmp(bytes_ + page - 10, source_.data(), 20), 0);
    ASSERT_EQ(recorded.events.size(), 20u);
    EXPECT_EQ(recorded.events.front().place, page / 8 + 1);
    EXPECT_EQ(recorded.events.back().place, page / 8 - 2);
    expect_accounts_for_memory(recorded);
}

TEST_P(RecorderInstructions, ALockedExchangeOfSixteenBytes) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_CMPXCHG16B) == 0) GTEST_SKIP() << "no cmpxchg16b";
    const auto exchange = [this](std::uint64_t low, std::uint64_t high) {
        bool exchanged;
        asm volatile("lock cmpxchg16b (%3)"
                     : "=@ccz"(exchanged), "+a"(low), "+d"(high)
                     : "r"(word(2)), "b"(std::uint64_t{7}), "c"(std::uint64_t{8})
                     : "memory");
        return exchanged;
    };
    *word(2) = 5;
    *word(3) = 6;
    recorder seen(pool());
    EXPECT_FALSE(exchange(5, 5));
    EXPECT_TRUE(exchange(5, 6));
    const trace recorded = seen.take().value();
    ASSERT_EQ(recorded.events.size(), 2u) << "the one that failed changed nothing";
    EXPECT_EQ(recorded.events[0].value, 7u);
    EXPECT_EQ(recorded.events[1].value, 8u);
    EXPECT_EQ(recorded.events[0].code, recorded.events[1].code);
    expect_accounts_for_memory(recorded);
}

TEST_P(RecorderInstructions, ASavedProcessorStateAcrossTwoPages) {
    recorder seen(pool());
    asm volatile("fxsave64 (%0)" ::"r"(bytes_ + page - 256) : "memory");
    const trace recorded = seen.take().value();
    EXPECT_GE(recorded.events.size(), 2u);
    expect_accounts_for_memory(recorded);
}

INSTANTIATE_TEST_SUITE_P(Memory, RecorderInstructions, ::testing::Values(MAP_SHARED, MAP_PRIVATE));

/// One instruction, eight words, a page between each two.
[[gnu::target("avx512f")]] void scatter(std::byte* to, std::uint64_t distance) {
    const std::array<std::uint64_t, 8> offsets{0,            distance,     2 * distance, 3 * distance,
                                               4 * distance, 5 * distance, 6 * distance, 7 * distance};
    asm volatile(
        "vmovdqu64 (%0), %%zmm16\n kxnorw %%k1, %%k1, %%k1\n"
        "vpscatterqq %%zmm16, (%1, %%zmm16)%{%%k1%}\n vzeroupper" ::"r"(offsets.data()),
        "r"(to)
        : "xmm16", "k1", "memory");
}

TEST_P(RecorderInstructions, AScatterOverEightPages) {
    if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "no AVX-512";
    recorder seen(pool());
    scatter(bytes_ + 8, page + 8);
    const trace recorded = seen.take().value();
    EXPECT_EQ(*word(1 + 7 * (page / 8 + 1)), 7 * (page + 8));
    EXPECT_EQ(recorded.events.size(), 7u) << "the first of the eight stores a 0";
    expect_accounts_for_memory(recorded);
}

TEST_P(RecorderInstructions, AScatterWithinTwoPages) {
    if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "no AVX-512";
    recorder seen(pool());
    scatter(bytes_ + page - 4 * 24, 24);
    const trace recorded = seen.take().value();
    EXPECT_EQ(recorded.events.size(), 7u);
    expect_accounts_for_memory(recorded);
}

}  // namespace
}  // namespace holdfast::crash
