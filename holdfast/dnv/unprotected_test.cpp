// Blocks without codes, beside others that have them.
#include <holdfast/dnv/dnv_test_support.hpp>
#include <holdfast/log/groups.hpp>

namespace holdfast::dnv::test {
namespace {

constexpr std::size_t words = 40;

bool is_unprotected_block(const void* block) {
    const auto in = the_space.chunks.find(block);
    return in && is_unprotected(in->which.of_class) && in->begins_block(block);
}

TEST_F(Dnv, ABlockWithoutCodesIsReadAsItIs) {
    for (unsigned way = 0; way < ways; ++way) {
        use_way(way);
        open();
        std::uint64_t* const block = fill_unprotected(words, 5, [](void*) {});
        ASSERT_TRUE(is_unprotected_block(block));
        EXPECT_FALSE(the_placement.has_code(block));
        fill_words(block + 1, 1, 6);
        EXPECT_EQ(place_of(block + 1)->word, 6u);
        EXPECT_EQ(place_of(block + 1)->code, 0u) << "none is made";
        reopen();
        EXPECT_EQ(sum_of_words(block, words), 5 * words + 1);
        place_of(block)->word ^= 0x0000'0F0F'0F0F'0000;
        EXPECT_EQ(read_in_block(block), 5 ^ 0x0000'0F0F'0F0F'0000u) << "nothing is compared";
        store_parts(reinterpret_cast<unsigned char*>(block + 2));
        EXPECT_EQ(place_of(block + 2)->word, 0x0304'0000'AB00'0005u);
        const audit_report found = audit_open_pool(false);
        EXPECT_GE(found.unprotected_words, words);
        expect_sound_pool(1);
        dnv_free(block);
        expect_sound_pool(0);
        EXPECT_EQ(dnv_state().mended_words, 0u);
        ASSERT_TRUE(dnv_close());
        EXPECT_TRUE(check_pool(path(), check_contents).value().sound());
    }
}

TEST_F(Dnv, TheFreeListOfBlocksWithoutCodesHasThem) {
    open();
    std::vector<void*> blocks;
    for (int each = 0; each < 20; ++each) blocks.push_back(fill_unprotected(words, 7, [](void*) {}));
    for (void* each : blocks) dnv_free(each);
    workload::random random(5);
    const auto in = the_space.chunks.find(blocks[0]);
    for (const void* each : blocks) {
        ecc::coded_word* const place = place_of(in->link_of(each));
        *place = ecc::flipped_by(*place, ecc::random_pattern(6, random));
    }
    std::vector<void*> again;
    for (int each = 0; each < 20; ++each) again.push_back(dnv_malloc_unprotected(words * 8));
    EXPECT_EQ(again, std::vector<void*>(blocks.rbegin(), blocks.rend()));
    EXPECT_EQ(dnv_state().mended_words, 20u);
}

TEST_F(Dnv, BlocksOfBothKindsAreMixedByThreadsAndFreedAlike) {
    options_.bytes = 4 << 20;
    open();
    push_some(20);
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 4; ++thread)
        threads.emplace_back([thread] {
            for (unsigned number = 0; number < 500; ++number) {
                EXPECT_TRUE(mix_kinds(thread * 500 + number));
                if (number % 10 == 0) fill_unprotected_and_cancel(words);
            }
        });
    for (auto& each : threads) each.join();
    expect_sound_list(20);
    expect_sound_pool(20);
    reopen();
    EXPECT_TRUE(mix_kinds(1));
    expect_sound_pool(20);
}

TEST_F(Dnv, WordsThatATransactionLeftWithoutCodesAreNobodysAfterAKill) {
    options_.bytes = 2 << 20;
    constexpr std::size_t many = 8000;
    in_killed_child([] { fill_unprotected(many, 0x5555, [](void*) { ::kill(::getpid(), SIGKILL); }); });
    open();
    expect_sound_pool(0);
    // The pages of the chunk that was given back.
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(many * sizeof(std::uint64_t)));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(sum_of_words(block, many), 0u) << "they would not fit their codes";
}

TEST_F(Dnv, ALargeChunkThatIsNobodysIsGivenBackInFewTransactions) {
    constexpr std::size_t many = (2 << 20) / 8;
    use_way(2);
    // At `process` a block that a transaction takes is stored to at once.
    options_.durability = level::process;
    in_killed_child([] { fill_unprotected(many, 0x5555, [](void*) { ::kill(::getpid(), SIGKILL); }); });
    options_.durability = level::power;
    open();
    ASSERT_TRUE(the_space.pool->homes_are_private());
    EXPECT_LE(the_space.pool->groups()->groups(), 20u) << "each waits for a sync";
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(many * sizeof(std::uint64_t)));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(sum_of_words(block, many), 0u) << "they would not fit their codes";
    dnv_free(block);
    expect_sound_pool(0);
    reopen();
    expect_sound_pool(0);
}

TEST_F(Dnv, BlocksWithoutCodesSurviveKills) {
    for (int round = 0; round < 10; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            if (!dnv_open(path(), options_)) ::_exit(3);
            for (unsigned number = 0;; ++number)
                if (!mix_kinds(number)) ::_exit(4);
        }
        ::usleep(static_cast<useconds_t>(12'000 + round * 700));
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status)) << status;
        open();
        const audit_report found = audit_open_pool(false);
        for (const error& each : found.problems) ADD_FAILURE() << each.text();
        // Those of the transactions that the kill came between.
        EXPECT_EQ(found.blocks % 6, 0u);
        ASSERT_TRUE(dnv_close());
    }
}

TEST_F(Dnv, WithoutCodesInThePoolBothKindsAreTheSame) {
    options_.protect = false;
    open();
    std::uint64_t* const block = fill_unprotected(words, 3, [](void*) {});
    EXPECT_FALSE(is_unprotected_block(block));
    reopen();
    EXPECT_EQ(sum_of_words(block, words), 3 * words);
    dnv_free(block);
    expect_sound_pool(0);
}

TEST_F(Dnv, LargeBlocksWithoutCodesHaveAChunkEach) {
    open();
    for (const std::size_t bytes : {std::size_t{16}, std::size_t{4096}, std::size_t{300'000}}) {
        std::uint64_t* const block = fill_unprotected(bytes / 8, 1, [](void*) {});
        EXPECT_TRUE(is_unprotected_block(block));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0u);
        EXPECT_EQ(sum_of_words(block, bytes / 8), bytes / 8);
        dnv_free(block);
    }
    expect_sound_pool(0);
    EXPECT_EQ(dnv_malloc_unprotected(std::size_t{1} << 40), nullptr);
}

}  // namespace
}  // namespace holdfast::dnv::test
