// Threads that really run at once, and data that goes from transactions to uninstrumented code and back: privatisation,
// publication, and readers that are doomed. What uninstrumented code does is atomic by itself, so that ThreadSanitizer
// looks at the algorithms' order and not at the races with doomed readers, which are theirs to survive.
#include <holdfast/stm/stm_test_support.hpp>

#include <sys/mman.h>

#include <cstdlib>
#include <vector>

namespace holdfast::stm {
namespace {

using namespace holdfast::stm::test;

template <class A>
class StmLitmus : public ::testing::Test {};
TYPED_TEST_SUITE(StmLitmus, algorithms, algorithm_names);

#if defined(HOLDFAST_FEW_PLACES)
constexpr int usual_rounds = 3'000;
#else
constexpr int usual_rounds = 100'000;
#endif
int rounds() { return at_full_length() ? 30 * usual_rounds : usual_rounds; }

/// Threads that begin together, so that what is short is concurrent, too.
class meeting {
public:
    explicit meeting(int threads) : missing_(threads) {}
    void arrive() {
        --missing_;
        while (missing_ > 0) std::this_thread::yield();
    }

private:
    std::atomic<int> missing_;
};

word plain_load(const word& home) { return __atomic_load_n(&home, __ATOMIC_RELAXED); }
void plain_store(word& home, word what) { __atomic_store_n(&home, what, __ATOMIC_RELAXED); }

template <class A>
word load(const word& home) {
    return A::of_this_thread().load(&home);
}
template <class A>
void store(word& home, word what) {
    A::of_this_thread().store(&home, what, 0xFF);
}

/// While `shared` says so, both lines belong to transactions, which keep them equal. One thread takes them out of
/// reach by a transaction and changes them directly, one after the other.
TYPED_TEST(StmLitmus, WhatATransactionTookOutOfReachIsUsedDirectly) {
    line shared, first, second;
    shared.words[0] = 1;
    std::atomic<bool> stop = false;
    std::atomic<int> torn = 0;
    meeting all_here(3);
    std::thread user([&] {
        all_here.arrive();
        while (!stop)
            atomically<TypeParam>([&] {
                if (load<TypeParam>(shared.words[0]) == 0) return;
                const word one = load<TypeParam>(first.words[0]);
                const word other = load<TypeParam>(second.words[0]);
                if (one != other) ++torn;
                store<TypeParam>(first.words[0], one + 1);
                store<TypeParam>(second.words[0], other + 1);
            });
    });
    std::thread reader([&] {
        all_here.arrive();
        while (!stop)
            atomically<TypeParam>([&] {
                if (load<TypeParam>(shared.words[0]) == 0) return;
                if (load<TypeParam>(first.words[0]) != load<TypeParam>(second.words[0])) ++torn;
            });
    });
    all_here.arrive();
    for (int i = 0; i < rounds(); ++i) {
        atomically<TypeParam>([&] { store<TypeParam>(shared.words[0], 0); });
        // Neither a late write-back nor a reader that has not noticed.
        const word mine = plain_load(first.words[0]);
        ASSERT_EQ(plain_load(second.words[0]), mine);
        plain_store(first.words[0], mine + 1000);
        ASSERT_EQ(plain_load(second.words[0]), mine);
        plain_store(second.words[0], mine + 1000);
        ASSERT_EQ(plain_load(first.words[0]), mine + 1000);
        atomically<TypeParam>([&] { store<TypeParam>(shared.words[0], 1); });
    }
    stop = true;
    user.join();
    reader.join();
    EXPECT_EQ(torn, 0);
}

/// What is stored directly before a transaction that shows it is seen by every transaction that finds it.
TYPED_TEST(StmLitmus, WhatWasStoredBeforePublicationIsSeen) {
    const int count = rounds();
    std::vector<line> items(static_cast<std::size_t>(count));
    line published;
    std::atomic<int> unseen = 0;
    meeting all_here(2);
    std::thread reader([&] {
        all_here.arrive();
        word last = 0;
        while (last < static_cast<word>(count))
            atomically<TypeParam>([&] {
                last = load<TypeParam>(published.words[0]);
                if (last == 0) return;
                const line& item = items[last - 1];
                if (load<TypeParam>(item.words[0]) != last || load<TypeParam>(item.words[7]) != last) ++unseen;
            });
    });
    all_here.arrive();
    for (word i = 1; i <= static_cast<word>(count); ++i) {
        plain_store(items[i - 1].words[0], i);
        plain_store(items[i - 1].words[7], i);
        atomically<TypeParam>([&] { store<TypeParam>(published.words[0], i); });
    }
    reader.join();
    EXPECT_EQ(unseen, 0);
}

/// Beside software, who frees does not wait for transactions of the hardware: the processor aborts those that fault.
/// What stands in for it would die of that.
template <class A>
constexpr bool faults_where_hardware_aborts = false;
template <class A>
    requires requires { requires !A::hardware_policy::stores_directly; }
constexpr bool faults_where_hardware_aborts<A> = A::name == "hybrid";

/// Blocks are pages of their own, and freeing unmaps them: whoever reads one too late faults.
constexpr std::size_t page_bytes = 64 << 10;
template <class A>
void unmap(void* block, std::size_t bytes, std::size_t) {
    if constexpr (faults_where_hardware_aborts<A>) {
        madvise(block, bytes, MADV_DONTNEED);
    } else {
        munmap(block, bytes);
    }
}

template <class A>
word* map_block() {
    void* const made = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) abandon<A>();
    A::of_this_thread().note_allocated(made, page_bytes, 4096, unmap<A>);
    return static_cast<word*>(made);
}

TYPED_TEST(StmLitmus, ReadersOfBlocksThatAreFreedMeanwhileNeverFault) {
    constexpr std::size_t words = page_bytes / sizeof(word);
    line root;  // the address of a block all of whose words are equal
    std::atomic<bool> stop = false;
    std::atomic<int> torn = 0;
    const auto fill = [&](word what) {
        word* const made = map_block<TypeParam>();
        for (std::size_t i = 0; i < words; i += 512) store<TypeParam>(made[i], what);
        store<TypeParam>(root.words[0], reinterpret_cast<word>(made));
    };
    atomically<TypeParam>([&] { fill(1); });
    std::vector<std::thread> readers;
    meeting all_here(3);
    for (int k = 0; k < 2; ++k)
        readers.emplace_back([&, k] {
            all_here.arrive();
            while (!stop)
                atomically<TypeParam>(
                    [&] {
                        const auto* block = reinterpret_cast<const word*>(load<TypeParam>(root.words[0]));
                        const word expected = load<TypeParam>(block[0]);
                        for (std::size_t i = 512; i < words; i += 512)
                            if (load<TypeParam>(block[i]) != expected) ++torn;
                    },
                    k == 0);
        });
    all_here.arrive();
    for (int i = 0; i < rounds() / 400; ++i)
        atomically<TypeParam>([&] {
            auto* old = reinterpret_cast<word*>(load<TypeParam>(root.words[0]));
            const word was = load<TypeParam>(old[0]);
            fill(was + 1);
            TypeParam::of_this_thread().free_at_commit(old, page_bytes, 4096, unmap<TypeParam>);
        });
    stop = true;
    for (std::thread& each : readers) each.join();
    EXPECT_EQ(torn, 0);
    munmap(reinterpret_cast<void*>(root.words[0]), page_bytes);
}

/// Serial, irrevocable and ordinary transactions side by side on two words that are equal.
TYPED_TEST(StmLitmus, SerialAndIrrevocableTransactionsAreAtomicToo) {
    line first, second;
    std::atomic<int> torn = 0;
    constexpr int threads = 3;
    const int count = rounds() / 5;
    meeting all_here(threads);
    std::vector<std::thread> all;
    for (int k = 0; k < threads; ++k)
        all.emplace_back([&, k] {
            TypeParam& open = TypeParam::of_this_thread();
            all_here.arrive();
            for (int i = 0; i < count; ++i) {
                const auto body = [&] {
                    const word one = open.load(&first.words[0]);
                    if (open.load(&second.words[0]) != one) ++torn;
                    open.store(&first.words[0], one + 1, 0xFF);
                    open.store(&second.words[0], one + 1, 0xFF);
                };
                if ((i + k) % 8 == 0) {
                    open.begin({.serial = true, .restart = unexpected_restart});
                    body();
                    if (i % 16 == 0) {
                        EXPECT_TRUE(open.become_irrevocable());
                    }
                    body();
                    EXPECT_TRUE(open.commit());
                } else {
                    atomically<TypeParam>([&] {
                        body();
                        body();
                    });
                }
            }
        });
    for (std::thread& each : all) each.join();
    EXPECT_EQ(torn, 0);
    EXPECT_EQ(first.words[0], static_cast<word>(2 * threads * count));
    EXPECT_EQ(second.words[0], first.words[0]);
}

/// Bytes of one word: the transactions' by masked stores, their neighbours directly.
TYPED_TEST(StmLitmus, MaskedStoresDoNotDisturbNeighbouringBytesOfOtherThreads) {
    line data;
    auto* bytes = reinterpret_cast<unsigned char*>(&data.words[0]);
    const int count = rounds();
    meeting all_here(2);
    std::thread direct([&] {
        all_here.arrive();
        for (int i = 0; i < count; ++i) {
            const auto what = static_cast<unsigned char>(i);
            __atomic_store_n(bytes + 3, what, __ATOMIC_RELAXED);
            ASSERT_EQ(__atomic_load_n(bytes + 3, __ATOMIC_RELAXED), what);
        }
    });
    all_here.arrive();
    for (int i = 0; i < count; ++i)
        atomically<TypeParam>([&] {
            const auto what = static_cast<word>(i & 0xFF);
            TypeParam::of_this_thread().store(&data.words[0], what << 16 | what << 32, 0x14);
        });
    direct.join();
    EXPECT_EQ(bytes[2], static_cast<unsigned char>(count - 1));
    EXPECT_EQ(bytes[4], static_cast<unsigned char>(count - 1));
    EXPECT_EQ(bytes[3], static_cast<unsigned char>(count - 1));
}

}  // namespace
}  // namespace holdfast::stm
