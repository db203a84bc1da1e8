// Memory and threads: who gives which block back when, what is allocated, thread exit, more threads than slots, fork,
// progress. On the library as programs link it.
#include <holdfast/stm/stm_test_support.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <set>
#include <vector>

namespace {

/// Calls of malloc and its like by this thread.
thread_local std::uint64_t allocations = 0;
/// This thread's reallocations fail.
thread_local bool memory_is_gone = false;

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if !defined(__has_feature)
#define HOLDFAST_COUNTS_ALLOCATIONS 1
#elif !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define HOLDFAST_COUNTS_ALLOCATIONS 1
#endif
#endif

#ifdef HOLDFAST_COUNTS_ALLOCATIONS
// The C library's own names, which let a program put its own in front.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* malloc(std::size_t bytes) {
    ++allocations;
    return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
    ++allocations;
    return __libc_calloc(count, bytes);
}
void* realloc(void* block, std::size_t bytes) {
    ++allocations;
    return memory_is_gone ? nullptr : __libc_realloc(block, bytes);
}
}
#endif

namespace holdfast::stm {
namespace {

using namespace holdfast::stm::test;

template <class A>
class StmThreads : public not_the_only_thread<A> {};
TYPED_TEST_SUITE(StmThreads, algorithms, algorithm_names);

/// An allocator that remembers what came back.
struct counting_allocator {
    static inline std::atomic<int> given_back = 0;
    static void back(void* block, std::size_t bytes, std::size_t alignment) {
        EXPECT_EQ(bytes, 64u);
        EXPECT_EQ(alignment, 16u);
        ++given_back;
        std::free(block);
    }
};

template <class A>
void* allocate_block() {
    void* const made = std::aligned_alloc(64, 64);
    std::memset(made, 0, 64);
    A::of_this_thread().note_allocated(made, 64, 16, counting_allocator::back);
    return made;
}
template <class A>
void free_block(void* block) {
    A::of_this_thread().free_at_commit(block, 64, 16, counting_allocator::back);
}

TYPED_TEST(StmThreads, StoresIntoFreshBlocksGoHomeAtOnceHoweverManyThereAre) {
    TypeParam& open = TypeParam::of_this_thread();
    std::vector<word*> blocks;
    line shared;
    must_commit<TypeParam>([&] {
        for (int i = 0; i < 100; ++i) {
            blocks.push_back(static_cast<word*>(allocate_block<TypeParam>()));
            open.store(blocks[static_cast<std::size_t>(i) / 2] + 3, 7, 0xFF);
            EXPECT_EQ(blocks[static_cast<std::size_t>(i) / 2][3], 7u);
            EXPECT_EQ(open.load(blocks[static_cast<std::size_t>(i) / 2] + 3), 7u);
            open.fill_range(blocks.back(), 1, 24);
            EXPECT_EQ(blocks.back()[2], 0x0101010101010101u);
            open.store(&shared.words[0], 1, 0xFF);
            EXPECT_EQ(shared.words[0], 0u);
        }
    });
    for (word* each : blocks) std::free(each);
}

TYPED_TEST(StmThreads, RollingBackGivesBackWhatWasAllocatedAndNothingThatWasFreed) {
    TypeParam& open = TypeParam::of_this_thread();
    void* const old = std::aligned_alloc(64, 64);
    counting_allocator::given_back = 0;
    open.begin({.restart = unexpected_restart});
    allocate_block<TypeParam>();
    allocate_block<TypeParam>();
    free_block<TypeParam>(old);
    EXPECT_EQ(counting_allocator::given_back, 0);
    open.roll_back();
    EXPECT_EQ(counting_allocator::given_back, 2);
    must_commit<TypeParam>([] {});
    EXPECT_EQ(counting_allocator::given_back, 2);
    std::free(old);
}

TYPED_TEST(StmThreads, BlocksAreFreedAfterCommitAndAllOfThemByTheThreadsEnd) {
    counting_allocator::given_back = 0;
    std::thread([] {
        for (int i = 0; i < 1000; ++i) {
            void* block = nullptr;
            must_commit<TypeParam>([&] { block = allocate_block<TypeParam>(); });
            must_commit<TypeParam>([&] {
                const int before = counting_allocator::given_back;
                free_block<TypeParam>(block);
                EXPECT_EQ(counting_allocator::given_back, before) << "at commit, not before";
            });
        }
    }).join();
    EXPECT_EQ(counting_allocator::given_back, 1000);
}

TYPED_TEST(StmThreads, ABlockIsKeptWhileATransactionIsOpenThatBeganBefore) {
    TypeParam& open = TypeParam::of_this_thread();
    counting_allocator::given_back = 0;
    std::atomic<bool> began = false;
    std::atomic<bool> through = false;
    open.begin({.restart = unexpected_restart});
    line other;
    open.load(&other.words[0]);
    std::thread freeing([&] {
        for (int i = 0; i < 2000; ++i) {
            void* block = nullptr;
            atomically<TypeParam>([&] { block = allocate_block<TypeParam>(); });
            began = true;
            atomically<TypeParam>([&] {
                TypeParam::of_this_thread().store(static_cast<word*>(block), 1, 0xFF);
                free_block<TypeParam>(block);
            });
        }
        through = true;
    });
    // `value` goes on and keeps the blocks; `versioned` waits with the first.
    for (int i = 0; i < 2000 && !through; ++i) {
        EXPECT_EQ(counting_allocator::given_back, 0);
        std::this_thread::yield();
    }
    EXPECT_TRUE(open.commit());
    freeing.join();
    EXPECT_EQ(counting_allocator::given_back, 2000);
}

#ifdef HOLDFAST_COUNTS_ALLOCATIONS
TYPED_TEST(StmThreads, NothingIsAllocatedOnceWarm) {
    TypeParam& open = TypeParam::of_this_thread();
    std::vector<line> lines(5000);
    std::vector<void*> blocks(100);
    std::uint64_t after_first = 0;
    for (int round = 0; round < 12; ++round) {
        must_commit<TypeParam>([&] {
            for (line& each : lines) open.store(&each.words[0], open.load(&each.words[1]) + 1, 0xFF);
            open.copy_range(&lines[0], &lines[100], 4000);
            for (void*& each : blocks) open.note_allocated(each, 64, 16, [](void*, std::size_t, std::size_t) {});
            for (void*& each : blocks) open.free_at_commit(each, 64, 16, [](void*, std::size_t, std::size_t) {});
        });
        for (int i = 0; i < 10; ++i) atomically<TypeParam>([&] { open.store(&lines[0].words[0], 1, 0xFF); });
        if (round == 5) after_first = allocations;
    }
    EXPECT_EQ(allocations, after_first);
}

TYPED_TEST(StmThreads, WithoutMemoryALargeWriteSetIsRolledBackOrCommitsWhole) {
    // A thread of its own: nothing of its transaction is warm.
    std::thread([] {
        std::vector<word> homes(300);
        bool is_rolled_back = false;
        try {
            atomically<TypeParam>([&] {
                for (std::size_t i = 0; i < homes.size(); ++i) {
                    memory_is_gone = i > 0;
                    TypeParam::of_this_thread().store(&homes[i], 5, 0xFF);
                }
                memory_is_gone = false;
            });
        } catch (const std::bad_alloc&) {
            is_rolled_back = true;
        }
        memory_is_gone = false;
        EXPECT_EQ(homes, std::vector<word>(homes.size(), is_rolled_back ? 0 : 5));
    }).join();
}
#endif

TYPED_TEST(StmThreads, AThreadsEndFreesItsSlot) {
    line data;
    for (unsigned i = 0; i < 3 * registry::most_threads; ++i)
        std::thread([&] { atomically<TypeParam>([&] { add_one<TypeParam>(&data.words[0]); }); }).join();
    EXPECT_EQ(data.words[0], 3 * registry::most_threads);
    // If slots were lost, this transaction would be alone.
    std::atomic<int> inside = 0;
    const auto both = [&] {
        TypeParam& open = TypeParam::of_this_thread();
        open.begin({.restart = unexpected_restart});
        ++inside;
        while (inside < 2) std::this_thread::yield();
        EXPECT_TRUE(open.commit());
    };
    std::thread one(both);
    std::thread other(both);
    one.join();
    other.join();
}

TYPED_TEST(StmThreads, MoreThreadsThanSlotsAllComeThrough) {
#if defined(HOLDFAST_FEW_PLACES)
    constexpr unsigned threads = 40;
#else
    constexpr unsigned threads = registry::most_threads + 40;
#endif
    line data;
    std::atomic<unsigned> arrived = 0;
    std::vector<std::thread> all;
    for (unsigned i = 0; i < threads; ++i)
        all.emplace_back([&] {
            atomically<TypeParam>([&] { add_one<TypeParam>(&data.words[0]); });
            ++arrived;
            // All are alive at once, so that those beyond the slots have none.
            while (arrived < threads) std::this_thread::yield();
            for (int k = 0; k < 5; ++k) atomically<TypeParam>([&] { add_one<TypeParam>(&data.words[0]); });
        });
    for (std::thread& each : all) each.join();
    EXPECT_EQ(data.words[0], 6u * threads);
}

TYPED_TEST(StmThreads, NoIncrementIsLost) {
    constexpr unsigned threads = 4;
    const int rounds = at_full_length() ? 400'000 : 10'000;
    std::vector<line> counters(3);
    std::atomic<unsigned> missing = threads;
    std::vector<std::thread> all;
    for (unsigned i = 0; i < threads; ++i)
        all.emplace_back([&] {
            --missing;
            while (missing > 0) std::this_thread::yield();
            for (int k = 0; k < rounds; ++k)
                atomically<TypeParam>([&] {
                    for (line& each : counters) add_one<TypeParam>(&each.words[0]);
                });
        });
    for (std::thread& each : all) each.join();
    for (const line& each : counters) EXPECT_EQ(each.words[0], threads * static_cast<word>(rounds));
}

TYPED_TEST(StmThreads, ALongTransactionComesThroughAgainstOthersThatAlwaysConflict) {
    std::vector<line> data(200);
    std::atomic<bool> stop = false;
    std::thread disturbing([&] {
        while (!stop)
            for (line& each : data)
                atomically<TypeParam>([&] { add_one<TypeParam>(&each.words[0]); });
    });
    for (int round = 0; round < 5; ++round)
        atomically<TypeParam>([&] {
            TypeParam& open = TypeParam::of_this_thread();
            word sum = 0;
            for (line& each : data) sum += open.load(&each.words[0]);
            // Gives the other time to spoil what was read.
            std::this_thread::yield();
            for (line& each : data) open.store(&each.words[1], sum, 0xFF);
        });
    stop = true;
    disturbing.join();
    for (const line& each : data) EXPECT_EQ(each.words[1], data[0].words[1]);
}

TYPED_TEST(StmThreads, AForkedChildGoesOnWhateverTheOtherThreadsWereDoing) {
    std::vector<line> data(4);
    std::atomic<bool> stop = false;
    std::vector<std::thread> others;
    for (int i = 0; i < 2; ++i)
        others.emplace_back([&] {
            while (!stop)
                atomically<TypeParam>([&] {
                    for (line& each : data) add_one<TypeParam>(&each.words[0]);
                });
        });
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            alarm(20);
            word found[4] = {};
            atomically<TypeParam>([&] {
                for (std::size_t k = 0; k < 4; ++k) {
                    found[k] = TypeParam::of_this_thread().load(&data[k].words[0]);
                    add_one<TypeParam>(&data[k].words[0]);
                }
            });
            // Nothing was half done, and nobody of before is waited for.
            const bool whole = found[0] == found[1] && found[1] == found[2] && found[2] == found[3];
            const bool stored = data[3].words[0] == found[3] + 1;
            _exit(whole && stored ? 0 : 1);
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    stop = true;
    for (std::thread& each : others) each.join();
}

TYPED_TEST(StmThreads, AForkOutOfAnIrrevocableTransactionLeavesItOpenOnBothSides) {
    line data;
    TypeParam& open = TypeParam::of_this_thread();
    open.begin({.serial = true, .restart = unexpected_restart});
    ASSERT_TRUE(open.become_irrevocable());
    open.store(&data.words[0], 1, 0xFF);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    EXPECT_TRUE(open.irrevocable());
    open.store(&data.words[1], 2, 0xFF);
    const bool right = open.commit() && data.words[0] == 1 && data.words[1] == 2;
    if (child == 0) _exit(right ? 0 : 1);
    EXPECT_TRUE(right);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TYPED_TEST(StmThreads, TheAccessOfWorkloadsAllocatesLoadsStoresAndFrees) {
    const stm_access<TypeParam> memory;
    struct node {
        node* next;
        std::uint32_t value;
    };
    node* first = nullptr;
    for (std::uint32_t i = 0; i < 10; ++i)
        EXPECT_TRUE(memory.atomically([&] {
            auto* made = static_cast<node*>(memory.allocate(sizeof(node)));
            memory.store(&made->value, i);
            memory.store(&made->next, memory.load(&first));
            memory.will_write(&first);
            memory.store(&first, made);
        }));
    std::uint32_t expected = 10;
    while (first != nullptr)
        EXPECT_TRUE(memory.atomically([&] {
            node* const gone = memory.load(&first);
            EXPECT_EQ(memory.load(&gone->value), --expected);
            memory.store(&first, memory.load(&gone->next));
            memory.free(gone);
        }));
    EXPECT_EQ(expected, 0u);
}

}  // namespace
}  // namespace holdfast::stm
