// What a pool keeps of flipped bits: words that nothing corrects, and how many were corrected in its life.
#include <holdfast/dnv/damages_test_support.hpp>

namespace holdfast::dnv::test {
namespace {

TEST_F(DnvDamages, AWordThatNothingCorrectsIsListedUntilItIsSupplied) {
    for (const unsigned way : {0u, 1u}) {
        use_way(way);
        open();
        std::uint64_t* const block = filled_block();
        break_word(block + 3);
        dnv_on_uncorrectable([](const damage&) { return verdict::leave(); });
        std::uint64_t sum = 0;
        for (int time = 0; time < 2; ++time) EXPECT_FALSE(try_to_sum_words(block, words, sum));
        EXPECT_EQ(dnv_state().damaged_words, 1u) << "once";
        EXPECT_EQ(sum_of_words(block, 3), 15u) << "the rest is usable";
        ASSERT_TRUE(dnv_close());
        EXPECT_EQ(list_damages_of(path()).value().words, std::vector<const void*>{block + 3});
        const auto checked = check_pool(path(), check_contents).value();
        EXPECT_FALSE(checked.sound());
        std::string said;
        for (const check_finding& each : checked.findings) said += each.words;
        EXPECT_NE(said.find("1 in the list of damaged words"), std::string::npos) << said;
        open();
        dnv_on_uncorrectable([](const damage&) { return verdict::supply(7); });
        EXPECT_EQ(sum_of_words(block, words), 5 * words + 2);
        EXPECT_EQ(dnv_state().damaged_words, 0u);
        ASSERT_TRUE(dnv_close());
        EXPECT_TRUE(list_damages_of(path()).value().words.empty());
    }
}

TEST_F(DnvDamages, AListedWordThatIsSoundAtTheNextOpeningIsListedNoMore) {
    // On a file at `power`: what flips is private memory.
    use_way(2);
    open();
    std::uint64_t* const block = filled_block();
    break_word(block + 3);
    dnv_on_uncorrectable([](const damage&) { return verdict::leave(); });
    std::uint64_t sum = 0;
    EXPECT_FALSE(try_to_sum_words(block, words, sum));
    ASSERT_TRUE(dnv_close());
    EXPECT_EQ(list_damages_of(path()).value().words, std::vector<const void*>{block + 3});
    open();
    EXPECT_EQ(dnv_state().damaged_words, 0u);
    EXPECT_EQ(sum_of_words(block, words), 5 * words);
}

TEST_F(DnvDamages, AProgramThatDamageEndsLeavesItListed) {
    open();
    std::uint64_t* const block = filled_block();
    break_word(block + 50);
    ASSERT_TRUE(dnv_close());
    int status = 0;
    const std::string said = said_by_child([&] { sum_of_words(block, words); }, status);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << said;
    EXPECT_EQ(list_damages_of(path()).value().words, std::vector<const void*>{block + 50});
    open();
    fill_words(block, words, 6);
    EXPECT_EQ(dnv_state().damaged_words, 1u) << "nobody has looked";
    EXPECT_TRUE(audit_open_pool(true).problems.empty());
    EXPECT_EQ(dnv_state().damaged_words, 0u) << "it is sound";
}

TEST_F(DnvDamages, TheListIsBoundedAndCountsTheRest) {
    open();
    std::uint64_t* const block = filled_block();
    for (unsigned each = 0; each < 70; ++each) break_word(block + each);
    ASSERT_TRUE(dnv_close());
    EXPECT_EQ(mend_pool(path()).value().damaged.size(), 70u);
    damage_listing found = list_damages_of(path()).value();
    EXPECT_EQ(found.words.size(), 64u);
    EXPECT_EQ(found.further, 6u);
    open();
    EXPECT_EQ(dnv_state().damaged_words, 70u);
    fill_words(block, 68, 6);
    EXPECT_EQ(audit_open_pool(true).damaged.size(), 2u);
    found = read_damages(*the_space.in_pool);
    EXPECT_EQ(found.words, (std::vector<const void*>{block + 68, block + 69}));
    EXPECT_EQ(found.further, 0u);
}

TEST_F(DnvDamages, AWordThatFoundNoRoomInTheListCountsOnce) {
    open();
    std::uint64_t* const block = filled_block();
    for (unsigned each = 0; each < 70; ++each) break_word(block + each);
    dnv_on_uncorrectable([](const damage&) { return verdict::leave(); });
    std::uint64_t sum = 0;
    for (unsigned time = 0; time < 3; ++time)
        for (unsigned each = 0; each < 70; ++each) EXPECT_FALSE(try_to_sum_words(block + each, 1, sum));
    EXPECT_EQ(dnv_state().damaged_words, 70u);
    reopen();
    EXPECT_EQ(dnv_state().damaged_words, 70u);
    for (unsigned each = 64; each < 70; ++each) EXPECT_FALSE(try_to_sum_words(block + each, 1, sum));
    EXPECT_EQ(dnv_state().damaged_words, 70u) << "the same ones as in the life before";
    fill_words(block, 64, 5);
    ASSERT_TRUE(review_damages(*the_space.handle));
    EXPECT_EQ(read_damages(*the_space.in_pool).words.size(), 6u) << "there is room for them now";
    EXPECT_EQ(dnv_state().damaged_words, 6u);
    EXPECT_TRUE(audit_open_pool(true).damaged.size() == 6);
    dnv_on_uncorrectable([](const damage&) { return verdict::supply(5); });
    EXPECT_EQ(sum_of_words(block, words), 5 * words);
    EXPECT_EQ(dnv_state().damaged_words, 0u);
    reopen();
    EXPECT_EQ(dnv_state().damaged_words, 0u);
}

TEST_F(DnvDamages, AWordOfTheChunkTableThatNothingCorrectsIsWhatTheDirectorySays) {
    for (const unsigned way : {0u, 1u}) {
        use_way(way);
        open();
        std::uint64_t* const block = filled_block();
        const auto chunk_of_block = the_space.chunks.find(block);
        ASSERT_TRUE(dnv_close());
        for (const unsigned slot : {chunk_of_block->slot, 77u}) {
            open();
            break_word(&the_space.staged->chunks[slot]);
            ASSERT_TRUE(dnv_close());
            open();
            EXPECT_EQ(sum_of_words(block, words), 5 * words);
            expect_sound_pool(1);
            ASSERT_TRUE(dnv_close());
        }
    }
}

TEST_F(DnvDamages, TheListIsReadWithItsFlippedBitsCorrected) {
    open();
    std::uint64_t* const block = filled_block();
    break_word(block);
    audit_open_pool(true);
    workload::random random(3);
    auto* const list = reinterpret_cast<ecc::coded_word*>(&the_space.in_pool->life);
    for (unsigned each = 0; each < damages::kept::count; ++each)
        list[each] = ecc::flipped_by(list[each], ecc::random_pattern(6, random));
    EXPECT_EQ(read_damages(*the_space.in_pool).words, std::vector<const void*>{block});
    EXPECT_EQ(dnv_state().damaged_words, 1u);
    fill_words(block, 1, 6);
    audit_open_pool(true);
    for (unsigned each = 0; each < damages::kept::count; ++each) EXPECT_TRUE(ecc::is_valid(list[each]));
    list[0].word = 0x1234'5678'9ABC;
    ASSERT_TRUE(dnv_close());
    EXPECT_EQ(list_damages_of(path()).value().lost, 0u) << "closing stores it anew";
}

TEST_F(DnvDamages, WhatWasCorrectedIsCountedOverThePoolsLife) {
    open();
    std::uint64_t* const block = filled_block();
    const auto flip_two = [&] { place_of(block + 9)->word ^= 3; };
    for (std::uint64_t opening = 1; opening <= 3; ++opening) {
        flip_two();
        EXPECT_EQ(sum_of_words(block, words), 5 * words);
        EXPECT_EQ(dnv_state().mended_words, 1u);
        EXPECT_EQ(dnv_state().mended_words_of_life, opening);
        EXPECT_EQ(dnv_state().mended_bits_of_life, 2 * opening);
        reopen();
        EXPECT_EQ(dnv_state().mended_words, 0u);
    }
    flip_two();
    ASSERT_TRUE(dnv_close());
    EXPECT_EQ(mend_pool(path()).value().flipped_words, 1u);
    EXPECT_EQ(list_damages_of(path()).value().mended_words, 4u);
    EXPECT_EQ(list_damages_of(path()).value().mended_bits, 8u);
}

}  // namespace
}  // namespace holdfast::dnv::test
