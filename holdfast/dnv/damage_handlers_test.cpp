// Who decides about a word that nothing corrects, and what may be decided.
#include <holdfast/dnv/damages_test_support.hpp>
#include <holdfast/dnv/thread_heap.hpp>

#include <pthread.h>

namespace holdfast::dnv::test {
namespace {

using DnvDamageHandlers = DnvDamages;

TEST_F(DnvDamageHandlers, AHandlerThatMeetsAnotherDamagedWordDecidesAboutItsOwn) {
    open();
    std::uint64_t* const block = filled_block();
    break_word(block + 3);
    break_word(block + 9);
    unsigned asked = 0;
    dnv_on_uncorrectable([&](const damage& found) {
        ++asked;
        if (found.address == block + 9) return verdict::supply(222);
        EXPECT_EQ(read_in_block(block + 9), 222u);
        EXPECT_EQ(found.address, block + 3);
        return verdict::supply(111);
    });
    EXPECT_EQ(read_in_block(block + 3), 111u);
    EXPECT_EQ(read_in_block(block + 9), 222u);
    EXPECT_EQ(asked, 2u) << "each word gets the answer that was given about it";
    EXPECT_EQ(dnv_state().damaged_words, 0u);
}

TEST_F(DnvDamageHandlers, NobodySuppliesAWordOfTheHeap) {
    open();
    std::uint64_t* const block = filled_block();
    std::uint64_t* const other = filled_block();
    dnv_free(block);
    const unsigned of_class = class_for(words * sizeof(std::uint64_t));
    for (const void* at : {static_cast<const void*>(block),
                           static_cast<const void*>(&the_space.bin_of(heap_of_this_thread().number, of_class).free)}) {
        const ecc::coded_word before = *place_of(at);
        break_word(at);
        unsigned asked = 0;
        dnv_on_uncorrectable([&](const damage& found) {
            ++asked;
            EXPECT_TRUE(found.is_of_heap);
            EXPECT_EQ(found.address, at);
            return verdict::supply(0);
        });
        const auto left = try_to_allocate(words * sizeof(std::uint64_t));
        ASSERT_FALSE(left);
        EXPECT_EQ(left.error().code, errc::corrupt);
        EXPECT_EQ(asked, 1u);
        *place_of(at) = before;
    }
    dnv_on_uncorrectable([](const damage& found) {
        EXPECT_FALSE(found.is_of_heap);
        return verdict::supply(5);
    });
    break_word(other + 1);
    EXPECT_EQ(sum_of_words(other, words), 5 * words) << "an attempt that the heap has ended says nothing of the next";
    expect_sound_pool(1);
}

TEST_F(DnvDamageHandlers, AHandlerMayAllocateWhileAnotherHeapsListIsTakenOver) {
    options_.bytes = 8 << 20;
    open();
    std::vector<void*> all;
    std::atomic<bool> is_freed{false}, is_over{false};
    std::thread other([&] {
        while (void* const each = dnv_malloc(64)) all.push_back(each);
        for (void* each : all) dnv_free(each);
        is_freed = true;
        is_freed.notify_one();
        is_over.wait(false);
    });
    is_freed.wait(false);
    const void* const broken = all[all.size() - 10];
    break_word(broken);
    unsigned asked = 0;
    dnv_on_uncorrectable([&](const damage& found) {
        ++asked;
        EXPECT_EQ(found.address, broken);
        // Nothing of that size is free anywhere.
        dnv_free(dnv_malloc(300));
        return verdict::leave();
    });
    const auto left = try_to_allocate(64);
    EXPECT_GE(asked, 1u);
    EXPECT_FALSE(left);
    is_over = true;
    is_over.notify_one();
    other.join();
}

TEST_F(DnvDamageHandlers, AnIrrevocableBlockThatReadsADamagedWordListsItAndEndsTheProgram) {
    open();
    static std::uint64_t* block;
    block = filled_block();
    break_word(block + 3);
    ASSERT_TRUE(dnv_close());
    int status = 0;
    const std::string said =
        said_by_child([&] { push_irrevocably(1, [] { static_cast<void>(sum_of_words(block, words)); }); }, status);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << said;
    EXPECT_NE(said.find("more flipped bits than its code corrects"), std::string::npos) << said;
    EXPECT_EQ(list_damages_of(path()).value().words, std::vector<const void*>{block + 3});
}

TEST_F(DnvDamageHandlers, AThreadIsNotCancelledWhileItsHandlerIsAsked) {
    open();
    static std::uint64_t* block;
    static std::atomic<bool> is_asked, is_cancelled, has_read;
    block = filled_block();
    break_word(block + 3);
    dnv_on_uncorrectable([](const damage&) {
        is_asked = true;
        is_asked.notify_one();
        is_cancelled.wait(false);
        ::pthread_testcancel();
        return verdict::supply(5);
    });
    pthread_t thread;
    ASSERT_EQ(::pthread_create(
                  &thread, nullptr,
                  [](void*) -> void* {
                      has_read = sum_of_words(block, words) == 5 * words;
                      ::pthread_testcancel();
                      return nullptr;
                  },
                  nullptr),
              0);
    is_asked.wait(false);
    ::pthread_cancel(thread);
    is_cancelled = true;
    is_cancelled.notify_one();
    void* ended = nullptr;
    ::pthread_join(thread, &ended);
    EXPECT_EQ(ended, PTHREAD_CANCELED);
    EXPECT_TRUE(has_read);
    EXPECT_EQ(dnv_state().damaged_words, 0u);
}

}  // namespace
}  // namespace holdfast::dnv::test
