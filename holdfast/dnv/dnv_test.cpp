// Blocks on a dnv pool: what is there after ends of all kinds, in a full pool, outside of blocks.
#include <holdfast/dnv/dnv_test_support.hpp>

namespace holdfast::dnv::test {
namespace {

TEST_F(Dnv, BlocksAndStaticVariablesAreThereAtTheNextOpening) {
    open();
    push_some(100);
    EXPECT_EQ(pop_front(), 100);
    reopen();
    expect_sound_list(99);
    expect_sound_pool(99);
    EXPECT_EQ(pop_front(), 99);
}

TEST_F(Dnv, BlocksThatDoNotCommitLeaveNothing) {
    open();
    push_some(10);
    push_and_cancel();
    expect_sound_list(10);
    push_one_after_cancelled_block();
    expect_sound_list(11);
    EXPECT_EQ(pop_front(), 7);
    EXPECT_THROW(push_and_throw(), int);
    expect_sound_list(11);
    reopen();
    expect_sound_list(11);
    expect_sound_pool(11);
}

TEST_F(Dnv, AnIrrevocableBlockStoresToThePoolAtItsCommitAlone) {
    use_nvram();
    open();
    push_some(3);
    static std::uint64_t count_inside;
    // In the pool, not as the block sees it.
    push_irrevocably(5, [] { count_inside = place_of(address_of_count())->word; });
    EXPECT_EQ(count_inside, 3u);
    EXPECT_EQ(read_count(), 4);
    ASSERT_TRUE(dnv_close());
    in_killed_child([] {
        push_irrevocably(6, [] { ::kill(::getpid(), SIGKILL); });
    });
    open();
    expect_sound_list(4);
    expect_sound_pool(4);
}

TEST_F(Dnv, MemoryIsNotLeakedByWhatDoesNotCommit) {
    open();
    push_some(1);
    const std::uint64_t chunks = dnv_state().chunks;
    for (int i = 0; i < 20'000; ++i) push_and_cancel();
    EXPECT_LE(dnv_state().chunks, chunks + 1);
    expect_sound_pool(1);
}

TEST_F(Dnv, AFullPoolSaysSoAndGivesBackWhatIsFreed) {
    options_.bytes = 4 << 20;
    open();
    const long made = allocate_all(1000);
    EXPECT_GT(made, 1000);
    free_all();
    EXPECT_EQ(allocate_all(1000), made);
    free_all();
    reopen();
    EXPECT_EQ(allocate_all(1000), made);
    ASSERT_TRUE(dnv_grow(8 << 20));
    EXPECT_GT(allocate_all(1000), made / 2);
    EXPECT_EQ(dnv_malloc(std::size_t{1} << 40), nullptr);
    free_all();
    expect_sound_pool(0);
}

TEST_F(Dnv, ABlockMayNeedSeveralChunks) {
    open();
    EXPECT_EQ(allocate_together(32'768, 3), 3);
    EXPECT_EQ(allocate_together(16, 5000), 5000);
    EXPECT_EQ(allocate_together(4096, 40), 40);
    free_all();
    expect_sound_pool(0);
}

TEST_F(Dnv, ABlockInAFullPoolGetsWhatThereIs) {
    options_.bytes = 4 << 20;
    open();
    const long all = allocate_all(100'000);
    EXPECT_EQ(allocate_together(100'000, 3), 0);
    free_all();
    EXPECT_EQ(allocate_together(100'000, all + 3), all);
    free_all();
    EXPECT_NE(dnv_malloc(100'000), nullptr) << "a refusal is of one transaction";
}

TEST_F(Dnv, MoreThreadsThanHeapsShareWhatThereIs) {
    options_.bytes = 4 << 20;
    open();
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 24; ++thread)
        threads.emplace_back([thread] {
            std::mt19937 random(thread);
            for (int i = 0; i < 300; ++i) {
                void* const kept[3] = {dnv_malloc(20'000), dnv_malloc(20'000), dnv_malloc(100)};
                auto* const words = static_cast<std::uint64_t*>(kept[random() % 3]);
                if (words != nullptr) {
                    fill_words(words, 8, thread);
                    EXPECT_EQ(sum_of_words(words, 8), 8u * thread);
                }
                for (void* each : kept) dnv_free(each);
            }
        });
    for (auto& each : threads) each.join();
    expect_sound_pool(0);
}

TEST_F(Dnv, WhatOneThreadFreesAnotherAllocates) {
    options_.bytes = 4 << 20;
    open();
    const long made = allocate_all(1000);
    long again = 0;
    std::thread([&] {
        free_all();
    }).join();
    // The heap of a thread that is there all the time.
    again = allocate_all(1000);
    EXPECT_GE(again, made - 1);
    free_all();
    expect_sound_pool(0);
}

TEST_F(Dnv, ATransactionLargerThanTheLogFailsAndLeavesNothing) {
    use_nvram();
    options_.log_bytes = 256 << 10;
    open();
    constexpr std::size_t words = 100'000;
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(words * sizeof(std::uint64_t)));
    ASSERT_NE(block, nullptr);
    fill_words(block, 1000, 7);
    const auto filled = try_to_fill_words(block, words, 9);
    ASSERT_FALSE(filled);
    EXPECT_EQ(filled.error().code, errc::transaction_too_large) << filled.error().text();
    EXPECT_EQ(sum_of_words(block, 1000), 7000u);
    ASSERT_TRUE(try_to_fill_words(block, 1000, 8));
    EXPECT_EQ(sum_of_words(block, 1000), 8000u);
}

TEST_F(Dnv, PartsOfWordsLeaveTheirNeighboursAndGetTheirCode) {
    open();
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(16));
    fill_words(block, 2, 0x1111'1111'1111'1111);
    store_parts(reinterpret_cast<unsigned char*>(block));
    EXPECT_EQ(place_of(block)->word, 0x0304'1111'AB11'1111u);
    EXPECT_EQ(place_of(block + 1)->word, 0x1111'1111'1111'0102u);
    expect_sound_pool(1);
}

TEST_F(Dnv, APoolWhoseFirstOpeningWasKilledIsSound) {
    for (const bool has_root : {false, true}) {
        create_options asked;
        asked.bytes = options_.bytes;
        asked.durability = options_.durability;
        auto made = engine::pool::create(path(), asked);
        ASSERT_TRUE(made) << made.error().text();
        if (has_root) { ASSERT_TRUE(made->root<root>(root::name, root::version)); }
        made->abandon();
        const auto checked = check_pool(path(), check_contents).value();
        EXPECT_TRUE(checked.sound());
        EXPECT_TRUE(list_damages_of(path()).value().words.empty());
        EXPECT_EQ(list_statics_of(path()).error().code, errc::not_found);
        ASSERT_TRUE(mend_pool(path()));
        open();
        push_front(1, 8);
        expect_sound_list(1);
        ASSERT_TRUE(dnv_close());
        std::filesystem::remove(path());
    }
}

/// Its words may be elsewhere.
TEST_F(Dnv, APoolOfAnotherVersionIsRefusedAndStaysAsItIs) {
    create_options asked;
    asked.bytes = options_.bytes;
    asked.durability = options_.durability;
    auto made = engine::pool::create(path(), asked).value();
    ASSERT_TRUE(made.root<root>(root::name, "2"));
    ASSERT_TRUE(made.atomically([&] { made.root<root>(root::name, "2").value()->header = 4096; }));
    ASSERT_TRUE(made.close());
    const auto opened = dnv_open(path(), options_);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::root_mismatch) << opened.error().text();
    const auto checked = check_pool(path(), check_contents).value();
    EXPECT_FALSE(checked.sound());
    EXPECT_EQ(list_damages_of(path()).error().code, errc::root_mismatch);
    EXPECT_EQ(mend_pool(path()).error().code, errc::root_mismatch);
    EXPECT_EQ(engine::pool::open(path(), asked).value().root<root>(root::name, "2").value()->header.get(), 4096u);
}

TEST_F(Dnv, WhatAThreadStoresToThePoolIsCountedWithItsCodes) {
    for (const bool protect : {true, false}) {
        options_.protect = protect;
        open();
        auto* const block = static_cast<std::uint64_t*>(dnv_malloc(1000));
        const auto stored_by = [](auto&& transaction) {
            const std::uint64_t before = dnv_state().bytes_stored_by_this_thread;
            transaction();
            return dnv_state().bytes_stored_by_this_thread - before;
        };
        const std::uint64_t word_bytes = protect ? 16 : 8;
        EXPECT_EQ(stored_by([&] { fill_words(block, 100, 1); }), 100 * word_bytes);
        EXPECT_EQ(stored_by([&] { store_parts(reinterpret_cast<unsigned char*>(block)); }), 2 * word_bytes);
        EXPECT_EQ(stored_by([&] { sum_of_words(block, 100); }), 0u);
        push_irrevocably(1, [] {});
        const std::uint64_t of_a_push = stored_by([&] { push_irrevocably(2, [] {}); });
        EXPECT_GT(of_a_push, 0u);
        EXPECT_EQ(stored_by([&] { push_irrevocably(3, [] {}); }), of_a_push);
        ASSERT_TRUE(dnv_close());
        std::filesystem::remove(path());
    }
}

TEST_F(Dnv, AnObjectIsMadeOnceInThePoolsLife) {
    open();
    touch_object_and_cancel();
    expect_sound_pool(0);
    EXPECT_EQ(touch_object().made_as, 42);
    EXPECT_EQ(touch_object().touched, 2);
    reopen();
    EXPECT_EQ(touch_object().touched, 3);
    expect_sound_pool(1);
}

TEST_F(Dnv, AnAccessOutsideOfBlocksEndsTheProgramWithItsPlace) {
    open();
    push_some(1);
    ASSERT_TRUE(dnv_close());
    int status = 0;
    std::string said = said_by_child([] { touch_count_plainly(); }, status);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    EXPECT_NE(said.find("count"), std::string::npos) << said;
    said = said_by_child([] { touch_node_plainly(); }, status);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    EXPECT_NE(said.find("block of 32 bytes"), std::string::npos) << said;
    said = said_by_child([] { dnv_free(reinterpret_cast<char*>(first_node()) + 1); }, status);
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_NE(said.find("dnv_free"), std::string::npos) << said;
}

void say_earlier(int) {
    const char text[] = "the earlier handler\n";
    if (::write(STDERR_FILENO, text, sizeof text - 1) > 0) ::_exit(5);
}

TEST_F(Dnv, AnEarlierHandlerOfFaultsIsStillCalled) {
    for (void (*const fault)() : {+[] { *reinterpret_cast<volatile int*>(8) = 1; }, &touch_count_plainly}) {
        int status = 0;
        const std::string said = said_by_child(
            [&] {
                ::signal(SIGSEGV, &say_earlier);
                // The guard is found to be gone, and comes back in front of the handler.
                if (!dnv_close() || !dnv_open(path(), options_)) ::_exit(3);
                fault();
            },
            status);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status;
        EXPECT_EQ(said.ends_with("the earlier handler\n"), true) << said;
        EXPECT_EQ(said.find("a touch outside of blocks") != std::string::npos, fault == &touch_count_plainly) << said;
    }
    int status = 0;
    const std::string said = said_by_child([] { *reinterpret_cast<volatile int*>(8) = 1; }, status);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    EXPECT_EQ(said, "");
}

/// A handler that calls the one that was there when it was installed, as crash reporters do.
struct sigaction called_by_chaining;
void chain(int signal, siginfo_t* info, void* context) { called_by_chaining.sa_sigaction(signal, info, context); }

TEST_F(Dnv, AHandlerOfFaultsThatLeadsBackEndsTheProgram) {
    int status = 0;
    const std::string said = said_by_child(
        [&] {
            struct sigaction ours{};
            ours.sa_sigaction = &chain;
            ours.sa_flags = SA_SIGINFO;
            ::sigaction(SIGSEGV, &ours, &called_by_chaining);
            if (!dnv_close() || !dnv_open(path(), options_)) ::_exit(3);
            ::alarm(10);
            touch_count_plainly();
        },
        status);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << status;
    EXPECT_NE(said.find("a touch outside of blocks"), std::string::npos) << said;
}

TEST_F(Dnv, AForkedChildHasNoPoolAndMayOpenAnother) {
    open();
    push_some(3);
    const pid_t child = ::fork();
    if (child == 0) {
        if (dnv_close() || !dnv_open(directory_ + "/of_child", options_)) ::_exit(1);
        push_some(2);
        ::_exit(summary().count == 2 && dnv_close() ? 0 : 2);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    expect_sound_list(3);
    const pid_t toucher = ::fork();
    if (toucher == 0) {
        ::close(STDERR_FILENO);
        touch_count_plainly();
        ::_exit(0);
    }
    ::waitpid(toucher, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    expect_sound_list(3);
    expect_sound_pool(3);
}

TEST_F(Dnv, AForkedChildOpensAnotherPoolWhateverThreadsHeldAtTheFork) {
    open();
    std::atomic<bool> are_held{false}, is_over{false};
    std::thread holder([&] {
        const std::scoped_lock held(the_space.taking, the_space.mutex, the_space.listing);
        the_space.unlisted.insert(&the_space);
        are_held = true;
        for (int i = 0; i < 2000 && !is_over; ++i) ::usleep(1000);
        the_space.unlisted.clear();
    });
    while (!are_held) std::this_thread::yield();
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(5);
        if (!dnv_open(directory_ + "/of_child", options_)) ::_exit(1);
        push_some(2);
        const bool is_right = summary().count == 2 && dnv_state().damaged_words == 0 && the_space.unlisted.empty();
        ::_exit(is_right && dnv_close() ? 0 : 2);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    is_over = true;
    holder.join();
}

TEST_F(Dnv, WhatCannotBeOpenedSaysWhy) {
    open();
    const auto twice = dnv_open(directory_ + "/other", options_);
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code, errc::misuse);
    ASSERT_TRUE(dnv_close());
    EXPECT_EQ(dnv_close().error().code, errc::misuse);
    {
        create_options other;
        other.durability = level::process;
        ASSERT_TRUE(redo::pool::create(directory_ + "/redo", other));
    }
    const auto of_other_engine = dnv_open(directory_ + "/redo", options_);
    ASSERT_FALSE(of_other_engine);
    EXPECT_EQ(of_other_engine.error().code, errc::engine_mismatch) << of_other_engine.error().text();
}

TEST_F(Dnv, ATransactionGetsMoreBlocksThanItsHeapHasFreeWhereAnotherHeapHasThem) {
    options_.bytes = 2 << 20;
    open();
    void* const own[] = {dnv_malloc(64), dnv_malloc(64)};
    const long all = allocate_all(64);
    std::thread(free_all).join();
    for (void* const each : own) dnv_free(each);
    EXPECT_EQ(allocate_together(64, 3), 3);
    EXPECT_EQ(allocate_all(64), all - 1) << "what is left";
    expect_sound_pool(static_cast<std::uint64_t>(all) + 2);
}

}  // namespace
}  // namespace holdfast::dnv::test
